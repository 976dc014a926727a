"""The entries of a session in chronological order, and the list of sessions."""

from __future__ import annotations

from typing import Any

import pytest
from memory.asking import Memory, memory_in

from remembrancer.cubes.lessons import vote
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
