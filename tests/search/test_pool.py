"""The pool of a search in a large space: whole events, the most promising ones and those beside
them. Compared with a plain computation over all parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from spaces import DAY_MS, START_MS

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
    quantize,
    repeated,
    unpack,
)
from remembrancer.search.ranking import POOL_PARTS_MAX

DIMENSIONS = 8
QUERY = "Which harbour has the blue lighthouse?"
WORDS = ("harbour", "lighthouse", "blue", "ferry", "market", "garden", "violin", "copper")


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory and a query vector."""

    view: IndexView
    vector: np.ndarray

    def ranking(self, **options: np.ndarray) -> Ranking:
        """Return the ranking of QUERY."""
        question = parse_query(QUERY, self.view.languages)
        return Ranking(
            self.view,
            question,
            lexical_scores(self.view, question.words),
            cosines(self.view, self.vector),
            load_ranker("multilingual"),
            **options,
        )


@cache  # views are immutable
def memory(*, erased: int = 0, repetitions: int = 0, notices: int = 0) -> Memory:
    """Return a memory of events with one to five passages, more than a pool holds."""
    random = np.random.default_rng(3)
    index = SpaceIndex(DIMENSIONS)
    rows = []
    events = POOL_PARTS_MAX
    for number in range(events):
        words = " ".join(random.choice(WORDS, 4)) + f" note{number % 997}"
        notice = "<system-reminder>The build is red.</system-reminder>" if number < notices else ""
        parts = analyze(
            query=f"{words} {notice}",
            response=" ".join([f"{words}."] * 200) if number % 50 == 0 else words,
            topic=None,
            occurred_ms=START_MS + number * DAY_MS // 100,
        )
        blob = pack(parts)
        blob = repeated(blob) if number % 40 < repetitions else blob
        vectors = random.normal(size=(len(parts), DIMENSIONS)).astype("f4")
        rows.append((number, number // 12, 0, blob, quantize(vectors).tobytes()))
    index.add(unpack(rows, DIMENSIONS), events)
    for number in range(0, 7 * erased, 7):
        index.erase(number)
    return Memory(index.view(), random.normal(size=DIMENSIONS).astype("f4"))


@pytest.mark.parametrize(
    "options", [{}, {"erased": 300}, {"repetitions": 4}, {"notices": 50}], ids=str
)
def test_pool_has_the_best_parts_and_the_turns_beside_them(options: dict[str, int]) -> None:
    result = memory(**options).ranking()
    view = result.view
    promise = result.base_of(np.arange(view.size)) - (view["flags"] & 16 > 0)
    promise[~result.allowed] = -np.inf
    best = np.argsort(-promise, kind="stable")[: POOL_PARTS_MAX // 8]

    pool = set(result.pool.tolist())
    assert set(best.tolist()) <= pool
    # Repetitions are promising only by the score that they lack.
    top = best[np.argsort(-result.base_of(best), kind="stable")[: POOL_PARTS_MAX // 16]]
    beside = {int(view[side][part]) for part in top for side in ("previous", "next")} - {-1}
    assert {part for part in beside if result.allowed[part]} <= pool


def test_lifted_event_joins_the_pool_with_all_its_parts() -> None:
    result = memory().ranking()
    worst = int(np.argmin(result.base_of(np.arange(result.view.size))))
    event = int(result.view["event"][worst])
    assert worst not in result.pool

    result.scores(Known(focus={event: 5.0}))

    parts = np.flatnonzero(result.view["event"] == event)
    assert set(parts.tolist()) <= set(result.pool.tolist())
