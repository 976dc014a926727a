"""Turns while the service is unreachable, rejects a request or reports a missed duty."""

from __future__ import annotations

from client.runtime.scripted_turn import (
    FAIL,
    SEAL,
    UNREACHABLE,
    error_answer,
    error_types,
    new_conversation,
    remember_answer,
    run_turn,
)

from remembrancer.client.errors import UnreachableError
from remembrancer.client.runtime.turn import (
    NOTE_LATER,
    NOTE_NO_MEMORY,
    NOTE_SAVED_LATER,
    UNSAVED_MAX,
)


def test_user_gets_an_answer_while_the_service_is_unreachable() -> None:
    """Without the service there is an answer with a note (specification.md#turn-search-failed)."""
    completed = run_turn(
        new_conversation(),
        f"At 9:40 [unverified].\nCRITICAL: x\nRATE: c_1 +1\n{SEAL}",
        search=UNREACHABLE,
    )

    assert completed.steps == ["search", "draft"]
    assert completed.reply.text == f"At 9:40 [unverified].\n\n({NOTE_LATER})"
    assert completed.reply.seal is None
    assert "Memory cannot be reached" in completed.prompts[0][-1]["content"]
    assert error_types(completed) == [UnreachableError]


def test_unsaved_turns_are_saved_when_the_service_is_back() -> None:
    conversation = new_conversation()
    run_turn(conversation, "First.", search=UNREACHABLE)
    run_turn(conversation, "Second.", search=UNREACHABLE)

    back = run_turn(conversation, "Third.")

    assert back.steps == ["search", "remember", "remember", "draft", "remember", "second look"]
    assert [turn.response for turn in back.bodies["remember"]] == ["First.", "Second.", "Third."]
    assert [turn.occurred_at is None for turn in back.bodies["remember"]] == [False, False, True]
    assert (conversation.counts.turns_saved, conversation.counts.turns_saved_late) == (1, 2)
    assert back.bodies["search"][0].last_seal is None


def test_lost_save_is_repeated_with_the_same_idempotency_key() -> None:
    """If it is rejected for good, it is dropped and reported."""
    for status, error, remarks in ((409, "conflict", 0), (413, "too_large", 1)):
        conversation = new_conversation()
        first = run_turn(conversation, "First.", remember=UNREACHABLE)
        answers = [error_answer(status, error), remember_answer()]
        back = run_turn(conversation, "Second.", remember=answers)
        saves = [call.idempotency_key for call in back.calls if call.purpose == "remember"]

        assert first.reply.text == f"First.\n\n({NOTE_SAVED_LATER})"
        assert first.reply.seal is None
        assert saves[0] == first.calls[1].idempotency_key
        assert conversation.unsaved == []
        assert ["could not be remembered" in one for one in back.reply.remarks] == [True] * remarks
        counts = conversation.counts
        assert (counts.turns_saved, counts.turns_saved_late) == (1, 1 - remarks)


def test_second_outage_loses_no_turn() -> None:
    conversation = new_conversation()
    run_turn(conversation, "First.", search=UNREACHABLE)

    run_turn(conversation, "Second.", remember=UNREACHABLE)

    assert [turn.response for turn, _ in conversation.unsaved] == ["First.", "Second."]


def test_oldest_unsaved_turn_is_dropped_and_reported_at_the_limit() -> None:
    conversation = new_conversation()
    for n in range(UNSAVED_MAX):
        run_turn(conversation, f"{n}.", search=UNREACHABLE)

    completed = run_turn(conversation, "The last.", search=UNREACHABLE)

    assert [turn.response for turn, _ in conversation.unsaved][:: UNSAVED_MAX - 1] == [
        "1.",
        "The last.",
    ]
    assert "is given up" in completed.reply.remarks[-1]


def test_rejected_search_disables_memory_for_the_turn() -> None:
    """A failed search ends the protocol (specification.md#turn-search-failed)."""
    conversation = new_conversation()

    completed = run_turn(conversation, "A.", search=error_answer(401, "unauthorized"))

    assert completed.steps == ["search", "draft"]
    assert completed.reply.text == f"A.\n\n({NOTE_NO_MEMORY})"
    assert conversation.unsaved == []


def test_saved_draft_is_preferred_to_an_unsaved_one() -> None:
    completed = run_turn(
        new_conversation(),
        "First.",
        "Second.",
        "Third.",
        second_look=FAIL,
        remember=[remember_answer(), UNREACHABLE],
    )

    assert completed.reply.answer == "First."
    assert completed.reply.event_id == "evt_9"
