"""The runtime with the real second look: invented claims are found and revised."""

from __future__ import annotations

from client.runtime.test_drivers import scripted

from remembrancer.client import Client
from remembrancer.client.runtime import ChatMessage, Runtime
from remembrancer.client.runtime.turn import NOTE_UNSURE
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.protocol.summaries import StartQuery


def test_unmarked_claim_is_fixed_in_second_draft(client: Client) -> None:
    draft, prompts = scripted(
        "It leaves at 9:40.\n{seal}", "It leaves at 9:40 [unverified].\n{seal}"
    )

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    assert reply.text == "It leaves at 9:40 [unverified]."
    assert (reply.passed, reply.drafts) == (True, 2)
    assert "claim_marked" in prompts[1][-1]["content"]


def test_second_draft_replaces_first_in_memory(client: Client) -> None:
    """Memory holds what the user saw: the second draft replaces the first."""
    draft, _ = scripted(
        "It leaves at 9:40.\nCRITICAL: ada takes the ferry.\n{seal}", "I do not know.\n{seal}"
    )

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    hits = client.search_memory(MemoryQuery(query_text="ferry", user_id="ada", interact=False)).hits
    assert [(hit.event_id, hit.response) for hit in hits] == [(reply.event_id, "I do not know.")]
    assert "ada takes the ferry." in client.get_start_pack(StartQuery(user_id="ada")).prompt_text


def test_best_draft_is_saved_even_if_a_later_one_is_worse(client: Client) -> None:
    worse = "It leaves at 9:40, from pier 3, on 4 May.\n{seal}"
    draft, _ = scripted("It leaves at 9:40.\n{seal}", worse, worse)

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    hits = client.search_memory(MemoryQuery(query_text="ferry", user_id="ada", interact=False)).hits
    assert reply.answer == "It leaves at 9:40."
    assert [(hit.event_id, hit.response) for hit in hits] == [
        (reply.event_id, "It leaves at 9:40.")
    ]


def test_wrong_citation_is_shown_with_a_note(client: Client) -> None:
    """The event exists but says another time (specification.md#turn-recheck)."""
    saved = client.remember_turn(
        Turn(query="When does the ferry leave?", response="It leaves at 9:40.", user_id="ada")
    )
    runtime = Runtime(
        client, scripted(f"It leaves at 8:15 (ref: {saved.event_id}).\n{{seal}}")[0], user_id="ada"
    )

    reply = runtime.turn("When does the ferry leave?")

    assert reply.notes == (NOTE_UNSURE,)
    assert reply.passed is False
    assert (reply.drafts, runtime.counts.looks_failed) == (3, 3)
    assert any("8:15" in check for check in reply.failed_checks)


def test_correct_citation_passes_second_look(client: Client) -> None:
    saved = client.remember_turn(
        Turn(query="When does the ferry leave?", response="It leaves at 9:40.", user_id="ada")
    )

    def draft(messages: list[ChatMessage]) -> str:
        assert str(saved.event_id) in messages[-1]["content"]
        return f"It leaves at 9:40 (ref: {saved.event_id})."

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    assert (reply.passed, reply.drafts) == (True, 1)
