"""The starter pack in an account, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from cubes.agents import Agent
from engines import ENGINES, empty_store

from remembrancer import testing
from remembrancer.accounts import KeyIsReadOnly
from remembrancer.context import Context
from remembrancer.cubes.account_lessons import AddedLessons, add_starter, list_cubes
from remembrancer.cubes.starter import load_starter
from remembrancer.store import open_store


@pytest.fixture(params=ENGINES)
def context(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    """Return a context on each engine in turn."""
    url = empty_store(str(request.param), tmp_path)
    with closing(testing.context(tmp_path, store=open_store(url, durability="normal"))) as opened:
        yield opened


def topics(agent: Agent) -> dict[str, str]:
    """Return the status of each cube of an account by its topic."""
    return {row.topic: row.status for row in list_cubes(agent.context, agent.caller)}


def test_starter_pack_is_added_once_and_published(ada: Agent, bob: Agent) -> None:
    """Its lessons are published at once (specification.md#pack-starter)."""
    count = len(load_starter())
    first, again = (add_starter(ada.context, ada.caller) for _ in range(2))

    assert (first.stored, first.published, first.refused) == (count, count, ())
    assert (again.stored, again.present) == (0, count)
    assert set(topics(ada).values()) == {"published"}
    assert "heapq" in bob.matching_cubes("heapq raises TypeError for equal priorities")[0].essence


def test_addition_during_another_one_stores_nothing_twice(ada: Agent) -> None:
    """Another one ends while this one prepares its cubes (specification.md#pack-known)."""
    others: list[AddedLessons] = []

    def interrupted_ids(prefix: str) -> str:
        if not others:
            others.append(add_starter(ada.context, ada.caller))
        return ada.context.ids(prefix)

    late = add_starter(replace(ada.context, ids=interrupted_ids), ada.caller)
    count = len(load_starter())

    assert [(one.stored, one.present) for one in (*others, late)] == [(count, 0), (0, count)]
    assert len(list_cubes(ada.context, ada.caller)) == count


def test_read_only_caller_adds_nothing(ada: Agent) -> None:
    with pytest.raises(KeyIsReadOnly):
        add_starter(ada.context, replace(ada.caller, read_only=True))
