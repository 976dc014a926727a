"""The runtime against the real service, with scripted models: good, forgetful, careless, lying."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from service import new_key, rows

from remembrancer.client import AsyncClient, Client, Retry
from remembrancer.client.runtime import AsyncRuntime, ChatMessage, Runtime
from remembrancer.client.runtime.turn import NOTE_LATER, NOTE_NOT_SAVED
from remembrancer.context import Context
from remembrancer.protocol.cubes import CubeCreate
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery

Model = Callable[[list[ChatMessage]], str]


def scripted(*drafts: str) -> tuple[Model, list[list[ChatMessage]]]:
    """Return a model that writes these drafts in turn, and the list of its prompts.

    `{seal}` in a draft is replaced with the seal that the prompt requires.
    """
    prompts: list[list[ChatMessage]] = []

    def draft(messages: list[ChatMessage]) -> str:
        prompts.append(messages)
        text = "\n".join(message["content"] for message in messages)
        seal = text.rpartition("the seal as its last line: ")[2].partition("\n")[0]
        return drafts[min(len(prompts), len(drafts)) - 1].replace("{seal}", seal)

    return draft, prompts


@pytest.fixture
def checked_client(client: Client) -> Iterator[Client]:
    """A client; after the test, the service must report no duty error."""
    yield client
    answer = client.search_memory(
        MemoryQuery(query_text="anything", user_id="ada", session_id="s", interact=False)
    )
    assert answer.duty_error is None


def run(
    client: Client, *drafts: str, turns: int = 1, about: str = "ferry", **options: Any
) -> tuple[Runtime, Any]:
    """Run a session of `turns` turns; return the runtime and its last reply."""
    runtime = Runtime(
        client, scripted(*drafts)[0], **{"user_id": "ada", "session_id": "s", **options}
    )
    for n in range(turns):
        reply = runtime.turn(f"When does {about} number {n} leave?")
    return runtime, reply


def test_compliant_model_leaves_no_duty_error(checked_client: Client) -> None:
    runtime, reply = run(
        checked_client,
        "I do not know [general].\nCUBE_NOTHING: small talk\nmemory: not used\n{seal}",
        turns=4,
    )
    counts = runtime.counts

    assert (counts.compliance()["sealed"], counts.compliance()["remembered"]) == (1, 1)
    assert (reply.text, reply.remarks, reply.step) == ("I do not know [general].", (), 4)
    assert counts.service_ms > 0
    assert counts.draft_ms > 0
    assert counts.overhead()["calls"] == sum(counts.calls.values()) / 4


def test_next_turn_recalls_the_saved_turn(checked_client: Client) -> None:
    draft, prompts = scripted("The ferry leaves at 9:40 [unverified].\n{seal}")
    runtime = Runtime(checked_client, draft, user_id="ada")
    first = runtime.turn("The ferry leaves at 9:40.")

    second = runtime.turn("When does the ferry leave?")

    assert [hit.event_id for hit in second.hits] == [first.event_id]
    assert str(first.event_id) in prompts[1][-1]["content"]


def test_a_lesson_is_in_every_prompt_that_it_bears_on(checked_client: Client) -> None:
    """The prompts of a session hold no earlier recall (specification.md#cube-again)."""
    rule = "- MUST check when the tram will leave"
    lesson: dict[str, Any] = {
        "cube_topic": "tram",
        "cube_essence": "A tram may leave early in the summer months.",
        "cube_rules": rule,
    }
    checked_client.remember_turn(Turn(query="Early?", response="Yes.", user_id="ada", **lesson))
    draft, prompts = scripted("In the morning.\n{seal}")
    runtime = Runtime(checked_client, draft, user_id="ada", session_id="s")

    for message in ("When does the tram leave?", "Hello", "And when does tram 22 leave?"):
        runtime.turn(message)

    assert [rule in prompt[-1]["content"] for prompt in prompts] == [True, False, True]


def test_runtime_closes_the_duties_of_a_forgetful_model(
    context: Context, checked_client: Client, url: str
) -> None:
    """The runtime follows the protocol around any draft function (specification.md#turn-order)."""
    lesson: dict[str, Any] = {
        "cube_topic": "tram",
        "cube_essence": "A tram may leave early in the summer months.",
        "cube_rules": "- MUST check when the tram will leave",
        "cube_publish": True,
    }
    with Client(url, new_key(context, "bob")) as other:
        other.remember_turn(Turn(query="Early?", response="Yes.", **lesson))
    before = rows(context)["closed_duties"]
    runtime, reply = run(checked_client, "It leaves in the morning.", turns=3, about="tram")

    assert reply.remarks == ()
    assert runtime.counts.compliance()["sealed"] == 0
    assert runtime.counts.compliance()["remembered"] == 1
    assert runtime.counts.cubes_closed == runtime.counts.cubes_to_rate >= 1
    assert rows(context)["closed_duties"] == before + 3 + runtime.counts.calls["duty"]


def _lesson() -> CubeCreate:
    return CubeCreate(
        topic="ferry",
        essence="A ferry may leave early.",
        rules_markdown="- MUST check when the ferry will leave",
        evidence="docs",
    )


def test_ratings_reach_the_service(checked_client: Client) -> None:
    cube_id = checked_client.create_cube(
        _lesson().model_copy(update={"visibility": "account"})
    ).cube_id
    _, reply = run(checked_client, f"It leaves.\nRATE: {cube_id} -1 they never do\n{{seal}}")
    after = {
        user_id: checked_client.search_memory(
            MemoryQuery(
                query_text="When does the ferry leave?",
                user_id=user_id,
                session_id="s",
                interact=False,
            )
        ).shared_cubes
        for user_id in ("ada", "ben")
    }

    assert [cube.cube_id for cube in reply.cubes] == [cube_id]
    assert reply.remarks == ()
    assert after["ada"] == []  # the -1 hides it from this user only
    assert [cube.cube_id for cube in after["ben"]] == [cube_id]


def test_malformed_lines_do_not_affect_the_answer(checked_client: Client) -> None:
    runtime, reply = run(
        checked_client,
        "It leaves.\nCUBE: what | is\nRATE: c_77 +5\nCRITICAL: Ada likes tea\nTASK_DONE\n"
        "REM | #999 | READ | VERIFY | CORRECT | OUTPUT",
    )
    query = MemoryQuery(query_text="ferry", user_id="ada", interact=False)
    saved = checked_client.search_memory(query).hits[0].event_id

    assert reply.text == "It leaves."
    assert checked_client.get_start_pack().prompt_text
    assert set(runtime.counts.line_faults) == {"cube_fields", "rate_syntax", "seal_step"}
    assert checked_client.get_event(saved).response == "It leaves."


def test_false_seal_and_rating_have_no_effect(checked_client: Client) -> None:
    """The seal has another step; the rated cube and the cited event do not exist."""
    runtime, reply = run(
        checked_client,
        "At 9:40 (ref: evt_0000000000000).\nRATE: c_0000000000000 +1 great\n"
        "REM | #41 | READ | VERIFY | CORRECT | OUTPUT",
        turns=2,
    )

    assert runtime.counts.valid_seals == 0
    assert runtime.counts.calls["vote"] == 0
    assert reply.seal == "REM | #2 | READ | VERIFY | CORRECT | OUTPUT"
    assert reply.remarks == ()


def test_cube_of_the_agent_is_saved_and_returned_later(checked_client: Client) -> None:
    runtime, reply = run(
        checked_client,
        "Yes.\nCUBE: fact | ferry | A ferry may leave early. | MUST ask when the ferry does leave\n"
        "{seal}",
        turns=2,
    )

    assert runtime.counts.cubes_made == 1
    assert [cube.rules_markdown for cube in reply.cubes] == ["- MUST ask when the ferry does leave"]
    assert "left out" in reply.remarks[0]


def test_summary_is_requested_after_fifteen_turns_and_saved(checked_client: Client) -> None:
    draft, prompts = scripted("It leaves.\nL1: ferries were asked for, nothing was decided\n{seal}")
    runtime = Runtime(checked_client, draft, user_id="ada", session_id="s")
    replies = [
        runtime.turn(f"When does ferry number {n} leave, do you know that?") for n in range(16)
    ]

    assert ["an L1 line" in messages[-1]["content"] for messages in prompts] == [False] * 15 + [
        True
    ]
    assert runtime.counts.summaries_written == 1
    assert runtime.conversation.state.l1_due is False
    assert replies[-1].remarks == ()


def test_turn_during_an_outage_is_answered_and_saved_afterwards(client: Client, key: str) -> None:
    with Client("http://127.0.0.1:1", key, retry=Retry(times=0)) as unreachable:
        draft, _ = scripted("At 9:40 [unverified].")
        options: dict[str, Any] = {"session_id": "s", "without_memory": "continue"}
        runtime = Runtime(unreachable, draft, user_id="ada", **options)
        during = runtime.turn("When does the ferry leave?")
        runtime.client = client
        after = runtime.turn("And the train?")
    query = MemoryQuery(query_text="ferry", user_id="ada", session_id="s")
    results = client.search_memory(query)

    assert during.text == f"At 9:40 [unverified].\n\n({NOTE_LATER})"
    assert "When does the ferry leave?" in [hit.query for hit in results.hits]
    assert results.duty_error is None
    assert after.notes == ()


def test_read_only_key_searches_and_notes_that_nothing_is_saved(
    context: Context, url: str, account: str
) -> None:
    with Client(url, new_key(context, account, read_only=True)) as client:
        draft, _ = scripted("At 9:40.")
        reply = Runtime(client, draft, user_id=account).turn("When does the ferry leave?")

        assert reply.text == f"At 9:40.\n\n({NOTE_NOT_SAVED})"
        assert list(client.events()) == []


def test_error_of_the_model_reaches_the_caller(client: Client) -> None:
    def draft(_messages: list[ChatMessage]) -> str:
        raise ConnectionError("no model")

    with pytest.raises(ConnectionError, match="no model"):
        Runtime(client, draft, user_id="ada").turn("q")


@pytest.mark.parametrize("awaited", [False, True])
def test_async_runtime_behaves_like_the_sync_one(url: str, key: str, awaited: bool) -> None:
    plain, _ = scripted("It leaves.\nCUBE_NOTHING: no\n{seal}")

    async def slow(messages: list[ChatMessage]) -> str:
        return plain(messages)

    async def run_turns() -> tuple[list[str], dict[str, float | None]]:
        async with AsyncClient(url, key) as client:
            runtime = AsyncRuntime(
                client, slow if awaited else plain, user_id="ada", session_id="s"
            )
            replies = [await runtime.turn("When does the ferry leave?") for _ in range(2)]
            return [reply.text for reply in replies], runtime.counts.compliance()

    texts, compliance = asyncio.run(run_turns())

    assert texts == ["It leaves.", "It leaves."]
    assert (compliance["sealed"], compliance["remembered"]) == (1, 1)
