"""The entries of a session in chronological order, and the list of sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from memory.asking import Memory, memory_in

from remembrancer.accounts.usage import usage_of
from remembrancer.cubes.lessons import vote
from remembrancer.memory.exchange import importer
from remembrancer.memory.history.browse import (
    TURNS_SHOWN_MAX,
    Timeline,
    list_sessions,
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


@pytest.mark.parametrize(
    ("last_seal", "seal"),
    [(render(1), "right"), (None, "missing"), (render(7), "wrong"), ("sealed", "wrong")],
)
def test_seal_status_is_set_by_the_next_search(
    memory: Memory, last_seal: str | None, seal: str
) -> None:
    memory.ask("q", interact=True)
    memory.ask("q", interact=True, last_seal=last_seal)

    assert [one.seal for one in session_page(memory).entries] == [seal, ""]


def test_summaries_facts_and_lessons_are_listed_in_order(memory: Memory, later: Any) -> None:
    memory.tell("q1", "r1", cube_topic="t", cube_essence="e", cube_rules="- MUST")
    later()
    memory.tell("q2", "r2")
    later()
    memory.add(l1_summary="r1, then r2")
    later()
    memory.add(critical="alone")
    result = session_page(memory)

    assert [one.kind for one in result.entries] == ["turn", "cube", "turn", "summary", "fact"]
    assert result.entries[3].row.turns == 2


def test_long_session_is_paged_without_gaps(memory: Memory, later: Any) -> None:
    many = 2 * TURNS_SHOWN_MAX + 5
    for n in range(many):
        memory.ask("zxqv", interact=True)
        later()
        memory.tell(f"q{n}", f"r{n}", critical=f"fact {n}")
        later()
    pages = [session_page(memory)]
    while pages[-1].earlier:
        pages.append(session_page(memory, until=pages[-1].earlier))
    answer = [one for page in reversed(pages) for one in page.entries]

    turns = [[one for one in page.entries if one.kind == "turn"] for page in pages]
    assert [len(page) for page in turns] == [TURNS_SHOWN_MAX, TURNS_SHOWN_MAX, 5]
    assert [one.kind for one in answer] == ["search", "turn"] * many
    assert [one.row.step for one in answer[::2]] == list(range(1, many + 1))
    assert [one.row.response for one in answer[1::2]] == [f"r{n}" for n in range(many)]


def test_session_with_only_searches_is_listed(memory: Memory) -> None:
    memory.ask("q", interact=True, session_id="asked")
    [one], _ = list_sessions(memory.context, memory.caller, "ada")

    assert (one.session_id, one.turns, one.steps, one.query) == ("asked", 0, 1, "")


# Turns of an import: shown at the time they belong to, in their order, counted apart.


def import_lines(memory: Memory, folder: Path, times: list[str]) -> None:
    """Import turns q1, q2, … of the session `old` that occurred at these times."""
    turns = [{"query": f"q{n}", "occurred_at": time} for n, time in enumerate(times, 1)]
    more = {"response": "r", "session_id": "old", "user_id": "ada"}
    path = folder / "chat.jsonl"
    path.write_text("\n".join(json.dumps(turn | more) for turn in turns))
    source = importer.read(memory.context, memory.caller, path)
    importer.store(memory.context, memory.caller, source)


def test_imported_turns_of_the_same_time_keep_the_order_of_the_file(
    memory: Memory, tmp_path: Path
) -> None:
    import_lines(memory, tmp_path, ["2025-03-01T10:00:00Z"] * 5)

    queries = [one.row.query for one in session_page(memory, "old").entries]
    assert queries == ["q1", "q2", "q3", "q4", "q5"]


def test_imported_turns_are_sorted_dated_and_counted_apart(memory: Memory, tmp_path: Path) -> None:
    memory.tell("q", "r", session_id="today")
    times = ["2025-03-03T10:00:00Z", "2025-03-01T10:00:00Z", "2025-03-02T10:00:00Z"]
    import_lines(memory, tmp_path, times)
    sessions, _ = list_sessions(memory.context, memory.caller, "ada")
    usage = usage_of(memory.context, memory.caller)
    memory.ask("q", interact=True, session_id="old")
    memory.tell("now?", "yes", session_id="old")

    result = session_page(memory, "old")

    said = [getattr(one.row, "query", one.kind) for one in result.entries]
    assert said == ["q2", "q3", "q1", "search", "now?"]
    assert result.entries[0].at_ms == 1740823200000
    assert (result.row.turns, result.imported) == (4, 3)
    assert [row.session_id for row in sessions] == ["today", "old"]
    assert sessions[1].last_ms == 1740996000000
    assert (usage.total("imported"), usage.total("turn")) == (3, 0)
