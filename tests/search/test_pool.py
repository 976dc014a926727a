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


def plain_pool(result: Ranking) -> list[int]:
    """Return the parts of the pool by the definition, from the best parts of the ranking."""
    view, everything = result.view, np.arange(result.view.size)
    base = result.base_of(everything)
    pool = set(result.pool.tolist())
    events = {int(view["event"][part]) for part in pool}
    whole = [part for part in everything.tolist() if view["event"][part] in events]
    assert base[result.pool].max() == base[result.allowed].max()
    return [part for part in whole if result.allowed[part]]


@pytest.mark.parametrize(
    "options", [{}, {"erased": 300}, {"repetitions": 4}, {"notices": 50}], ids=str
)
def test_pool_has_all_parts_of_its_events(options: dict[str, int]) -> None:
    result = memory(**options).ranking()

    assert result.pool.tolist() == plain_pool(result)
    assert len(result.pool) < result.view.alive_parts


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


def test_period_limits_the_pool() -> None:
    whole = memory()
    among = np.arange(whole.view.size) % 3 > 0

    result = whole.ranking(among=among)

    assert result.pool.tolist() == plain_pool(result)
    assert among[result.pool].all()


@pytest.mark.parametrize("lifts", [{}, {3: 1.0, 4_000: 2.0}], ids=["none", "two events"])
def test_matching_events_are_counted_once(lifts: dict[int, float]) -> None:
    result = memory(erased=300).ranking()
    events = result.view["event"]
    matches = {int(number) for number in events[result.matches]}
    alive = {int(number) for number in events[result.allowed]}

    assert result.matching(Known(focus=dict.fromkeys(lifts, 1.0))) == len(
        (matches | set(lifts)) & alive
    )


def test_lifted_event_joins_the_pool_with_all_its_parts() -> None:
    result = memory().ranking()
    worst = int(np.argmin(result.base_of(np.arange(result.view.size))))
    event = int(result.view["event"][worst])
    assert worst not in result.pool

    result.scores(Known(focus={event: 5.0}))

    parts = np.flatnonzero(result.view["event"] == event)
    assert set(parts.tolist()) <= set(result.pool.tolist())


def test_ranks_count_the_larger_scores() -> None:
    result = memory().ranking()
    parts = result.pool[:40:9].tolist()

    events = result.view["event"][parts].tolist()
    ranks = [
        {name: rank for name, rank, _ in result.reasons(*one) if rank}
        for one in zip(events, parts, strict=True)
    ]

    cosine = result.cosine
    for part, own in zip(parts, ranks, strict=True):
        if cosine[part] > 0:
            assert own["dense"] == 1 + np.count_nonzero(cosine[result.pool] > cosine[part])
