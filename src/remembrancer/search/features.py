"""The features of events for a query: what the ranker (ranker.py) weighs.

They are computed for the events of a pool. A turn has two sides, the user's words (`query`) and the
response to them; each side may have several passages, called parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .scoring import K1, B, idf_of, nearness_to, query_term_weights
from .text.analysis import QUERY, QUESTION, TIME, asks_for_many

if TYPE_CHECKING:
    from .ranking import Ranking

Array: TypeAlias = npt.NDArray[Any]

# Of an event; those of a side have the side's name.
EVENT_FEATURES = (
    "text", "dense", "best", "second",
    "query_text", "response_text", "query_dense", "response_dense", "query_best", "response_best",
    "turn_text", "query_turn_text", "covered", "coverage", "query_coverage",
    "cosine", "query_cosine",
    "previous", "next", "around", "previous_short", "next_short", "previous_asks",
    "session", "session_covered",
    "speaker", "speaker_best", "date", "time", "when_time", "recency",
    "asks", "length", "query_length", "brevity",
    "similar",
)  # fmt: skip
# Of the query and its space: the same for all events of a search.
CONTEXT_FEATURES = (
    "characters", "content_words", "asks_when", "is_question", "asks_for_many",
    "response_share", "events", "best_cosine", "best_coverage", "spread",
)  # fmt: skip
FEATURES = EVENT_FEATURES + CONTEXT_FEATURES
# FEATURES grouped as people think of them; the others describe how a turn or a query is written.
SIGNALS = {
    "text": (
        "text", "query_text", "response_text", "turn_text", "query_turn_text", "covered",
        "coverage", "query_coverage", "best_coverage",
    ),
    "dense": (
        "dense", "query_dense", "response_dense", "cosine", "query_cosine", "best_cosine",
    ),
    "text and dense": ("best", "second", "query_best", "response_best", "spread"),
    "neighbour": (
        "previous", "next", "around", "previous_short", "next_short", "previous_asks",
    ),
    "session": ("session", "session_covered"),
    "speaker": ("speaker", "speaker_best"),
    "date": ("date", "time", "when_time", "asks_when", "recency"),
    "similar": ("similar",),
}  # fmt: skip
# What tells whether a memory answers a query: the best cosine, the largest share of the query's
# words in one event, how many words those are, how many events had the chance to fit, and by how
# much the best event stands out.
EVIDENCE = (
    "cosine", "covered", "cosine_covered", "content_words", "words_covered", "events",
    "lead",
)  # fmt: skip
QUICK = ("best", "session", "query_text")  # of which cheap scores are made
CANDIDATES_MAX = 200  # events of a pool that the network scores; the others follow them
SHORT_WORDS = 60  # of an event that is half as much lifted by its neighbours as a very short one
FEW_EVENTS = 10  # in a memory of so many events, neighbours and the mean score count half
BEST_OF_SESSION = 3  # other events of a session that count for its score
BEST_SIMILAR = 3  # events to which the others are compared
BEST_OF_ALL = 10  # events that count for the spread of the scores
SPREAD_MIN = 0.1  # of logarithms of lengths; if all are alike, small differences must not matter
SHARE_MAX = 1.5  # logarithm of the ratio of the words of responses and of users that counts as 1


@dataclass(frozen=True)
class PoolEvents:
    """The E events of a pool of P parts, in the order of their numbers."""

    ranking: Ranking

    @cached_property
    def parts(self) -> Array:
        """The parts of the pool: (P,), places in the view, ascending."""
        return self.ranking.pool

    @cached_property
    def firsts(self) -> Array:
        """The place in the pool of the first part of each event: (E,)."""
        return starts_of_runs(self.ranking.view["event"][self.parts])

    @cached_property
    def numbers(self) -> Array:
        """The numbers of the events within the space: (E,)."""
        return self.ranking.view["event"][self.parts[self.firsts]]

    @cached_property
    def of_part(self) -> Array:
        """The place of the event of each part: (P,)."""
        place = np.zeros(len(self.parts), "i4")
        place[self.firsts[1:]] = 1
        return np.cumsum(place)

    @cached_property
    def is_query(self) -> Array:
        """Which parts are the user's words: (P,) bool."""
        is_query: Array = self.ranking.view["side"][self.parts] == QUERY
        return is_query

    @cached_property
    def is_own(self) -> Array:
        """Which parts somebody said, not programs: (P,) bool."""
        notices = self.ranking.notices
        return np.ones(len(self.parts), bool) if notices is None else ~notices[self.parts]

    @cached_property
    def best(self) -> Array:
        """The best base score of the parts of each event: (E,)."""
        return self.most(self.ranking.base[self.parts])

    @cached_property
    def places_of_best(self) -> Array:
        """The place in the pool of the best part of each event, the first of equals: (E,)."""
        is_best = np.flatnonzero(self.ranking.base[self.parts] >= self.best[self.of_part])
        return is_best[starts_of_runs(self.of_part[is_best])]

    @property
    def best_parts(self) -> Array:
        """The part of each event that fits best: (E,), places in the view."""
        return self.parts[self.places_of_best]

    @cached_property
    def sessions(self) -> tuple[Array, Array]:
        """Order the events by session: their places (E,), and where each session starts there."""
        session = self.ranking.view["session"][self.parts[self.firsts]]
        order = np.argsort(session, kind="stable")
        return order, starts_of_runs(session[order])

    def most(self, values: Array) -> Array:
        """Return the largest value of the parts of each event: (P,) to (E,)."""
        return np.maximum.reduceat(values, self.firsts)

    def most_of_side(self, values: Array, *, is_query: bool) -> Array:
        """Return the largest value, at least 0, of the parts of one side of each event: (E,)."""
        return self.most(np.where(self.is_query == is_query, values, np.float32(0)))

    def neighbours(self, column: str) -> Array:
        """Return the places of the events before or after each in its session; -1 for none.

        `column` is `previous` or `next`.
        """
        ends = np.append(self.firsts[1:], len(self.parts)) - 1
        edge = self.firsts if column == "previous" else ends
        view = self.ranking.view
        part = view[column][self.parts[edge]]
        part = np.where(part < view.size, part, -1)
        number = view["event"][part]
        place = np.minimum(np.searchsorted(self.numbers, number), len(self.numbers) - 1)
        return np.where((part >= 0) & (self.numbers[place] == number), place, -1)


def quick_scores(features: Array) -> Array:
    """Return cheap scores of events, to choose those that the network scores: (E,)."""
    return _quick(*(features[:, EVENT_FEATURES.index(name)] for name in QUICK))


def _quick(best: Array, session: Array, query_text: Array) -> Array:
    scores: Array = best + 0.3 * session + 0.3 * query_text
    return scores


def evidence_of(features: Array, scores: Array, average: float) -> Array:
    """Return what tells whether any of the events answers a query: (len(EVIDENCE),).

    `scores` are those of the ranker, (E,), and `average` is that of an average event.
    """
    if not len(features):
        return np.zeros(len(EVIDENCE), "f4")
    first = dict(zip(FEATURES, features[0].tolist(), strict=True))
    covered = float(features[:, EVENT_FEATURES.index("covered")].max())
    cosine, words, events = first["best_cosine"], first["content_words"], first["events"]
    best = np.sort(scores)[::-1][:CANDIDATES_MAX]
    # As if FEW_EVENTS average ones were beside them: a single event stands out from nothing.
    mean = (float(best.sum()) + FEW_EVENTS * average) / (len(best) + FEW_EVENTS)
    lead = float(best[0]) - mean
    return np.array([cosine, covered, cosine * covered, words, words * covered, events, lead])


def features_of(events: PoolEvents) -> Array:
    """Return the features of the events of a pool: (E, len(FEATURES)), float32."""
    if not len(events.parts):
        return np.zeros((0, len(FEATURES)), "f4")
    columns: dict[str, Any] = (
        _of_best_parts(events)
        | _of_words(events)
        | _of_neighbours(events)
        | _of_time_and_speaker(events)
        | _of_form(events)
    )
    columns["session"] = _session_of_others(events)
    columns["similar"] = _similarity(events, columns)
    columns |= _of_context(events, columns)
    features = np.empty((len(events.firsts), len(FEATURES)), "f4")
    for place, feature in enumerate(FEATURES):
        features[:, place] = columns[feature]
    return features


def _of_best_parts(events: PoolEvents) -> dict[str, Array]:
    ranking, parts = events.ranking, events.parts
    base = ranking.base[parts]
    text, dense, coverage, cosine = (
        values[parts] * events.is_own
        for values in (ranking.text, ranking.dense, ranking.lexical.coverage, ranking.cosine)
    )
    others = base.copy()
    others[events.places_of_best] = 0
    columns = {
        "text": events.most(text),
        "dense": events.most(dense),
        "best": events.best,
        "second": events.most(others),
        "coverage": events.most(coverage),
        "query_coverage": events.most_of_side(coverage, is_query=True),
        "cosine": events.most(cosine),
        "query_cosine": events.most_of_side(cosine, is_query=True),
    }
    for name, is_query in (("query", True), ("response", False)):
        columns[f"{name}_text"] = events.most_of_side(text, is_query=is_query)
        columns[f"{name}_dense"] = events.most_of_side(dense, is_query=is_query)
        columns[f"{name}_best"] = events.most_of_side(base, is_query=is_query)
    return columns


def _of_words(events: PoolEvents) -> dict[str, Array]:
    """Score the query's words in whole events, in the user's side, and in sessions.

    BM25 of an event counts its words together, so that a long answer with one word in each of its
    passages is not lost beside a passage that has two.
    """
    ranking, view = events.ranking, events.ranking.view
    count, zero = len(events.firsts), np.zeros(len(events.firsts), "f4")
    words = query_term_weights(ranking.question.words)
    place = np.full(view.size, -1, "i4")
    place[events.parts] = np.where(events.is_own, np.arange(len(events.parts)), -1)
    keys: list[Array] = []
    counts: list[Array] = []
    is_query: list[Array] = []
    idfs: list[float] = []
    first_terms: list[int] = []
    for word in words:
        first_terms.append(len(idfs))
        for term, weight in word.terms.items():
            parts, counted = view.find(term)
            at = place[parts]
            at, counted = at[at >= 0], counted[at >= 0]
            keys.append(len(idfs) * count + events.of_part[at])
            counts.append(counted)
            is_query.append(events.is_query[at])
            idfs.append(weight * idf_of(view.frequency(term), view.alive_parts))
    if not idfs:
        return dict.fromkeys(("turn_text", "query_turn_text", "covered", "session_covered"), zero)
    key, counted, of_query = map(np.concatenate, (keys, counts, is_query))
    shape = (len(idfs), count)
    idf = np.array(idfs, "f4")[:, None]
    whole = np.bincount(key, counted, len(idfs) * count).reshape(shape)
    query = np.bincount(key[of_query], counted[of_query], len(idfs) * count).reshape(shape)
    mass = np.maximum.reduceat(idf[:, 0], first_terms)
    has = np.logical_or.reduceat(whole > 0, first_terms, axis=0)
    total = float(mass.sum()) or 1.0
    order, starts = events.sessions
    in_session = np.logical_or.reduceat(has[:, order], starts, axis=1)
    session_covered = np.empty(count, "f4")
    session_covered[order] = np.repeat(mass @ in_session / total, np.diff(np.append(starts, count)))
    return {
        "turn_text": _bm25(whole, idf, _lengths(events, query_only=False)),
        "query_turn_text": _bm25(query, idf, _lengths(events, query_only=True)),
        "covered": mass @ has / total,
        "session_covered": session_covered,
    }


def _bm25(counts: Array, idf: Array, lengths: Array) -> Array:
    """Return BM25 of events, stretched to 0..1: counts (T, E), idf (T, 1), lengths (E,)."""
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
    score = (idf * (K1 + 1) * counts / (counts + norm)).sum(axis=0)
    return stretched(score, float(score.min()), float(score.max()))


def _lengths(events: PoolEvents, *, query_only: bool) -> Array:
    length = events.ranking.view["length"][events.parts].astype("f4")
    if query_only:
        length = np.where(events.is_query, length, 0)
    return np.add.reduceat(length, events.firsts)


def _of_neighbours(events: PoolEvents) -> dict[str, Array]:
    """Return the best base scores of the events beside each in its session."""
    previous, following = events.neighbours("previous"), events.neighbours("next")
    # Among few events nearly all are adjacent to the best one, which tells nothing.
    share = np.float32(len(events.best) / (len(events.best) + FEW_EVENTS))
    best = np.append(events.best * share, np.float32(0))  # place -1, a missing neighbour, has 0
    question_flags = np.append(_is_question(events), np.float32(0))
    second = np.where(previous >= 0, previous[previous], -1)
    after_next = np.where(following >= 0, following[following], -1)
    brevity = _brevity(events)
    return {
        "previous": best[previous],
        "next": best[following],
        "around": np.maximum(best[second], best[after_next]),
        "previous_short": best[previous] * brevity,
        "next_short": best[following] * brevity,
        "previous_asks": best[previous] * question_flags[previous],
    }


def _session_of_others(events: PoolEvents) -> Array:
    """Return how well the other events of each session fit, less the mean of all: (E,).

    The mean of the three best of the others; 0 for the only event of a session, and in the only
    session. Its own score is left out, because it would only be repeated.
    """
    order, starts = events.sessions
    count = len(order)
    if len(starts) == 1:
        return np.zeros(count, "f4")
    sizes = np.diff(np.append(starts, count))
    group = np.repeat(np.arange(len(starts)), sizes)
    by_score = np.argsort(2.0 * group - events.best[order], kind="stable")  # scores are 0..1
    best = events.best[order][by_score]
    rank = np.arange(count) - starts[group]
    top = np.add.reduceat(np.where(rank < BEST_OF_SESSION, best, 0), starts)[group]
    fourth = np.add.reduceat(np.where(rank == BEST_OF_SESSION, best, 0), starts)[group]
    size = sizes[group]
    others = np.where(rank < BEST_OF_SESSION, top + fourth - best, top)
    mean = others / np.maximum(np.minimum(size - 1, BEST_OF_SESSION), 1)
    has_others = size > 1
    middle = float(mean[has_others].mean()) if has_others.any() else 0.0
    # Shrunk for a short session: of two events, the worse one has the better other one.
    result = np.zeros(count, "f4")
    result[order[by_score]] = np.where(has_others, (mean - middle) * (size - 1) / (size + 1), 0)
    return result


def _similarity(events: PoolEvents, columns: dict[str, Array]) -> Array:
    """Return how much each event is like the best others, less the mean: (E,).

    The mean cosine of its vector with those of the BEST_SIMILAR best events, without itself; 0 for
    events that are no candidates. Source: Rocchio, "Relevance Feedback in Information Retrieval",
    1971.
    """
    result = np.zeros(len(events.firsts), "f4")
    quick = _quick(*(columns[name] for name in QUICK))
    chosen = np.argsort(-quick, kind="stable")[:CANDIDATES_MAX]
    if len(chosen) <= 2 or not events.ranking.view.vectors:
        return result
    vectors = _event_vectors(events, chosen)
    best = chosen[:BEST_SIMILAR]
    # Weighted by how well they fit: where nothing fits, to be like it says nothing.
    cosines = (vectors @ vectors[: len(best)].T) * columns["best"][best]
    own = np.arange(len(best))
    cosines[own, own] = 0
    counts = np.full(len(chosen), len(best), "f4")
    counts[: len(best)] -= 1
    similar = cosines.sum(axis=1) / counts
    result[chosen] = similar - similar.mean()
    return result


def _event_vectors(events: PoolEvents, chosen: Array) -> Array:
    """Return the mean vector of the parts of some events, of length 1: (chosen, dimensions)."""
    ends = np.append(events.firsts[1:], len(events.parts))
    firsts, sizes = events.firsts[chosen], (ends - events.firsts)[chosen]
    starts = np.cumsum(sizes) - sizes
    parts = events.parts[np.arange(int(sizes.sum())) + np.repeat(firsts - starts, sizes)]
    view = events.ranking.view
    rows = np.empty((len(parts), view.vectors[0].shape[1]), "f4")
    end = 0
    for block in view.vectors:
        first, end = end, end + len(block)
        inside = (parts >= first) & (parts < end)
        rows[inside] = block[parts[inside] - first]
    norm = view["norm"][parts]
    rows /= np.where(norm > 0, norm, 1)[:, None]
    # np.add.reduceat takes five times as long for rows of this width.
    sums = rows[starts]
    for nth in range(1, int(sizes.max())):
        longer = np.flatnonzero(sizes > nth)
        sums[longer] += rows[starts[longer] + nth]
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    vectors: Array = sums / np.where(length > 0, length, 1)[:, None]
    return vectors


def _of_time_and_speaker(events: PoolEvents) -> dict[str, Array]:
    ranking, view = events.ranking, events.ranking.view
    is_speaker = ranking.named_speaker()[events.parts]
    time = events.most((view["flags"][events.parts] & TIME > 0).astype("f4"))
    moment = ranking.question.moment
    occurred = view["occurred_ms"][events.parts[events.firsts]]
    has_date = moment is not None and moment.month is not None
    return {
        "speaker": events.most(is_speaker),
        "speaker_best": events.most(is_speaker * ranking.base[events.parts]),
        "date": (
            nearness_to(occurred, moment)
            if has_date and moment is not None
            else np.zeros(len(occurred), "f4")
        ),
        "time": time,
        "when_time": time * float(ranking.question.asks_when),
        "recency": np.arange(1, len(occurred) + 1) / len(occurred),
    }


def _of_form(events: PoolEvents) -> dict[str, Array]:
    return {
        "asks": _is_question(events),
        "length": _standard(np.log1p(_lengths(events, query_only=False))),
        "query_length": _standard(np.log1p(_lengths(events, query_only=True))),
        "brevity": _brevity(events),
    }


def _of_context(events: PoolEvents, columns: dict[str, Array]) -> dict[str, float]:
    """Return what the query and the space are like."""
    question = events.ranking.question
    whole, query = (_lengths(events, query_only=only) for only in (False, True))
    ratio = (float((whole - query).mean()) + 1) / (float(query.mean()) + 1)
    best = np.sort(columns["best"])[-BEST_OF_ALL:]
    return {
        "characters": float(np.log1p(len(question.text))),
        "content_words": float(np.log1p(sum(not word.is_stop for word in question.words))),
        "asks_when": float(question.asks_when),
        "is_question": float(question.text.rstrip().endswith(("?", "？", "؟"))),
        "asks_for_many": float(asks_for_many(question.text)),
        "response_share": float(np.clip(np.log(ratio), 0, SHARE_MAX)) / SHARE_MAX,
        "events": float(np.log1p(len(events.firsts))),
        "best_cosine": float(columns["cosine"].max()),
        "best_coverage": float(columns["coverage"].max()),
        "spread": float(best.mean() - columns["best"].mean()),
    }


def _is_question(events: PoolEvents) -> Array:
    flags = events.ranking.view["flags"][events.parts]
    return events.most(((flags & QUESTION > 0) & events.is_query).astype("f4"))


def _brevity(events: PoolEvents) -> Array:
    brevity: Array = 1 / (1 + (_lengths(events, query_only=False) / SHORT_WORDS) ** 2)
    return brevity


def _standard(values: Array) -> Array:
    standard: Array = (values - values.mean()) / (values.std() + SPREAD_MIN)
    return standard


def starts_of_runs(ordered: Array) -> Array:
    """Return the start of each run of equal values."""
    is_first = np.empty(len(ordered), bool)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def stretched(values: Array, low: float, high: float) -> Array:
    """Scale values to 0..1: `low` becomes 0, `high` becomes 1."""
    # np.clip has a higher overhead.
    return np.minimum(np.maximum((values - low) / (high - low + 1e-9), 0), 1).astype("f4")
