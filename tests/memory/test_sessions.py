"""Recent activity of an account, and the entries of a session in chronological order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from memory.asking import Memory, memory_in

from remembrancer.accounts import PinnedToOtherUser
from remembrancer.cubes.lessons import vote
from remembrancer.memory.history.activity import (
    SearchUnknown,
    active_users,
    count_searches,
    list_searches,
    review_search,
    turns_by_day,
)
from remembrancer.memory.history.browse import (
    Timeline,
    timeline,
)
from remembrancer.memory.remember import remember
from remembrancer.protocol.cubes import CubeMade, CubeVote
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.seal import render
from remembrancer.testing import FrozenClock


@pytest.fixture
def later(memory: Memory) -> Any:
    """Return a function that advances the clock by a second."""
    clock = memory.context.clock
    assert isinstance(clock, FrozenClock)
    return lambda: clock.advance(1000)


def session_page(memory: Memory, session_id: str = "default", **more: Any) -> Timeline:
    """Return a page of the session."""
    return timeline(memory.context, memory.caller, memory.user_id, session_id, **more)


def published_cube(memory: Memory) -> CubeMade:
    """Return a cube that another account shares."""
    other = memory_in(memory.context, "bob")
    lesson: dict[str, Any] = {
        "cube_topic": "ferry",
        "cube_essence": "The ferry is late in the summer months.",
        "cube_rules": "- MUST wait for the ferry before calling a taxi",
        "cube_publish": True,
    }
    turn = Turn(query="Why wait?", response="It is late.", **lesson)
    cube = remember(other.context, other.caller, turn).cube
    assert isinstance(cube, CubeMade)
    return cube


def test_session_lists_searches_turns_votes_and_duties_in_order(memory: Memory, later: Any) -> None:
    cube = published_cube(memory)
    event_id = memory.tell("When does the ferry leave?", "At nine.", session_id="before")
    later()
    memory.ask("ferry", interact=True)
    later()
    memory.tell("And the ferry back?", "At ten.", critical="The ferry runs twice a day.")
    later()
    vote(memory.context, memory.caller, CubeVote(cube_id=cube.cube_id, user_id="ada", vote=1))
    later()
    memory.add(duty="cube_nothing", duty_reason="nothing new")
    later()
    memory.ask("bill", interact=True, last_seal=render(1))

    result = session_page(memory)

    assert [one.kind for one in result.entries] == ["search", "turn", "vote", "duty", "search"]
    first, turn, voted, closed, second = result.entries
    assert (first.row.step, first.hits, first.duties, first.seal) == (1, [event_id], [], "right")
    assert (turn.row.response, turn.facts) == ("At ten.", ["The ferry runs twice a day."])
    assert (voted.row.cube_id, voted.row.vote) == (cube.cube_id, 1)
    assert (closed.row.duty, closed.row.reason) == ("cube_nothing", "nothing new")
    assert (second.row.step, second.row.hits, second.seal) == (2, 0, "")


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
