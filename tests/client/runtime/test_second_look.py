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

QUESTION = "When does the ferry leave?"


def save_the_ferry(client: Client) -> str:
    """Save a turn about the ferry; return its event id."""
    turn = Turn(query=QUESTION, response="It leaves at 9:40.", user_id="ada")
    return str(client.remember_turn(turn).event_id)


def saved_turns(client: Client) -> list[tuple[str | None, str]]:
    """Return the id and the response of each hit about the ferry."""
    query = MemoryQuery(query_text="ferry", user_id="ada", interact=False)
    return [(hit.event_id, hit.response) for hit in client.search_memory(query).hits]


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

    reply = Runtime(client, draft, user_id="ada", second_look="always").turn(QUESTION)

    assert saved_turns(client) == [(reply.event_id, "I do not know.")]
    assert "ada takes the ferry." in client.get_start_pack(StartQuery(user_id="ada")).prompt_text


def test_best_draft_is_saved_even_if_a_later_one_is_worse(client: Client) -> None:
    worse = "It leaves at 9:40, from pier 3, on 4 May.\n{seal}"
    draft, _ = scripted("It leaves at 9:40.\n{seal}", worse, worse)

    reply = Runtime(client, draft, user_id="ada").turn(QUESTION)

    assert reply.answer == "It leaves at 9:40."
    assert saved_turns(client) == [(reply.event_id, "It leaves at 9:40.")]


def test_wrong_citation_is_shown_with_a_note(client: Client) -> None:
    """The event exists but says another time (specification.md#turn-recheck)."""
    draft, _ = scripted(f"It leaves at 8:15 (ref: {save_the_ferry(client)}).\n{{seal}}")
    runtime = Runtime(client, draft, user_id="ada")

    reply = runtime.turn(QUESTION)

    assert (reply.notes, reply.passed) == ((NOTE_UNSURE,), False)
    assert (reply.drafts, runtime.counts.looks_failed) == (3, 3)
    assert any("8:15" in check for check in reply.failed_checks)


def test_correct_citation_passes_second_look(client: Client) -> None:
    event_id = save_the_ferry(client)

    def draft(messages: list[ChatMessage]) -> str:
        assert event_id in messages[-1]["content"]
        return f"It leaves at 9:40 (ref: {event_id})."

    reply = Runtime(client, draft, user_id="ada").turn(QUESTION)

    assert (reply.passed, reply.drafts) == (True, 1)


def test_answer_that_claims_nothing_from_memory_is_not_checked(client: Client) -> None:
    """Values that memory did not return need no ref (specification.md#look-when)."""
    save_the_ferry(client)
    draft, _ = scripted("Your new timer runs for 25 minutes.\n{seal}")
    runtime = Runtime(client, draft, user_id="ada")

    reply = runtime.turn("Start a timer of 25 minutes before the ferry.")

    assert (reply.passed, reply.drafts, reply.notes) == (None, 1, ())
    assert (runtime.counts.looks_not_needed, runtime.counts.calls["second look"]) == (1, 0)


@pytest.mark.parametrize("answer", ["The ferry leaves at 9:40.", "The ferry leaves at 9:45."])
def test_answer_that_repeats_memory_without_a_ref_is_revised(client: Client, answer: str) -> None:
    """A repeated value needs a ref, right or wrong (specification.md#look-when)."""
    save_the_ferry(client)
    draft, prompts = scripted(f"{answer}\n{{seal}}", "I looked it up.\n{seal}")

    reply = Runtime(client, draft, user_id="ada").turn(QUESTION)

    assert reply.drafts == 2
    assert "claim_marked" in prompts[1][-1]["content"]


def test_results_of_tools_need_no_ref(client: Client) -> None:
    """A draft function can name the results of its tools (specification.md#look-when)."""
    text = f"The ferry leaves at 9:55 now, no longer at 9:40 (ref: {save_the_ferry(client)})."
    draft = Draft(text, ("timetable: ferry 9:55",))

    reply = Runtime(client, lambda _: draft, user_id="ada").turn("When does it leave today?")

    assert (reply.passed, reply.drafts) == (True, 1)
