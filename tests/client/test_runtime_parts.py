"""What of the service lines goes to the service, when, and what is asked for: led without a service."""

from __future__ import annotations

from typing import Any

import pytest
from client.leading import (
    DEAD,
    FAILED,
    MADE,
    MAPPED,
    PASSED,
    SEAL,
    cube,
    found,
    lead,
    refused,
    saved,
    talk,
)
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.client.runtime_core import NOTE_KEPT_LATER, NOTE_UNSURE
from remembrancer.client.runtime_parts import shortened

GOOD = f"At 9:40 (ref: evt_1).\nCUBE_NOTHING: nothing new\n{SEAL}"
CUBE = f"At 9:40 (ref: evt_1).\nCUBE: fact | ferries | They leave early. | MUST check the date\n{SEAL}"

FULL = "DRAFT\nIt leaves at 9:40.\nSECOND LOOK\nThe event does say 9:40.\nFINAL\nAt 9:40 (ref: evt_1).\n" + SEAL


# Service lines


def test_what_the_lines_say_is_sent_with_the_turn() -> None:
    led = lead(talk(), f"A.\nCRITICAL: likes tea\nTASK_DONE\nCUBE: code | t | e | r\nPUBLISH\n{SEAL}", remember=saved(cube=MADE))

    sent = led.turn.model_dump(exclude_defaults=True, exclude={"query", "user_id", "session_id"})
    assert sent == {
        "response": "A.", "critical": "likes tea", "task_done": True, "cube_topic": "t", "cube_essence": "e", "cube_rules": "- r",
        "cube_type": "code", "cube_publish": True,
    }  # fmt: skip


@pytest.mark.parametrize(("draft", "reason"), [(GOOD, "nothing new"), ("A.", "the agent did not say")])
def test_no_cube_closes_the_duty_with_its_reason(draft: str, reason: str) -> None:
    led = lead(talk(), draft)

    assert (led.turn.duty, led.turn.duty_reason) == ("cube_nothing", reason)


def test_a_mended_draft_sends_only_what_the_service_has_not_got() -> None:
    first = f"A.\nCRITICAL: likes tea\nCUBE: fact | t | e | r\n{SEAL}"

    led = lead(talk(), first, first.replace("A.", "B.").replace("tea", "milk"), second_look=[FAILED, PASSED], remember=saved(cube=MADE))

    assert [turn.critical for turn in led.sent["remember"]] == ["likes tea", "likes milk"]
    assert [turn.cube_topic for turn in led.sent["remember"]] == ["t", None]
    assert led.sent["remember"][1].duty is None


def test_a_cube_in_the_mended_draft_is_sent() -> None:
    led = lead(talk(), "A.", CUBE, second_look=[FAILED, PASSED])

    assert [(turn.duty, turn.cube_topic) for turn in led.sent["remember"]] == [("cube_nothing", None), (None, "ferries")]


def test_what_a_failed_call_was_to_bring_is_brought_by_the_next() -> None:
    conversation = talk(full_protocol=True)

    led = lead(conversation, "A.\nCRITICAL: likes tea", FULL.replace(SEAL, "CRITICAL: likes tea"), remember=[DEAD, saved()])

    assert [turn.critical for turn in led.sent["remember"]] == ["likes tea", "likes tea"]
    assert led.reply.text == "At 9:40 (ref: evt_1)."
    assert conversation.unsaved == []


def test_a_turn_none_of_whose_drafts_could_be_kept_waits_once() -> None:
    conversation = talk(full_protocol=True)

    led = lead(conversation, "A.", "B.", "C.", remember=DEAD)

    assert [turn.response for turn, _ in conversation.unsaved] == ["C."]
    assert led.reply.notes == (NOTE_UNSURE, NOTE_KEPT_LATER)


def test_at_most_one_cube_in_three_turns() -> None:
    """At most one cube per 3 turns (specification.md#remember-cube-rate)."""
    conversation = talk()

    turns = [lead(conversation, CUBE, remember=saved(cube=MADE)) for _ in range(4)]

    assert [led.turn.cube_topic for led in turns] == ["ferries", None, None, "ferries"]
    assert [led.turn.duty for led in turns] == [None, "cube_nothing", "cube_nothing", None]
    assert "`ferries` was left out" in turns[1].reply.remarks[0]
    assert (conversation.counts.cubes_made, conversation.counts.cubes_refused) == (2, 2)


def test_the_agent_is_told_in_its_next_turn_what_became_of_its_lines() -> None:
    conversation = talk()
    lead(conversation, CUBE, remember=saved(cube="It holds a secret."))

    after, later = lead(conversation, GOOD), lead(conversation, GOOD)

    assert "The cube was not made: It holds a secret." in after.prompts[0][-1]["content"]
    assert "It holds a secret." not in later.prompts[0][-1]["content"]


def test_a_cube_is_cut_to_the_bounds_of_the_client_at_the_end_of_a_word_and_this_is_told() -> None:
    """Topic 80, essence 200, rules 800 characters (specification.md#turn-cube-bounds)."""
    led = lead(talk(), f"A.\nCUBE: fact | {'topic ' * 20} | {'essence ' * 40} | {'rule ' * 300}")
    parts = (led.turn.cube_topic, led.turn.cube_essence, led.turn.cube_rules)

    assert [len(part) <= most for part, most in zip(parts, (80, 200, 800), strict=True)] == [True] * 3
    assert [part.endswith(f"{word}\u2026") for part, word in zip(parts, ("topic", "essence", "rule"), strict=True)] == [True] * 3
    assert [remark for remark in led.reply.remarks if "was cut" in remark] == [
        "The cube's topic was cut to 80 characters.",
        "The cube's essence was cut to 200 characters.",
        "The cube's rule was cut to 800 characters.",
    ]


@given(st.text(), st.integers(2, 50))
def test_nothing_is_cut_that_fits(text: str, most: int) -> None:
    short = shortened(text, most)

    assert len(short) <= most
    assert short == text if len(text) <= most else text.startswith(short[:-1])


# Ratings


def test_ratings_become_votes_and_one_duty() -> None:
    """A rating of 0 is a `vote_nothing` (specification.md#cube-rating-zero)."""
    cubes = [cube("c_1"), cube("c_2"), cube("c_3"), cube("c_4", note="private, 1 vote")]

    led = lead(talk(), "A.\nRATE: c_1 +1\nRATE: c_2 0 about ships\nRATE: c_4 -1 wrong", search=found(*cubes))

    assert led.steps[-3:] == ["vote", "vote", "duty"]
    assert [(vote.cube_id, vote.vote, vote.reason) for vote in led.sent["vote"]] == [("c_1", 1, None), ("c_4", -1, "wrong")]
    [duty] = led.sent["duty"]
    assert (duty.duty, duty.duty_reason, duty.query) == ("vote_nothing", "c_2: about ships; c_3: the agent did not say", None)


def test_a_cube_that_was_not_shown_is_not_voted_on() -> None:
    led = lead(talk(), "A.\nRATE: c_8 +1", search=found())

    assert "vote" not in led.sent


def test_a_rating_is_sent_once_however_often_it_is_drafted() -> None:
    led = lead(talk(), "A.\nRATE: c_1 +1", "B.\nRATE: c_1 -1 wrong after all", search=found(cube()), second_look=[FAILED, PASSED])

    assert [vote.vote for vote in led.sent["vote"]] == [-1]


def test_votes_that_cannot_be_counted_are_told() -> None:
    led = lead(talk(), "A.\nRATE: c_1 +1", search=found(cube("c_1"), cube("c_2")), vote=refused(404, "not_found"), duty=DEAD)

    assert [remark.partition(":")[0] for remark in led.reply.remarks] == ["A vote was not counted", "A duty was not closed"]
    assert led.reply.text == "A."


# Summaries


def test_a_summary_is_asked_for_when_it_is_due_and_sent_when_it_is_written() -> None:
    """An L1 is due after 15 turns (specification.md#duty-l1-due)."""
    conversation = talk()
    lead(conversation, GOOD, remember=saved(l1_due=True))

    asked = lead(conversation, "A.", remember=saved(l1_due=True))
    given = lead(conversation, "A.\nL1: ferries were asked for", remember=saved())
    after = lead(conversation, "A.\nL1: unasked")

    assert "an L1 line" in asked.prompts[0][-1]["content"]
    assert (asked.turn.l1_summary, given.turn.l1_summary, after.turn.l1_summary) == (None, "ferries were asked for", None)
    assert "nobody asked for" in after.reply.remarks[0]
    assert (conversation.counts.summaries_asked, conversation.counts.summaries_given) == (2, 1)


def test_what_is_due_is_learned_from_the_reminders_too() -> None:
    led = lead(talk(), "A.", search=found(reminders=["An L1 is due: 15 turns are not summarised."]))

    assert "an L1 line" in led.prompts[0][-1]["content"]


def test_the_length_of_a_summary_is_a_share_of_what_was_said() -> None:
    conversation = talk()
    for _ in range(2):
        led = lead(conversation, "x" * 10_000, remember=saved(l1_due=True))

    assert f"in {int(10_026 * 0.05)} to {int(10_026 * 0.08)} characters" in led.prompts[0][-1]["content"]


def test_the_next_summary_is_a_share_of_what_was_said_since_the_last() -> None:
    conversation = talk()
    lead(conversation, "x" * 10_000, remember=saved(l1_due=True))
    lead(conversation, "y" * 10_000 + "\nL1: done", remember=saved())
    lead(conversation, "z" * 5_000, remember=saved(l1_due=True))

    led = lead(conversation, "A.")

    assert f"in {int(5_026 * 0.05)} to {int(5_026 * 0.08)} characters" in led.prompts[0][-1]["content"]


def test_a_map_is_asked_for_with_what_it_is_made_of() -> None:
    """An L2 is due after 10 L1s (specification.md#duty-l2-due)."""
    led = lead(talk(), "A.\nL2: ferries", search=found(reminders=["An L2 is due: 10 L1s are not in the map."]))

    assert "The old map.\n\nOlder.\n\nNewer." in led.prompts[0][-1]["content"]
    assert led.turn.l2_map == "ferries"
    assert "map" not in led.steps


def test_a_map_that_the_agent_does_not_write_is_made_by_the_service() -> None:
    led = lead(talk(), "A.", search=found(reminders=["An L2 is due."]))

    assert led.steps == ["search", "start pack", "draft", "remember", "second look", "map"]


@pytest.mark.parametrize(("made", "asks_again"), [(MAPPED, False), (DEAD, True)])
def test_a_map_that_was_made_is_not_asked_for_again(made: Any, asks_again: bool) -> None:
    conversation = talk()
    lead(conversation, "A.", search=found(reminders=["An L2 is due."]), remember=saved(l2_due=True), map=made)

    assert ("start pack" in lead(conversation, "A.").steps) == asks_again


def test_a_map_whose_parts_cannot_be_had_waits() -> None:
    led = lead(talk(), "A.", search=found(reminders=["An L2 is due."]), start_pack=DEAD)

    assert "map" not in led.steps
    assert led.reply.text == "A."
