"""Small indexed spaces for search tests, built from texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from remembrancer.search import (
    IndexView,
    Known,
    Ranking,
    SpaceIndex,
    analyze,
    cosines,
    lexical_scores,
    load_ranker,
    pack,
    parse_query,
    unpack,
)
from remembrancer.search.index.entries import EntryBatch

DAY_MS = 86_400_000
START_MS = 1_767_225_600_000  # 2026-01-01


def batch(
    events: Sequence[tuple[str, str]],
    *,
    first: int = 0,
    sessions: Sequence[int] = (),
    days: Sequence[int] = (),
) -> EntryBatch:
    """Return events (query, response) as index entries without vectors."""
    rows = []
    for at, (query, response) in enumerate(events):
        occurred_ms = START_MS + DAY_MS * (days[at] if days else 0)
        parts = analyze(query=query, response=response, topic=None, occurred_ms=occurred_ms)
        rows.append((first + at, sessions[at] if sessions else 1, occurred_ms, pack(parts), None))
    return unpack(rows, 0)


def space(*texts: str, sessions: Sequence[int] = (), days: Sequence[int] = ()) -> IndexView:
    """Return the index of a space with one event per text."""
    index = SpaceIndex(0)
    index.add(batch([(text, "") for text in texts], sessions=sessions, days=days), len(texts))
    return index.view()


def ranking(view: IndexView, query: str, focus: Sequence[str] = ()) -> Ranking:
    """Return the ranking of a search by text alone."""
    question = parse_query(query, view.languages)
    words = (
        *question.words,
        *(word for phrase in focus for word in parse_query(phrase, view.languages).words),
    )
    scores = lexical_scores(view, words), cosines(view, np.zeros(0, "f4"))
    return Ranking(view, question, *scores, load_ranker("none"))


def order(view: IndexView, query: str, lifts: dict[int, float] | None = None) -> list[int]:
    """Return the numbers of the matching events, best first."""
    return [one.event for one in ranking(view, query).ranked(Known(focus=lifts or {}), 100)]
