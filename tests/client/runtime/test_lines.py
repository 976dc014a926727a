"""Service lines: what a turn requires and what it sends, without a service."""

from __future__ import annotations

from typing import Any

import pytest
from client.runtime.scripted_turn import (
    CUBE_MADE,
    FULL,
    GOOD,
    MAP_UPDATED,
    SEAL,
    UNREACHABLE,
    cube,
    error_answer,
    new_conversation,
    remember_answer,
    run_turn,
    search_answer,
)

CUBE = (
    f"At 9:40 (ref: evt_1).\nCUBE: fact | ferries | They leave early. | MUST check the date\n{SEAL}"
)


# Service lines


def test_service_lines_are_sent_with_the_turn() -> None:
    completed = run_turn(
        new_conversation(),
        f"A.\nCRITICAL: likes tea\nTASK_DONE\nCUBE: code | t | e | r\nPUBLISH\n{SEAL}",
        remember=remember_answer(cube=CUBE_MADE),
    )

    fields = completed.turn.model_dump(
        exclude_defaults=True, exclude={"query", "user_id", "session_id"}
    )
    assert fields == {
        "response": "A.",
        "critical": "likes tea",
        "task_done": True,
        "cube_topic": "t",
        "cube_essence": "e",
        "cube_rules": "- r",
        "cube_type": "code",
        "cube_publish": True,
    }


def test_a_fact_replaces_only_one_that_the_turn_was_shown() -> None:
    """The service refuses any other id, and the turn with it."""
    shown = {
        "fact_id": "f_0123456789abc",
        "text": "Ada likes coffee.",
        "source": "user",
        "status": "current",
        "valid_from": "2026-01-01T00:00:00Z",
        "event_id": None,
        "score": 0.9,
    }
    for named, sent in (("f_0123456789abc", "f_0123456789abc"), ("f_zzzzzzzzzzzzz", None)):
        draft = f"A.\nCRITICAL: Ada likes tea. | replaces {named}\n{SEAL}"
        turn = run_turn(new_conversation(), draft, search=search_answer(facts=[shown])).turn

        assert (turn.critical, turn.critical_replaces) == ("Ada likes tea.", sent)


def test_parts_of_a_failed_call_are_sent_with_the_next() -> None:
    conversation = new_conversation(full_protocol=True)

    completed = run_turn(
        conversation,
        "A.\nCRITICAL: likes tea",
        FULL.replace(SEAL, "CRITICAL: likes tea"),
        remember=[UNREACHABLE, remember_answer()],
    )

    assert [turn.critical for turn in completed.bodies["remember"]] == ["likes tea", "likes tea"]
    assert completed.reply.text == "At 9:40 (ref: evt_1)."
    assert conversation.unsaved == []


def test_at_most_one_cube_in_three_turns() -> None:
    """At most one cube per 3 turns (specification.md#remember-cube-rate)."""
    conversation = new_conversation()

    turns = [
        run_turn(conversation, CUBE, remember=remember_answer(cube=CUBE_MADE)) for _ in range(4)
    ]

    assert [completed.turn.cube_topic for completed in turns] == ["ferries", None, None, "ferries"]
    assert [completed.turn.duty for completed in turns] == [
        None,
        "cube_nothing",
        "cube_nothing",
        None,
    ]
    assert "`ferries` was left out" in turns[1].reply.remarks[0]
    assert (conversation.counts.cubes_made, conversation.counts.cubes_refused) == (2, 2)


def test_long_cube_is_cut_after_a_word_and_reported() -> None:
    """Topic 80, essence 200, rules 800 characters (specification.md#turn-cube-bounds)."""
    completed = run_turn(
        new_conversation(),
        f"A.\nCUBE: fact | {'topic ' * 20} | {'essence ' * 40} | {'rule ' * 300}",
    )
    parts = (completed.turn.cube_topic, completed.turn.cube_essence, completed.turn.cube_rules)

    assert [len(part) <= most for part, most in zip(parts, (80, 200, 800), strict=True)] == [
        True
    ] * 3
    assert [
        part.endswith(f"{word}\u2026")
        for part, word in zip(parts, ("topic", "essence", "rule"), strict=True)
    ] == [True] * 3
    assert [remark for remark in completed.reply.remarks if "was cut" in remark] == [
        "The cube's topic was cut to 80 characters.",
        "The cube's essence was cut to 200 characters.",
        "The cube's rule was cut to 800 characters.",
    ]


# Ratings


def test_ratings_become_votes_and_one_duty() -> None:
    """A rating of 0 is a `vote_nothing` (specification.md#cube-rating-zero)."""
    cubes = [cube("c_1"), cube("c_2"), cube("c_3"), cube("c_4", note="private, 1 vote")]

    completed = run_turn(
        new_conversation(),
        "A.\nRATE: c_1 +1\nRATE: c_2 0 about ships\nRATE: c_4 -1 wrong",
        search=search_answer(*cubes),
    )

    assert completed.steps[-3:] == ["vote", "vote", "duty"]
    assert [(vote.cube_id, vote.vote, vote.reason) for vote in completed.bodies["vote"]] == [
        ("c_1", 1, None),
        ("c_4", -1, "wrong"),
    ]
    [duty] = completed.bodies["duty"]
    assert (duty.duty, duty.duty_reason, duty.query) == (
        "vote_nothing",
        "c_2: about ships; c_3: the agent did not say",
        None,
    )


def test_failed_votes_and_duties_are_reported() -> None:
    completed = run_turn(
        new_conversation(),
        "A.\nRATE: c_1 +1",
        search=search_answer(cube("c_1"), cube("c_2")),
        vote=error_answer(404, "not_found"),
        duty=UNREACHABLE,
    )

    assert [remark.partition(":")[0] for remark in completed.reply.remarks] == [
        "A vote was not counted",
        "A duty was not closed",
    ]
    assert completed.reply.text == "A."


# Summaries


def test_due_summary_is_requested_and_sent() -> None:
    """An L1 is due after 15 turns (specification.md#duty-l1-due)."""
    conversation = new_conversation()
    run_turn(conversation, GOOD, remember=remember_answer(l1_due=True))

    first = run_turn(conversation, "A.", remember=remember_answer(l1_due=True))
    second = run_turn(conversation, "A.\nL1: ferries were asked for", remember=remember_answer())
    after = run_turn(conversation, "A.\nL1: unasked")

    assert "an L1 line" in first.prompts[0][-1]["content"]
    assert (first.turn.l1_summary, second.turn.l1_summary, after.turn.l1_summary) == (
        None,
        "ferries were asked for",
        None,
    )
    assert "none is due" in after.reply.remarks[0]
    assert (conversation.counts.summaries_due, conversation.counts.summaries_written) == (2, 1)


L2_DUE = search_answer(
    reminders=["An L2 is due: 2 L1s are not in the map."],
    l2_source={
        "map_text": "The old map.",
        "summaries": [
            {"l1_id": "l1_1", "session_id": "another", "text": "Older."},
            {"l1_id": "l1_2", "session_id": "default", "text": "Newer."},
        ],
        "left_out": 0,
    },
)


def test_due_map_is_requested_with_its_source_texts() -> None:
    """An L2 is due after 10 L1s of the user (specification.md#duty-l2-due)."""
    completed = run_turn(new_conversation(), "A.\nL2: ferries", search=L2_DUE)

    assert "  The old map.\n  \n  Older.\n  \n  Newer." in completed.prompts[0][-1]["content"]
    assert completed.turn.l2_map == "ferries"
    assert "map" not in completed.steps


@pytest.mark.parametrize("answer", [MAP_UPDATED, UNREACHABLE])
def test_service_rebuilds_the_map_if_the_agent_wrote_none(answer: Any) -> None:
    completed = run_turn(new_conversation(), "A.", search=L2_DUE, map=answer)

    steps = ["search", "draft", "remember", "second look", "map"]
    assert (completed.steps, completed.reply.text) == (steps, "A.")


def test_cube_with_a_line_like_ours_is_left_out_and_the_turn_is_saved() -> None:
    """The service would refuse the whole turn (specification.md#cube-lines)."""
    completed = run_turn(new_conversation(), "A.\nCUBE: fact | t | [event e_1] x | r")

    assert completed.turn.cube_essence is None
    assert completed.turn.duty == "cube_nothing"
    assert completed.turn.response == "A."


def test_a_rating_without_its_reason_is_repaired_in_the_next_turn() -> None:
    """The agent is told (specification.md#turn-rating-reason)."""
    conversation = new_conversation()
    shown = search_answer(shared_cubes=[cube("c_1")])
    first = run_turn(conversation, "A.\nRATE: c_1 -1", search=shown)
    second = run_turn(conversation, "B.\nRATE: c_1 -1 It is about another gate.")

    assert "vote" not in first.bodies
    assert any("c_1 was not counted" in remark for remark in first.reply.remarks)
    assert "c_1 was not counted: write it again" in second.prompts[0][-1]["content"]
    assert [(vote.cube_id, vote.vote) for vote in second.bodies["vote"]] == [("c_1", -1)]


@pytest.mark.parametrize("error", [UNREACHABLE, error_answer(401, "This key is not valid.")])
def test_an_error_of_memory_is_told_to_the_developer_alone(error: Any) -> None:
    """See specification.md#turn-search-failed."""
    reply = run_turn(new_conversation(without_memory="stop"), "A.", search=error).reply

    assert "Memory is not available" in reply.text
    assert not any(word in reply.text for word in ("connection", "key", "401", "serve"))
    assert str(reply.failures[0]) in reply.remarks[0]
