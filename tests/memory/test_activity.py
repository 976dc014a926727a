"""Recent activity of an account: bounded reads that use indexes, by account and by user."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory.asking import Memory

from remembrancer.accounts import PinnedToOtherUser
from remembrancer.memory.history.activity import (
    SearchUnknown,
    active_users,
    count_searches,
    list_searches,
    review_search,
    turns_by_day,
)


def test_pinned_key_sees_its_own_user_alone(memory: Memory) -> None:
    memory.tell("q", "r")
    memory.tell("q", "r", user_id="bo")
    caller = replace(memory.caller, is_owner=False, pinned_user_id="bo")

    assert [user.user_id for user in active_users(memory.context, caller)] == ["bo"]
    with pytest.raises(PinnedToOtherUser):
        list_searches(memory.context, caller, user_id="ada")
    with pytest.raises(PinnedToOtherUser):
        turns_by_day(memory.context, caller, "ada")


def test_search_records_what_it_gave(memory: Memory) -> None:
    """specification.md#console-searches."""
    memory.tell("Where is the saw?", "In the shed.", session_id="old")
    answer = memory.ask("Where is the saw?", interact=True, session_id="s")
    memory.tell("Where is the saw?", "In the shed (ref: e_x).", session_id="s")

    [trace], _ = list_searches(memory.context, memory.caller)

    assert (trace.answerable, trace.best) == (answer.answerable, answer.hits[0].score)
    assert [(one.event_id, one.score, one.response) for one in trace.got] == [
        (hit.event_id, hit.score, hit.response) for hit in answer.hits
    ]
    assert (trace.tokens, trace.ms is not None and trace.ms > 0) == (7, True)
    assert trace.turn is not None
    assert trace.turn.cites


def test_week_counts_questions_answered_then_or_since(memory: Memory) -> None:
    """Answered and missed are all of them (specification.md#console-answered)."""
    since_ms = memory.context.clock()
    for session_id in ("answered", "dismissed", "missed"):
        memory.ask("Where is the saw?", interact=True, session_id=session_id)
    for session_id, review in (("answered", 1), ("dismissed", 2)):
        review_search(memory.context, memory.caller, "ada", session_id, 1, review)

    missed, _ = list_searches(memory.context, memory.caller, missed=True)

    assert count_searches(memory.context, memory.caller, since_ms=since_ms) == (2, 1)
    assert [one.session_id for one in missed] == ["missed"]
    with pytest.raises(SearchUnknown):
        review_search(memory.context, memory.caller, "ada", "missed", 2, 1)
