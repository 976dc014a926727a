"""The runtime and the real second look: what a model makes up is found, and mended where the model can."""

from __future__ import annotations

from client.test_runtime import scripted

from remembrancer.client import Client
from remembrancer.client.runtime import Message, Runtime
from remembrancer.client.runtime_core import NOTE_UNSURE
from remembrancer.protocol.memory import MemoryQuery, Turn
from remembrancer.protocol.summaries import StartQuery


def test_an_unmarked_claim_is_mended(client: Client) -> None:
    draft, asked = scripted("It leaves at 9:40.\n{seal}", "It leaves at 9:40 [unverified].\n{seal}")

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    assert reply.text == "It leaves at 9:40 [unverified]."
    assert (reply.passed, reply.drafts) == (True, 2)
    assert "claim_marked" in asked[1][-1]["content"]


def test_a_draft_that_the_user_never_saw_is_not_remembered(client: Client) -> None:
    """Memory keeps what was really said: the mended draft takes the place of the first."""
    draft, _ = scripted("It leaves at 9:40.\nCRITICAL: ada takes the ferry.\n{seal}", "I do not know.\n{seal}")

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    hits = client.search_memory(MemoryQuery(query_text="ferry", user_id="ada", interact=False)).hits
    assert [(hit.event_id, hit.response) for hit in hits] == [(reply.event_id, "I do not know.")]
    assert "ada takes the ferry." in client.get_start_pack(StartQuery(user_id="ada")).prompt_text


def test_the_best_draft_is_what_is_remembered_though_a_worse_one_came_later(client: Client) -> None:
    worse = "It leaves at 9:40, from pier 3, on 4 May.\n{seal}"
    draft, _ = scripted("It leaves at 9:40.\n{seal}", worse, worse)

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    hits = client.search_memory(MemoryQuery(query_text="ferry", user_id="ada", interact=False)).hits
    assert reply.answer == "It leaves at 9:40."
    assert [(hit.event_id, hit.response) for hit in hits] == [(reply.event_id, "It leaves at 9:40.")]


def test_a_model_that_cites_what_memory_does_not_say_is_shown_with_a_note(client: Client) -> None:
    """The event exists but says another time (specification.md#turn-recheck)."""
    told = client.remember_turn(Turn(query="When does the ferry leave?", response="It leaves at 9:40.", user_id="ada"))
    runtime = Runtime(client, scripted(f"It leaves at 8:15 (ref: {told.event_id}).\n{{seal}}")[0], user_id="ada")

    reply = runtime.turn("When does the ferry leave?")

    assert reply.notes == (NOTE_UNSURE,)
    assert reply.passed is False
    assert (reply.drafts, runtime.counts.looks_failed) == (3, 3)
    assert any("8:15" in check for check in reply.failed_checks)


def test_a_model_that_cites_what_memory_says_passes(client: Client) -> None:
    told = client.remember_turn(Turn(query="When does the ferry leave?", response="It leaves at 9:40.", user_id="ada"))

    def draft(messages: list[Message]) -> str:
        assert str(told.event_id) in messages[-1]["content"]
        return f"It leaves at 9:40 (ref: {told.event_id})."

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    assert (reply.passed, reply.drafts) == (True, 1)
