"""The index of a space: built, sealed, merged, erased; and the pool of a large one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spaces import DAY_MS, START_MS, batch

from remembrancer.search import (
    IndexCache,
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
from remembrancer.search.index import space_index as index_module
from remembrancer.search.index.space_index import find_terms, merge_runs, seal_run
from remembrancer.search.ranking import POOL_PARTS_MAX
from remembrancer.search.text.analysis import term

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
EVENTS = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS), st.integers(1, 3)),
    min_size=1,
    max_size=40,
)


def build_index(events, cuts):
    """Return an index of these events, added in batches split at these positions."""
    index = SpaceIndex(0)
    places = [0, *sorted(set(cuts)), len(events)]
    for low, high in pairwise(places):
        some = events[low:high]
        index.add(
            batch([(a, b) for a, b, _ in some], first=low, sessions=[s for _, _, s in some]), high
        )
    return index


@given(EVENTS, st.lists(st.integers(0, 40), max_size=5))
def test_index_built_in_batches_equals_one_built_at_once(events, cuts):
    whole, pieces = (
        build_index(events, []).view(),
        build_index(events, [cut for cut in cuts if cut < len(events)]).view(),
    )

    for column in whole.columns:
        assert whole[column].tolist() == pieces[column].tolist(), column
    for word in WORDS:
        assert [a.tolist() for a in whole.find(term(word))] == [
            a.tolist() for a in pieces.find(term(word))
        ]
    assert (whole.events, whole.words, whole.languages) == (
        pieces.events,
        pieces.words,
        pieces.languages,
    )


@given(EVENTS, st.integers(1, 60))
def test_sealing_the_tail_keeps_all_postings(events, most):
    plain = build_index(events, list(range(len(events)))).view()
    before = index_module.TAIL_POSTINGS_MAX
    index_module.TAIL_POSTINGS_MAX = most
    try:
        sealing = build_index(events, list(range(len(events)))).view()
    finally:
        index_module.TAIL_POSTINGS_MAX = before

    for word in WORDS:
        assert [a.tolist() for a in plain.find(term(word))] == [
            a.tolist() for a in sealing.find(term(word))
        ]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=20),
        min_size=1,
        max_size=4,
    )
)
def test_merged_runs_contain_the_entries_of_each(groups):
    expected, runs, part = defaultdict(list), [], 0
    for group in groups:
        parts = list(range(part, part + len(group)))
        part += len(group)
        runs.append(
            seal_run(
                np.array([t for t, _ in group], "u4"),
                np.array(parts, "u4"),
                np.array([c for _, c in group], "u1"),
            )
        )
        for (one, count), place in zip(group, parts, strict=True):
            expected[one].append((place, count))

    together = merge_runs(runs)
    for postings in ([together], runs):
        matches = find_terms(postings, np.arange(7, dtype="u4"))
        for one, (result, counts) in enumerate(matches):
            assert list(zip(result.tolist(), counts.tolist(), strict=True)) == expected[one]


def test_erased_event_is_removed_from_postings_and_statistics():
    index = build_index([("alpha", "beta", 1), ("alpha", "gamma", 1), ("delta", "alpha", 2)], [])
    before = index.view()
    assert index.erase(1)
    assert not index.erase(1)

    view, never = (
        index.view(),
        build_index([("alpha", "beta", 1), ("delta", "alpha", 2)], []).view(),
    )
    assert len(view.find(term("gamma"))[0]) == 0
    assert view.events == 2
    assert (view.words, view.alive_parts) == (never.words, never.alive_parts)
    assert len(before.find(term("gamma"))[0]) == 1  # a running search keeps its view


def test_steady_erasing_does_not_fill_the_memory():
    """Erased events leave the arrays, too: an index of mostly erased events is loaded again."""
    cache, sizes = IndexCache(memory_bytes=1 << 30, dimensions=0), []

    for number in range(3_000):
        oldest, end = max(number - 10, 0), number + 1

        def fill(index, oldest=oldest, end=end):
            start = max(index.next_event, oldest)
            words = [("alpha", "beta")] * (end - start)
            index.add(batch(words, first=start, sessions=[1] * len(words)), end)

        view = cache.view("space", revision=oldest, end=end, fill=fill)
        assert view.events == end - oldest
        sizes.append(cache.take("space").nbytes)
        if number >= 10:
            cache.erase("space", [oldest], since=oldest, revision=oldest + 1)

    assert max(sizes[1_000:]) <= max(sizes[:1_000])


@given(EVENTS, st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=5))
def test_index_of_segments_equals_one_of_rows(events, pieces):
    """A segment may have its place anywhere: before, between and after events from rows."""
    whole, index, low = build_index(events, []).view(), SpaceIndex(0), 0
    for size, is_segment in [*pieces, (len(events), False)]:
        some = events[low : low + size]
        if not some:
            continue
        words, sessions = [(a, b) for a, b, _ in some], [s for _, _, s in some]
        rows = batch(words, first=low, sessions=sessions)
        low += len(some)
        if is_segment:
            alone = SpaceIndex(0)
            alone.add(rows, low)
            index.attach(alone.as_range(), low)
        else:
            index.add(rows, low)
    view = index.view()

    for column in whole.columns:
        assert whole[column].tolist() == view[column].tolist(), column
    for word in WORDS:
        assert [a.tolist() for a in whole.find(term(word))] == [
            a.tolist() for a in view.find(term(word))
        ]
    for name in ("events", "words", "languages", "speakers", "flags", "alive_parts"):
        assert getattr(whole, name) == getattr(view, name), name


def test_index_beyond_the_budget_serves_one_search():
    """It is not cached, and the indexes of other spaces stay."""
    some = batch([("alpha beta", "gamma")] * 200)
    alone = SpaceIndex(0)
    alone.add(some, 200)
    cache = IndexCache(memory_bytes=alone.nbytes, dimensions=0)

    def fill(index, times):
        for place in range(times):
            more = batch([("alpha beta", "gamma")] * 200, first=200 * place)
            index.add(more, 200 * (place + 1))

    cache.view("short", revision=0, end=200, fill=lambda index: fill(index, 1))
    for _ in range(2):
        large = cache.view("large", revision=0, end=800, fill=lambda index: fill(index, 4))

        assert len(large.find(term("alpha"))[0]) == 800
        assert cache.holds("short", revision=0, end=200, within=0)
        assert not cache.holds("large", revision=0, end=1, within=0)


DIMENSIONS = 8
QUERY = "Which harbour has the blue lighthouse?"
POOL_WORDS = ("harbour", "lighthouse", "blue", "ferry", "market", "garden", "violin", "copper")


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
        words = " ".join(random.choice(POOL_WORDS, 4)) + f" note{number % 997}"
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
