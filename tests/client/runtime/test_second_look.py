"""The runtime with the real second look: invented claims are found and revised."""

from __future__ import annotations

import pytest
from client.runtime.test_drivers import scripted

from remembrancer.client import Client
from remembrancer.client.runtime import ChatMessage, Draft, Runtime
from remembrancer.client.runtime.turn import NOTE_UNSURE
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.protocol.summaries import StartQuery


def test_unmarked_claim_is_fixed_in_second_draft(client: Client) -> None:
    draft, prompts = scripted(
        "It leaves at 9:40.\n{seal}", "It leaves at 9:40 [unverified].\n{seal}"
    )

    reply = Runtime(client, draft, user_id="ada", second_look="always").turn("When does it leave?")

    assert reply.text == "It leaves at 9:40 [unverified]."
    assert (reply.passed, reply.drafts) == (True, 2)
    assert "claim_marked" in prompts[1][-1]["content"]


def test_second_draft_replaces_first_in_memory(client: Client) -> None:
    """Memory holds what the user saw: the second draft replaces the first."""
    draft, _ = scripted(
        "It leaves at 9:40.\nCRITICAL: ada takes the ferry.\n{seal}", "I do not know.\n{seal}"
    )

    runtime = Runtime(client, draft, user_id="ada", second_look="always")
    reply = runtime.turn("When does the ferry leave?")

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


# Which answers are checked


def test_answer_that_claims_nothing_from_memory_is_not_checked(client: Client) -> None:
    """Values that memory did not return need no ref (specification.md#look-when)."""
    client.remember_turn(
        Turn(query="When does the ferry leave?", response="It leaves at 9:40.", user_id="ada")
    )
    runtime = Runtime(
        client, scripted("Your new timer runs for 25 minutes.\n{seal}")[0], user_id="ada"
    )

    reply = runtime.turn("Start a timer of 25 minutes before the ferry.")

    assert (reply.passed, reply.drafts, reply.notes) == (None, 1, ())
    assert (runtime.counts.looks_not_needed, runtime.counts.calls["second look"]) == (1, 0)


@pytest.mark.parametrize("answer", ["The ferry leaves at 9:40.", "The ferry leaves at 9:45."])
def test_answer_that_repeats_memory_without_a_ref_is_revised(client: Client, answer: str) -> None:
    """A repeated value needs a ref, right or wrong (specification.md#look-when)."""
    client.remember_turn(
        Turn(query="When does the ferry leave?", response="It leaves at 9:40.", user_id="ada")
    )
    draft, prompts = scripted(f"{answer}\n{{seal}}", "I looked it up.\n{seal}")

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave?")

    assert reply.drafts == 2
    assert "claim_marked" in prompts[1][-1]["content"]


def test_results_of_tools_need_no_ref(client: Client) -> None:
    """A draft function can name the results of its tools (specification.md#look-when)."""
    saved = client.remember_turn(
        Turn(query="When does the ferry leave?", response="It leaves at 9:40.", user_id="ada")
    )

    def draft(_messages: list[ChatMessage]) -> Draft:
        return Draft(
            f"The ferry leaves at 9:55 now, no longer at 9:40 (ref: {saved.event_id}).",
            ("timetable: ferry 9:55",),
        )

    reply = Runtime(client, draft, user_id="ada").turn("When does the ferry leave today?")

    assert (reply.passed, reply.drafts) == (True, 1)


def test_second_look_option_is_validated(client: Client) -> None:
    with pytest.raises(ValueError, match="second_look must be"):
        Runtime(client, lambda _: "", user_id="ada", second_look="sometimes")
