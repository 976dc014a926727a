"""The per-turn protocol, every branch of it, led without a service."""

from __future__ import annotations

from typing import Any

import pytest
from client.leading import (
    DEAD,
    FAILED,
    PASSED,
    SEAL,
    cube,
    errors,
    failed,
    found,
    lead,
    refused,
    saved,
    talk,
)
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.client.errors import Unreachable
from remembrancer.client.runtime_core import (
    KEY_WARNING,
    LOOK_AT_THE_DRAFT,
    NOTE_KEPT_LATER,
    NOTE_LATER,
    NOTE_NO_MEMORY,
    NOTE_NOT_KEPT,
    NOTE_UNSURE,
    UNSAVED_MAX,
)
from remembrancer.client.runtime_parts import NO_ANSWER
from remembrancer.protocol.fence import unfenced
from remembrancer.protocol.memory import MemoryQuery, Turn
from remembrancer.protocol.second_look import SecondLook
from remembrancer.protocol.text import tokens

GOOD = f"At 9:40 (ref: evt_1).\nCUBE_NOTHING: nothing new\n{SEAL}"
CUBE = f"At 9:40 (ref: evt_1).\nCUBE: fact | ferries | They leave early. | MUST check the date\n{SEAL}"

FULL = "DRAFT\nIt leaves at 9:40.\nSECOND LOOK\nThe event does say 9:40.\nFINAL\nAt 9:40 (ref: evt_1).\n" + SEAL


def test_a_turn_goes_the_way_of_the_protocol() -> None:
    """Search, draft, save, second look, vote, clean answer (specification.md#turn-order)."""
    conversation = talk()

    led = lead(conversation, f"At 9:40 (ref: evt_1).\nRATE: c_1 +1 it was right\n{SEAL}", search=found(cube()))

    assert led.steps == ["search", "draft", "remember", "second look", "vote"]
    assert led.reply.text == led.reply.answer == "At 9:40 (ref: evt_1)."
    assert led.reply.passed
    assert (led.reply.event_id, led.reply.step, led.reply.seal, led.reply.drafts) == ("evt_9", 7, SEAL, 1)
    assert (led.turn.query, led.turn.response) == ("When does the ferry leave?", "At 9:40 (ref: evt_1).")
    assert (led.turn.user_id, led.turn.session_id) == ("ada", "s")
    assert led.sent["second look"] == [SecondLook(draft="At 9:40 (ref: evt_1).", event_id="evt_1", span=3)]
    assert led.reply.remarks == led.reply.notes == ()


def test_the_next_search_brings_the_seal_of_this_turn() -> None:
    """`last_seal` is the previous reply's seal (specification.md#seal-last-seal)."""
    conversation = talk()

    first, second = lead(conversation, GOOD), lead(conversation, GOOD)

    assert first.sent["search"][0].last_seal is None
    assert second.sent["search"][0].last_seal == SEAL
    assert second.sent["search"][0].interact


def test_what_is_recalled_is_given_to_the_model_as_fenced_data() -> None:
    led = lead(talk(), GOOD, search=found(cube()))
    asked = led.prompts[0][-1]["content"]

    own, hidden = unfenced(asked)
    assert "evt_1" in asked
    assert "c_1" in asked
    assert hidden > 0
    assert "At 9:40." not in own
    assert own.endswith("The user says:\nWhen does the ferry leave?")


def test_the_model_sees_the_protocol_the_history_and_its_instructions_but_no_service_line_of_before() -> None:
    conversation = talk(instructions="You are a pilot.", history_turns=1)
    for _ in range(3):
        led = lead(conversation, GOOD)

    system, *history, _ = led.prompts[0]
    assert system["content"].startswith("You are a pilot.")
    assert "CUBE_NOTHING" in system["content"]
    assert [said["content"] for said in history] == ["When does the ferry leave?", "At 9:40 (ref: evt_1)."]


def test_a_turn_that_finds_nothing_says_so_to_the_model() -> None:
    led = lead(talk(), "I do not know.", search=found(hits=[], total_hits=0))

    assert "Memory has nothing" in led.prompts[0][-1]["content"]
    assert led.sent["second look"] == [SecondLook(draft="I do not know.")]


# Second look


def test_a_draft_that_fails_is_mended_with_what_failed() -> None:
    """Failed checks go into the revision (specification.md#turn-recheck)."""
    led = lead(talk(), "At 9:40.", GOOD, second_look=[FAILED, PASSED], remember=[saved("evt_8"), saved("evt_9")])

    assert led.steps == ["search", "draft", "remember", "second look", "draft", "remember", "second look"]
    assert "claim_marked: Mark it. (9:40)" in led.prompts[1][-1]["content"]
    assert led.prompts[1][-2] == {"role": "assistant", "content": "At 9:40."}
    assert (led.reply.text, led.reply.event_id, led.reply.drafts) == ("At 9:40 (ref: evt_1).", "evt_9", 2)


def test_after_two_more_drafts_the_best_is_shown_with_a_note() -> None:
    """At most two revisions, then a note (specification.md#turn-recheck)."""
    worse = failed(("ref_exists", "No such event.", "evt_0"), ("claim_marked", "Mark it.", None))

    led = lead(talk(), "First.", "Second.", "Third.", second_look=[worse, FAILED, worse])

    assert led.reply.text == f"Second.\n\n({NOTE_UNSURE})"
    assert led.steps.count("draft") == led.steps.count("remember") == led.steps.count("second look") == 3
    assert led.reply.failed_checks == ("claim_marked: Mark it. (9:40)",)
    assert led.reply.passed is False


def test_of_two_that_are_as_bad_the_later_is_shown() -> None:
    led = lead(talk(), "First.", "Second.", "Third.", second_look=FAILED)

    assert led.reply.answer == "Third."


def test_a_look_that_fails_without_a_reason_is_a_failure_all_the_same() -> None:
    led = lead(talk(redrafts_max=0), "First.", second_look=failed())

    assert led.reply.notes == (NOTE_UNSURE,)


def test_a_service_without_a_second_look_is_asked_once() -> None:
    conversation = talk()

    first, second = lead(conversation, GOOD, second_look=refused(404, "not_found")), lead(conversation, GOOD)

    assert first.reply.passed is None
    assert first.reply.text == "At 9:40 (ref: evt_1)."
    assert errors(first) == []
    assert "second look" not in second.steps
    assert conversation.counts.looks_missing == 2


def test_a_second_look_that_cannot_be_had_now_is_asked_for_again_next_time() -> None:
    conversation = talk()

    first, second = lead(conversation, GOOD, second_look=DEAD), lead(conversation, GOOD)

    assert first.reply.text == "At 9:40 (ref: evt_1)."
    assert "no second look" in first.reply.remarks[0]
    assert second.reply.passed


def test_a_draft_without_an_answer_is_drafted_again() -> None:
    led = lead(talk(), SEAL, GOOD)

    assert led.steps == ["search", "draft", "draft", "remember", "second look"]
    assert led.reply.text == "At 9:40 (ref: evt_1)."


def test_a_model_that_never_answers_leaves_the_user_with_a_sentence_and_the_service_with_the_turn() -> None:
    led = lead(talk(), "")

    assert led.reply.text == f"{NO_ANSWER}\n\n({NOTE_UNSURE})"
    assert led.turn.response == NO_ANSWER
    assert led.reply.seal == SEAL


# Keys


def test_a_pasted_key_goes_nowhere() -> None:
    """A pasted key is reported, never sent (specification.md#auth-never-in-chat)."""
    conversation, key = talk(), "sk" + "_" + "ab" * 32

    led = lead(conversation, GOOD, message=f"my key is {key}, what now?")
    after = lead(conversation, GOOD)

    assert led.steps == []
    assert led.reply.text == KEY_WARNING
    assert "revoke" in KEY_WARNING
    assert "environment variable" in KEY_WARNING
    assert key not in str(after.prompts)
    assert (conversation.counts.keys_caught, conversation.counts.turns) == (1, 1)


def test_a_key_that_the_agent_writes_is_taken_out() -> None:
    key = "sk" + "-" + "aB3" * 12

    led = lead(talk(), f"It is {key}.")

    assert led.reply.text == led.turn.response == "It is [a key was removed]."
    assert "A key was taken out" in led.reply.remarks[0]


def test_a_key_that_memory_holds_is_not_shown_to_the_model() -> None:
    key = "sk" + "-" + "aB3" * 12
    answer = found()

    led = lead(talk(), GOOD, search=found(hits=[answer.hits[0].model_copy(update={"response": key})]))

    assert key not in str(led.prompts)


# When the service is away


def test_with_a_dead_service_the_user_still_gets_an_answer() -> None:
    """Without the service there is an answer with a note (specification.md#turn-search-failed)."""
    led = lead(talk(), f"At 9:40 [unverified].\nCRITICAL: x\nRATE: c_1 +1\n{SEAL}", search=DEAD)

    assert led.steps == ["search", "draft"]
    assert led.reply.text == f"At 9:40 [unverified].\n\n({NOTE_LATER})"
    assert led.reply.seal is None
    assert "Memory cannot be reached" in led.prompts[0][-1]["content"]
    assert errors(led) == [Unreachable]


def test_what_was_said_meanwhile_is_remembered_when_the_service_is_back() -> None:
    conversation = talk()
    lead(conversation, "First.", search=DEAD)
    lead(conversation, "Second.", search=DEAD)

    back = lead(conversation, "Third.")

    assert back.steps == ["search", "remember", "remember", "draft", "remember", "second look"]
    assert [turn.response for turn in back.sent["remember"]] == ["First.", "Second.", "Third."]
    assert [turn.occurred_at is None for turn in back.sent["remember"]] == [False, False, True]
    assert (conversation.counts.remembered, conversation.counts.remembered_late) == (1, 2)
    assert back.sent["search"][0].last_seal is None


def test_a_turn_whose_answer_was_lost_is_sent_again_under_its_key() -> None:
    conversation = talk()
    lost = lead(conversation, "First.", remember=DEAD)

    back = lead(conversation, "Second.", remember=[refused(409, "conflict"), saved()])

    assert lost.reply.text == f"First.\n\n({NOTE_KEPT_LATER})"
    assert lost.reply.seal is None
    assert next(call.idempotency_key for call in back.calls if call.what == "remember") == lost.calls[1].idempotency_key
    assert conversation.unsaved == []
    assert back.reply.remarks == ()


def test_what_the_service_will_never_take_is_given_up_and_told() -> None:
    conversation = talk()
    lead(conversation, "First.", remember=DEAD)

    back = lead(conversation, "Second.", remember=[refused(413, "too_large"), saved()])

    assert conversation.unsaved == []
    assert "could not be remembered" in back.reply.remarks[0]
    assert (conversation.counts.remembered, conversation.counts.remembered_late) == (1, 0)


def test_a_service_that_dies_again_loses_nothing() -> None:
    conversation = talk()
    lead(conversation, "First.", search=DEAD)

    lead(conversation, "Second.", remember=DEAD)

    assert [turn.response for turn, _ in conversation.unsaved] == ["First.", "Second."]


def test_no_more_turns_wait_than_may_and_the_oldest_is_given_up_aloud() -> None:
    conversation = talk()
    for n in range(UNSAVED_MAX):
        lead(conversation, f"{n}.", search=DEAD)

    led = lead(conversation, "The last.", search=DEAD)

    assert [turn.response for turn, _ in conversation.unsaved][:: UNSAVED_MAX - 1] == ["1.", "The last."]
    assert "is given up" in led.reply.remarks[-1]


def test_a_model_that_fails_leaves_no_seal_behind() -> None:
    conversation = talk()
    lead(conversation, GOOD)
    steps = conversation.turn("And the train?")
    next(steps)
    steps.send(found())
    with pytest.raises(ConnectionError):
        steps.throw(ConnectionError("no model"))

    assert lead(conversation, GOOD).sent["search"][0].last_seal is None


def test_a_turn_that_is_refused_is_told_to_the_user() -> None:
    led = lead(talk(), "A.", remember=refused(403, "forbidden"))

    assert led.reply.text == f"A.\n\n({NOTE_NOT_KEPT})"
    assert led.steps == ["search", "draft", "remember"]


def test_a_search_that_is_refused_ends_the_memory_part_of_the_turn() -> None:
    """A failed search ends the protocol (specification.md#turn-search-failed)."""
    conversation = talk()

    led = lead(conversation, "A.", search=refused(401, "unauthorized"))

    assert led.steps == ["search", "draft"]
    assert led.reply.text == f"A.\n\n({NOTE_NO_MEMORY})"
    assert conversation.unsaved == []


def test_a_missed_duty_is_told_to_whoever_runs_the_agent() -> None:
    led = lead(talk(), GOOD, search=found(duty_error="No turn was remembered since step 6."))

    assert led.reply.remarks == ("The service says: No turn was remembered since step 6.",)


def test_the_better_of_two_drafts_is_the_one_that_was_remembered() -> None:
    led = lead(talk(), "First.", "Second.", "Third.", second_look=FAILED, remember=[saved(), DEAD])

    assert led.reply.answer == "First."
    assert led.reply.event_id == "evt_9"


# The full protocol


def test_the_full_protocol_shows_only_the_final_part() -> None:
    led = lead(talk(full_protocol=True), FULL)

    assert "DRAFT, SECOND LOOK, FINAL" in led.prompts[0][0]["content"]
    assert (led.reply.text, led.reply.drafts) == ("At 9:40 (ref: evt_1).", 1)


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ("At 9:40.", "The sections are"),
        (FULL.replace("SECOND LOOK\nThe event does say 9:40.\n", ""), "The sections are"),
        (FULL.replace("The event does say 9:40.", "Looks fine to me!"), LOOK_AT_THE_DRAFT),
    ],
)
def test_the_full_protocol_is_asked_for_again_when_it_is_not_kept(draft: str, said: str) -> None:
    """SECOND LOOK must discuss the draft (specification.md#turn-full-protocol)."""
    led = lead(talk(full_protocol=True), draft, FULL)

    assert said in led.prompts[1][-1]["content"]
    assert led.reply.text == "At 9:40 (ref: evt_1)."
    assert led.reply.drafts == 2


def test_a_look_is_about_its_draft_in_any_script() -> None:
    led = lead(talk(full_protocol=True), "DRAFT\n渡轮早上出发\nSECOND LOOK\n记忆里说渡轮确实如此\nFINAL\n早上。")

    assert led.reply.drafts == 1


# What cannot be


@pytest.mark.parametrize("message", ["", " \n"])
def test_a_message_that_says_nothing_is_no_turn(message: str) -> None:
    conversation = talk()

    with pytest.raises(ValueError, match="says nothing"):
        lead(conversation, GOOD, message=message)

    assert conversation.counts.turns == 0


def test_a_model_that_gives_no_text_is_told_of_plainly() -> None:
    nothing: Any = None

    with pytest.raises(TypeError, match="a draft is a text, not NoneType"):
        lead(talk(), nothing)


@pytest.mark.parametrize("habits", [{"user_id": ""}, {"top_k": 0}, {"session_id": "x" * 257}])
def test_habits_that_the_service_would_refuse_are_refused_at_once(habits: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever pydantic says of it
        talk(**habits)


def test_texts_that_are_none_are_made_whole() -> None:
    led = lead(talk(), "A\0B\ud83d\ude00\ud83d.", message="q\ud800\0")

    assert (led.turn.query, led.turn.response) == ("q\ufffd\ufffd", "A\ufffdB\U0001f600\ufffd.")


def test_a_long_message_is_searched_by_its_beginning_and_remembered_whole() -> None:
    led = lead(talk(), GOOD, message="word " * 10_000)

    assert len(led.sent["search"][0].query_text) == 20_000
    assert len(led.turn.query) == 50_000


@given(st.lists(st.text(), min_size=3, max_size=3), st.sampled_from([PASSED, FAILED, DEAD]), st.booleans())
def test_whatever_a_model_writes_the_user_gets_an_answer(drafts: list[str], looked: Any, full: bool) -> None:
    led = lead(talk(full_protocol=full), *drafts, search=found(cube()), second_look=looked)

    assert led.reply.answer.strip()
    assert led.steps.count("draft") <= 3
    assert all(isinstance(message, Turn) for message in led.sent["remember"])
    assert isinstance(led.sent["search"][0], MemoryQuery)


# Counts


def test_compliance_and_overhead_are_counted() -> None:
    """The runtime counts duties, tokens, milliseconds and calls."""
    conversation = talk()
    lead(conversation, GOOD, search=found(cube("c_1"), cube("c_2")))
    lead(conversation, f"A.\nRATE: c_1 0\nRATE: c_2 9\n{SEAL}", search=found(cube("c_1"), cube("c_2")))
    lead(conversation, "A.", "B.", second_look=[FAILED, PASSED])
    lead(conversation, "A.", search=DEAD)
    counts = conversation.counts

    assert counts.compliance() == {
        "searched": 0.75, "remembered": 0.75, "sealed": 0.6667, "rated": 0.25, "second_look_passed": 0.75, "summaries": None,
    }  # fmt: skip
    assert dict(counts.calls) == {"search": 4, "remember": 4, "second look": 4, "duty": 2}
    assert dict(counts.failures) == {"unreachable": 1}
    assert (counts.turns, counts.drafts, counts.redrafts, counts.cubes_closed) == (4, 5, 1, 4)
    assert counts.line_faults["rate_syntax"] == 1
    assert counts.overhead()["calls"] == 3.5
    assert counts.tokens_in > counts.tokens_out > 0


def test_nothing_is_counted_before_the_first_turn() -> None:
    counts = talk().counts

    assert set(counts.compliance().values()) == set(counts.overhead().values()) == {None}


@pytest.mark.parametrize(("text", "count"), [("", 0), ("abcd", 1), ("abcde", 2), ("渡轮", 2)])
def test_tokens_are_estimated(text: str, count: int) -> None:
    assert tokens(text) == count
