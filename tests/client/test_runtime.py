"""The runtime against the real service on a real port, around models that are scripted: good, forgetful, careless and lying ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from service import new_key, rows

from remembrancer.client import AsyncClient, Client, Retry
from remembrancer.client.runtime import AsyncRuntime, Message, Runtime
from remembrancer.client.runtime_core import NOTE_LATER, NOTE_NOT_KEPT
from remembrancer.context import Context
from remembrancer.protocol.cubes import CubeCreate
from remembrancer.protocol.memory import MemoryQuery
from remembrancer.protocol.prompts import PromptQuery

Model = Callable[[list[Message]], str]


def scripted(*drafts: str) -> tuple[Model, list[list[Message]]]:
    """A model that says these drafts one after another, and what it was asked. `{seal}` in them is the seal it was told to write."""
    asked: list[list[Message]] = []

    def draft(messages: list[Message]) -> str:
        asked.append(messages)
        said = "\n".join(message["content"] for message in messages)
        seal = said.rpartition("the seal as its last line: ")[2].partition("\n")[0]
        return drafts[min(len(asked), len(drafts)) - 1].replace("{seal}", seal)

    return draft, asked


@pytest.fixture
def served(client: Client) -> Iterator[Client]:
    """A client, and at its end the proof that the service has nothing to complain of."""
    yield client
    answer = client.search_memory(MemoryQuery(query_text="anything", user_id="ada", session_id="s", interact=False))
    assert answer.duty_error is None


def run(client: Client, *drafts: str, turns: int = 1, **habits: Any) -> tuple[Runtime, Any]:
    """A session of so many turns; the runtime and its last reply."""
    runtime = Runtime(client, scripted(*drafts)[0], **{"user_id": "ada", "session_id": "s", **habits})
    for n in range(turns):
        reply = runtime.turn(f"When does ferry number {n} leave?")
    return runtime, reply


def test_a_good_model_is_in_good_standing(served: Client) -> None:
    runtime, reply = run(served, "I do not know [general].\nCUBE_NOTHING: small talk\nmemory: not used\n{seal}", turns=4)

    assert runtime.counts.compliance()["sealed"] == 1
    assert runtime.counts.compliance()["remembered"] == 1
    assert reply.text == "I do not know [general]."
    assert reply.remarks == ()
    assert reply.step == 4


def test_what_one_turn_said_the_next_one_recalls(served: Client) -> None:
    draft, asked = scripted("The ferry leaves at 9:40 [unverified].\n{seal}")
    runtime = Runtime(served, draft, user_id="ada")
    first = runtime.turn("The ferry leaves at 9:40.")

    second = runtime.turn("When does the ferry leave?")

    assert [hit.event_id for hit in second.hits] == [first.event_id]
    assert str(first.event_id) in asked[1][-1]["content"]


def test_a_forgetful_model_is_in_good_standing_too(context: Context, served: Client, url: str) -> None:
    """The runtime follows the protocol around any draft function (specification.md#turn-order)."""
    served.create_cube(_lesson())
    runtime, reply = run(served, "It leaves in the morning.", turns=3)

    assert reply.remarks == ()
    assert runtime.counts.compliance()["sealed"] == 0
    assert runtime.counts.compliance()["remembered"] == 1
    assert runtime.counts.cubes_closed == runtime.counts.cubes_to_rate >= 1
    assert rows(context)["closed_duties"] == 3 + runtime.counts.calls["duty"]


def _lesson() -> CubeCreate:
    return CubeCreate(
        topic="ferry", essence="A ferry may leave early.", rules_markdown="- MUST check when the ferry will leave", evidence="docs"
    )


def test_ratings_reach_the_service(served: Client) -> None:
    cube_id = served.create_cube(_lesson()).cube_id
    _, reply = run(served, f"It leaves.\nRATE: {cube_id} -1 they never do\n{{seal}}")
    after = served.search_memory(MemoryQuery(query_text="When does the ferry leave?", user_id="ada", session_id="s", interact=False))

    assert [cube.cube_id for cube in reply.cubes] == [cube_id]
    assert reply.remarks == ()
    assert [cube.note.startswith("new") for cube in after.shared_cubes] == [False]


def test_malformed_lines_lose_nothing_but_themselves(served: Client) -> None:
    runtime, reply = run(
        served,
        "It leaves.\nCUBE: what | is\nRATE: c_77 +5\nCRITICAL: Ada likes tea\nTASK_DONE\nREM | #999 | READ | VERIFY | CORRECT | OUTPUT",
    )

    assert reply.text == "It leaves."
    assert served.get_start_pack().prompt_text
    assert set(runtime.counts.line_faults) == {"cube_fields", "rate_syntax", "seal_step"}
    assert rows_of(served) == "It leaves."


def rows_of(client: Client) -> str:
    """The answer as the service has it."""
    found = client.search_memory(MemoryQuery(query_text="ferry", user_id="ada", interact=False))
    return client.get_event(found.hits[0].event_id).response


def test_a_lying_model_gains_nothing_by_its_seal(served: Client) -> None:
    """A seal of another step, a cube that was never shown, an event that does not exist."""
    runtime, reply = run(
        served, "At 9:40 (ref: evt_0000000000000).\nRATE: c_0000000000000 +1 great\nREM | #41 | READ | VERIFY | CORRECT | OUTPUT", turns=2
    )

    assert runtime.counts.sealed == 0
    assert runtime.counts.calls["vote"] == 0
    assert reply.seal == "REM | #2 | READ | VERIFY | CORRECT | OUTPUT"
    assert reply.remarks == ()


def test_a_lesson_of_the_agent_is_kept_and_then_shown(served: Client) -> None:
    runtime, reply = run(
        served, "Yes.\nCUBE: fact | ferry | A ferry may leave early. | MUST ask when the ferry does leave\n{seal}", turns=2
    )

    assert runtime.counts.cubes_made == 1
    assert [cube.rules_markdown for cube in reply.cubes] == ["- MUST ask when the ferry does leave"]
    assert "left out" in reply.remarks[0]


def test_a_summary_is_asked_for_after_fifteen_turns_and_then_kept(served: Client) -> None:
    draft, asked = scripted("It leaves.\nL1: ferries were asked for, nothing was decided\n{seal}")
    runtime = Runtime(served, draft, user_id="ada", session_id="s")
    replies = [runtime.turn(f"When does ferry number {n} leave, do you know that?") for n in range(16)]

    assert ["an L1 line" in messages[-1]["content"] for messages in asked] == [False] * 15 + [True]
    assert runtime.counts.summaries_given == 1
    assert runtime.conversation.l1_due is False
    assert replies[-1].remarks == ()


def test_a_pasted_key_reaches_neither_model_nor_service(context: Context, client: Client, key: str) -> None:
    draft, asked = scripted("I read it.")
    before = rows(context)

    reply = Runtime(client, draft, user_id="ada").turn(f"here: {key}")

    assert "revoke" in reply.text
    assert asked == []
    assert rows(context) == before


def test_with_nobody_there_the_user_gets_an_answer(key: str) -> None:
    with Client("http://127.0.0.1:1", key, retry=Retry(times=0)) as nobody:
        reply = Runtime(nobody, scripted("At 9:40 [unverified].")[0], user_id="ada").turn("When does the ferry leave?")

    assert reply.text == f"At 9:40 [unverified].\n\n({NOTE_LATER})"


def test_what_was_said_while_nobody_was_there_is_kept_afterwards(url: str, key: str) -> None:
    with Client("http://127.0.0.1:1", key, retry=Retry(times=0)) as nobody, Client(url, key) as client:
        runtime = Runtime(nobody, scripted("At 9:40 [unverified].\n{seal}")[0], user_id="ada", session_id="s")
        runtime.turn("When does the ferry leave?")
        runtime.client = client
        reply = runtime.turn("And the train?")
        found = client.search_memory(MemoryQuery(query_text="ferry", user_id="ada", session_id="s"))

    assert "When does the ferry leave?" in [hit.query for hit in found.hits]
    assert found.duty_error is None
    assert reply.notes == ()


def test_a_read_only_key_reads_and_says_that_nothing_is_kept(context: Context, url: str) -> None:
    with Client(url, new_key(context, read_only=True)) as client:
        reply = Runtime(client, scripted("At 9:40.")[0], user_id="owner").turn("When does the ferry leave?")

    assert reply.text == f"At 9:40.\n\n({NOTE_NOT_KEPT})"
    assert rows(context)["events"] == 0


def test_the_models_own_error_is_the_callers(client: Client) -> None:
    def draft(_messages: list[Message]) -> str:
        raise ConnectionError("no model")

    with pytest.raises(ConnectionError, match="no model"):
        Runtime(client, draft, user_id="ada").turn("q")


def test_the_prompt_of_the_service_can_be_the_instructions(client: Client) -> None:
    draft, asked = scripted("A.")
    Runtime(client, draft, user_id="ada", instructions=client.get_prompt(PromptQuery(user_id="ada")).user_part or "Be brief.").turn("q")

    assert asked[0][0]["content"].startswith("Be brief.")


@pytest.mark.parametrize("awaited", [False, True])
def test_the_async_runtime_does_the_same(url: str, key: str, awaited: bool) -> None:
    plain, _ = scripted("It leaves.\nCUBE_NOTHING: no\n{seal}")

    async def slow(messages: list[Message]) -> str:
        return plain(messages)

    async def talk() -> tuple[list[str], dict[str, float | None]]:
        async with AsyncClient(url, key) as client:
            runtime = AsyncRuntime(client, slow if awaited else plain, user_id="ada", session_id="s")
            replies = [await runtime.turn("When does the ferry leave?") for _ in range(2)]
            return [reply.text for reply in replies], runtime.counts.compliance()

    texts, compliance = asyncio.run(talk())

    assert texts == ["It leaves.", "It leaves."]
    assert (compliance["sealed"], compliance["remembered"]) == (1, 1)


def test_time_in_the_service_and_in_the_model_are_counted_apart(served: Client) -> None:
    runtime, _ = run(served, "A.")

    assert runtime.counts.service_ms > 0
    assert runtime.counts.draft_ms > 0
    assert runtime.counts.overhead()["calls"] == sum(runtime.counts.calls.values())
