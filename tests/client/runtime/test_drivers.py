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
    assert runtime.conversation.l1_due is False
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
