"""Rank the events of a view for a query: features, their weights, costs, and the order."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .index.space_index import IndexView
from .scoring import (
    K1,
    B,
    LexicalScores,
    RankedEvent,
    lengths_of_runs,
    mean_of,
    nearness_to,
    starts_of_runs,
)
from .text.analysis import (
    IN_SESSION,
    NOTICE,
    QUERY,
    QUESTION,
    REPEATED,
    SUSPECT,
    TIME,
    ParsedQuery,
    term,
    words,
)
from .text.languages import normalize

# --- A linear scale from the range of some scores to 0..1 ------------------------------------

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A linear scale from the range of some scores to 0..1."""

    low: float
    high: float
    cuts: bool  # some scores are outside of the range

    @classmethod
    def over(cls, scores: Array, among: Array | None) -> Stretch:
        """Return the scale that stretches some of these scores; `among` None: all."""
        values = scores if among is None else scores[among]
        if not len(values):
            return NOTHING
        return cls(float(values.min()), float(values.max()), cuts=among is not None)

    def apply(self, values: Array) -> Array:
        """Change values (float32) to this scale and return them; scores outside are cut to 0..1."""
        values -= self.low
        values /= self.high - self.low + RANGE_MIN
        if self.cuts:
            np.maximum(values, 0, out=values)
            np.minimum(values, 1, out=values)
        return values

    @property
    def slope(self) -> float:
        """The difference on this scale for a difference of 1."""
        return 1 / (self.high - self.low + RANGE_MIN)


NOTHING = Stretch(0.0, math.inf, cuts=False)  # all scores become 0


# --- Events whose scores are reduced: suspects, machine notices, near duplicates and old turns
# Nothing is hidden: they follow when a list is not full, and a query that quotes a notice finds it.

# Subtracted from the score of an event that looks like a prompt injection, which ranks it below
# similar events.
SUSPECT_COST = 5.0
# Subtracted from the score of an event that repeats a returned one, and of a passage that a program
# wrote. Scores differ by less, so these come after everything else, in this order.
REPEATED_COST, NOTICE_COST = 40.0, 80.0
AGE_COST = 5.0  # of a turn that is very old, if age counts; about a word of the question
# A query quotes a passage of a program if the passage has nearly all of its content words, at least
# this many, and no passage of somebody's words has as many.
QUOTED_WORDS_MIN = 6
QUOTED_COVERAGE_MIN = 0.95


@dataclass(frozen=True, slots=True)
class Decay:
    """Cost of the age of a turn: half of AGE_COST after one half-life, at most AGE_COST."""

    now_ms: int
    half_life_ms: int

    def cost(self, occurred_ms: Array) -> Array:
        """Return the cost (E,) of turns by the time they occurred; 0 for turns to come."""
        age = np.maximum(self.now_ms - occurred_ms, 0) / self.half_life_ms
        cost: Array = (AGE_COST * (1 - np.exp2(-age))).astype("f4")
        return cost


def suspects_in(view: IndexView) -> Array:
    """Return the numbers of the events of a view that look like a prompt injection.

    A notice has its own cost, and must not lower the words beside it.
    """
    if not view.flags & SUSPECT:
        return view["event"][:0]
    flags = view["flags"] & (SUSPECT | NOTICE)
    return view["event"][np.flatnonzero(flags == SUSPECT)]


def unquoted_notices(
    view: IndexView, question: ParsedQuery, coverage: Array, allowed: Array
) -> Array | None:
    """Return the passages that programs wrote and the query does not quote: (size,) bool.

    `coverage`, (size,), is the share of the query's words in each passage. None if there are no
    such passages.
    """
    if not view.flags & NOTICE:
        return None
    notices: Array = view["flags"] & NOTICE > 0
    if not notices.any():
        return None
    content = {word.text.lower() for word in question.words if not word.is_stop}
    if len(content) >= QUOTED_WORDS_MIN:
        own = coverage[allowed & ~notices]
        least = max(QUOTED_COVERAGE_MIN, float(own.max()) + 1e-4 if len(own) else 0.0)
        notices &= coverage < least
    return notices if notices.any() else None


def notices_alone(notices: Array, keep: Array, firsts: Array) -> Array:
    """Return which parts of a pool count only as what programs wrote: (P,) bool.

    Those are the notices, and the words beside them in events that match by a notice alone.
    `notices` and `keep`, (P,), are the notices and the parts that match; `firsts` are the first
    parts of the events.
    """
    sizes = np.diff(np.append(firsts, len(notices)))
    has_own = np.logical_or.reduceat(keep & ~notices, firsts)
    has_notice = np.logical_or.reduceat(notices, firsts)
    return notices | np.repeat(has_notice & ~has_own, sizes)


def repeats_in(view: IndexView, pool: Array) -> Array:
    """Return the numbers of events of a pool that repeat an earlier event of the pool, ascending.

    The earliest stays: its id is the one that was cited, and what differs between near duplicates
    tells nothing. If it is erased, or out of the period searched, the next one takes its place.
    """
    if not view.flags & REPEATED:
        return pool[:0]
    flags = view["flags"][pool]
    repeated = flags & REPEATED > 0
    if not repeated.any():
        return pool[:0]
    twin = view["twin"][pool].astype("i8")
    alike = np.flatnonzero(np.isin(twin, twin[repeated]) & (twin > 0))
    session = np.where(flags[alike] & IN_SESSION > 0, view["session"][pool[alike]], -1)
    groups = np.stack([twin[alike], session], axis=1)
    events = view["event"][pool[alike]]  # ascending
    _, firsts, group = np.unique(groups, axis=0, return_index=True, return_inverse=True)
    return np.unique(events[events != events[firsts][group.reshape(-1)]])


# --- The events of a pool: their passages, and cheap scores that choose the candidates of a search

CANDIDATES_MAX = 200  # events of a pool that the network scores; the others follow them
BEST_OF_SESSION = 3  # other events of a session that count for its score


@dataclass(frozen=True, slots=True)
class PartScores:
    """The scores of P parts, a row (P,) of float32 for each kind."""

    ROWS: ClassVar = ("text", "dense", "coverage", "cosine", "base")

    rows: Array  # (len(ROWS), P)

    @property
    def text(self) -> Array:
        """The scores by words: 0..1."""
        text: Array = self.rows[0]
        return text

    @property
    def dense(self) -> Array:
        """The scores by vector: 0..1."""
        dense: Array = self.rows[1]
        return dense

    @property
    def cosine(self) -> Array:
        """The cosines."""
        cosine: Array = self.rows[3]
        return cosine

    @property
    def base(self) -> Array:
        """The scores by words and vector: 0..1, and 0 for notices."""
        base: Array = self.rows[4]
        return base


@dataclass(frozen=True)
class PoolEvents:
    """The E events of some parts of a view (P,), in the order of their numbers."""

    ranking: Ranking
    parts: Array  # (P,), places in the view, ascending; all allowed parts of each event
    part_scores: PartScores | None = None  # computed when they are needed, if None

    @cached_property
    def scores(self) -> PartScores:
        """The scores of the parts."""
        return self.part_scores or self.ranking.scores_of(self.parts)

    @cached_property
    def firsts(self) -> Array:
        """The place in `parts` of the first part of each event: (E,)."""
        return starts_of_runs(self.ranking.view["event"][self.parts])

    @cached_property
    def sizes(self) -> Array:
        """The number of parts of each event: (E,)."""
        return lengths_of_runs(self.firsts, len(self.parts))

    @cached_property
    def numbers(self) -> Array:
        """The numbers of the events within the space: (E,)."""
        return self.ranking.view["event"][self.parts[self.firsts]]

    @cached_property
    def of_part(self) -> Array:
        """The place of the event of each part: (P,)."""
        return np.repeat(np.arange(len(self.firsts)), self.sizes)

    @cached_property
    def is_query(self) -> Array:
        """Which parts are the user's words: (P,) bool."""
        is_query: Array = self.ranking.view["side"][self.parts] == QUERY
        return is_query

    @cached_property
    def is_own(self) -> Array | None:
        """Which parts somebody said, not programs: (P,) bool; None: all."""
        notices = self.ranking.notices
        return None if notices is None else ~notices[self.parts]

    @property
    def base(self) -> Array:
        """The base scores of the parts: (P,)."""
        return self.scores.base

    @cached_property
    def best(self) -> Array:
        """The best base score of the parts of each event: (E,)."""
        return self.most(self.base)

    @cached_property
    def places_of_best(self) -> Array:
        """The place in `parts` of the best part of each event, the first of equals: (E,)."""
        is_best = np.flatnonzero(self.base >= np.repeat(self.best, self.sizes))
        return is_best[starts_of_runs(self.of_part[is_best])]

    @cached_property
    def is_question(self) -> Array:
        """Which events ask something in the user's words: (E,), 0 or 1."""
        return self.any_of((self.flags & QUESTION > 0) & self.is_query)

    @cached_property
    def flags(self) -> Array:
        """The flags of the parts: (P,)."""
        return self.ranking.view["flags"][self.parts]

    @cached_property
    def sessions(self) -> tuple[Array, Array]:
        """Order the events by session: their places (E,), and where each session starts there."""
        session = self.ranking.view["session"][self.parts[self.firsts]]
        order = np.argsort(session, kind="stable")
        return order, starts_of_runs(session[order])

    @cached_property
    def lengths(self) -> Array:
        """The number of words of each event: (E,) float32."""
        return np.add.reduceat(self._length, self.firsts)

    @cached_property
    def query_lengths(self) -> Array:
        """The number of the user's words of each event: (E,) float32."""
        return np.add.reduceat(self._length * self.is_query, self.firsts)

    @cached_property
    def _length(self) -> Array:
        return self.ranking.view["length"][self.parts].astype("f4")

    @cached_property
    def of_session(self) -> Array:
        """The fit of the other events of each session, less the mean of all: (E,).

        The mean of the three best of the others; 0 for the only event of a session, and in the
        only session. Its own score is left out, because it would only be repeated.
        """
        session = self.ranking.view["session"][self.parts[self.firsts]]
        order = np.argsort(2.0 * session - self.best)  # scores are 0..1
        starts = starts_of_runs(session[order])
        count = len(order)
        result = np.zeros(count, "f4")
        if len(starts) == 1:
            return result
        sizes = lengths_of_runs(starts, count)
        best, size = self.best[order], np.repeat(sizes, sizes)
        rank = np.arange(count) - np.repeat(starts, sizes)
        is_top = rank < BEST_OF_SESSION
        top = np.repeat(np.add.reduceat(best * is_top, starts), sizes)
        fourth = np.repeat(np.add.reduceat(best * (rank == BEST_OF_SESSION), starts), sizes)
        others = np.where(is_top, top + fourth - best, top)
        mean = others / np.maximum(np.minimum(size - 1, BEST_OF_SESSION), 1)
        has_others = size > 1
        middle = mean_of(mean[has_others])
        # Shrunk for a short session: of two events, the worse one has the better other one.
        shrunk = (mean - middle) * (size - 1) / (size + 1)
        result[order] = shrunk * has_others
        return result

    @cached_property
    def quick(self) -> Array:
        """Cheap scores of the events, to choose those that the network scores: (E,)."""
        text = self.scores.text
        is_chosen = (text > 0) & self.is_query
        chosen = np.flatnonzero(is_chosen if self.is_own is None else is_chosen & self.is_own)
        query_text = np.zeros(len(self.firsts), "f4")
        np.maximum.at(query_text, self.of_part[chosen], text[chosen])
        quick: Array = self.best + 0.3 * self.of_session + 0.3 * query_text
        return quick

    @cached_property
    def candidates(self) -> Array:
        """The places of the most promising events, ascending: (C,), C <= CANDIDATES_MAX."""
        if len(self.firsts) <= CANDIDATES_MAX:
            return np.arange(len(self.firsts))
        return np.sort(np.argpartition(-self.quick, CANDIDATES_MAX)[:CANDIDATES_MAX])

    def most(self, values: Array) -> Array:
        """Return the largest value of the parts of each event: (P,) to (E,)."""
        return np.maximum.reduceat(values, self.firsts)

    def any_of(self, values: Array) -> Array:
        """Return 1 for the events of which any part has True, else 0: (P,) to (E,)."""
        result = np.zeros(len(self.firsts), "f4")
        result[self.of_part[np.flatnonzero(values)]] = 1
        return result

    def best_parts(self, places: Array) -> Array:
        """Return the part of each of some events that fits best, as places in the view."""
        order = np.argsort(places)
        some = self.only(places[order])
        parts = np.empty(len(places), "i8")
        parts[order] = some.parts[some.places_of_best]
        return parts

    def only(self, places: Array) -> PoolEvents:
        """Return some of the events, with their parts; `places` ascend."""
        if len(places) == len(self.firsts):
            return self
        sizes = self.sizes[places]
        ends = np.cumsum(sizes)
        chosen = np.arange(int(ends[-1])) + np.repeat(self.firsts[places] - ends + sizes, sizes)
        return PoolEvents(self.ranking, self.parts[chosen], PartScores(self.scores.rows[:, chosen]))

    def neighbours(self, before: Array, after: Array) -> tuple[Array, Array]:
        """Return the places of the events before some and after others in their sessions.

        `before` and `after` are places, -1 for none; so are the results.
        """
        view, parts, numbers = self.ranking.view, self.parts, self.numbers
        part = np.concatenate(
            [
                view["previous"][parts[self.firsts[before]]],
                view["next"][parts[self.firsts[after] + self.sizes[after] - 1]],
            ]
        )
        exists = np.concatenate([before, after]) >= 0
        exists &= part >= 0
        exists &= part < view.size  # a newer turn may have followed
        part *= exists
        number = view["event"][part]
        place = np.searchsorted(numbers, number)
        np.minimum(place, len(numbers) - 1, out=place)
        exists &= numbers[place] == number
        place[~exists] = -1
        return place[: len(before)], place[len(before) :]


# --- The features of events for a query: what the ranker (ranker.py) weighs ------------------
# They are computed for the candidates among the events of a pool (pool_events.py). A turn has two
# sides, the user's words (`query`) and the response to them; each side may have several passages,
# called parts.

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
}  # fmt: skip
# What tells whether a memory answers a query: the best cosine, the largest share of the query's
# words in one event, how many words those are, how many events had the chance to fit, and by how
# much the best event stands out.
EVIDENCE = (
    "cosine", "covered", "cosine_covered", "content_words", "words_covered", "events",
    "lead",
)  # fmt: skip
SHORT_WORDS = 60  # of an event that is half as much lifted by its neighbours as a very short one
FEW_EVENTS = 10  # in a memory of so many events, neighbours and the mean score count half
BEST_OF_ALL = 10  # events that count for the spread of the scores
SPREAD_MIN = 0.1  # of logarithms of lengths; if all are alike, small differences must not matter
SHARE_MAX = 1.5  # logarithm of the ratio of the words of responses and of users that counts as 1
RANGE_MIN = 1e-9  # added to a range of scores, which may be 0
_ASKS_FOR_MANY = re.compile(
    r"\b(?:how many|order|across|throughout|all (?:the|of|my)|list|summar\w+|total"
    r"|how (?:did|have|has) .*(?:progress|evolve|develop|change)\w*"
    r"|wie ?viele?|reihenfolge|insgesamt|alle|liste|combien|ordre|toutes? les|tous les|liste"
    r"|cuánt[oa]s|orden|tod[oa]s l[oa]s|lista|quant[ie]|quant[oa]s|ordine|ordem|tutt[ie]"
    r"|сколько|порядке|все|список)\b|几[个次]|多少|哪些|顺序|順序|所有|いくつ|何回|すべて|全部"
)


def evidence_of(features: Array, scores: Array, average: float) -> Array:
    """Return what tells whether any of the candidates answers a query: (len(EVIDENCE),).

    `features` are theirs, (C, len(FEATURES)), `scores` those of the ranker, (C,), and `average` is
    that of an average event.
    """
    if not len(features):
        return np.zeros(len(EVIDENCE), "f4")
    first = dict(zip(FEATURES, features[0].tolist(), strict=True))
    covered = float(features[:, EVENT_FEATURES.index("covered")].max())
    cosine, words, events = first["best_cosine"], first["content_words"], first["events"]
    # As if FEW_EVENTS average ones were beside them: a single event stands out from nothing.
    mean = (float(scores.sum()) + FEW_EVENTS * average) / (len(scores) + FEW_EVENTS)
    lead = float(scores.max()) - mean
    return np.array([cosine, covered, cosine * covered, words, words * covered, events, lead])


def features_of(pool: PoolEvents, places: Array) -> Array:
    """Return the features of some events of a pool: (C, len(FEATURES)), float32.

    `places` (C,) ascend. How an event compares with others is measured among these.
    """
    if not len(places):
        return np.zeros((0, len(FEATURES)), "f4")
    events = pool.only(places)
    brevity = _brevity(events)
    columns: dict[str, Any] = (
        _of_best_parts(events)
        | _of_words(events)
        | _of_neighbours(pool, places, brevity)
        | _of_time_and_speaker(events)
    )
    columns |= {
        "asks": events.is_question,
        "length": _standard(np.log1p(events.lengths)),
        "query_length": _standard(np.log1p(events.query_lengths)),
        "brevity": brevity,
        "session": pool.of_session[places],
        "recency": (places + 1) / len(pool.firsts),
    }
    features = np.empty((len(FEATURES), len(places)), "f4")
    for place, feature in enumerate(EVENT_FEATURES):
        features[place] = columns[feature]
    features[len(EVENT_FEATURES) :] = np.array(_of_context(pool, events, columns))[:, None]
    return features.T


def _of_best_parts(events: PoolEvents) -> dict[str, Array]:
    scores, count = events.scores.rows, len(events.firsts)
    names = ("text", "dense", "coverage", "cosine", "best", "second")
    values = np.empty((len(names), len(events.parts)), "f4")
    values[:5] = scores
    values[5] = scores[4]
    if events.is_own is not None:
        values[:4] *= events.is_own
    values[5, events.places_of_best] = 0
    # The parts of a side are adjacent: first the largest values of each side, then of each event.
    side = events.of_part + count * ~events.is_query  # the user's words, then the responses
    starts = starts_of_runs(side)
    if len(starts) < len(events.parts):
        values, side = np.maximum.reduceat(values, starts, axis=1), side[starts]
    sides = np.full((len(names), 2 * count), -np.inf, "f4")
    sides[:, side] = values
    columns = dict(zip(names, np.maximum(sides[:, :count], sides[:, count:]), strict=True))
    np.maximum(sides, 0, out=sides)
    columns |= {f"query_{name}": row[:count] for name, row in zip(names, sides, strict=True)}
    columns |= {f"response_{name}": row[count:] for name, row in zip(names, sides, strict=True)}
    return columns


def _of_words(events: PoolEvents) -> dict[str, Array]:
    """Score the query's words in whole events, in the user's side, and in sessions.

    BM25 of an event counts its words together, so that a long answer with one word in each of its
    passages is not lost beside a passage that has two.
    """
    ranking, view, count = events.ranking, events.ranking.view, len(events.firsts)
    matches = ranking.lexical.matches_of(view, ranking.question.words)
    if matches is None:
        zero = np.zeros(count, "f4")
        return dict.fromkeys(("turn_text", "query_turn_text", "covered", "session_covered"), zero)
    # Of each part: its event, and the same of the user's words after all events.
    slot = np.full(view.size, -1, "i4")
    slots = events.of_part + count * events.is_query
    slot[events.parts] = slots if events.is_own is None else np.where(events.is_own, slots, -1)
    at = slot[matches.parts]
    inside = np.flatnonzero(at >= 0)
    # A row of counts for each term.
    terms = len(matches.idf)
    key = matches.terms[inside] * (2 * count) + at[inside]
    counts = np.bincount(key, matches.counts[inside], 2 * count * terms).reshape(terms, -1)
    query = counts[:, count:]
    whole = counts[:, :count] + query
    mass = np.maximum.reduceat(matches.idf, matches.first_terms)
    has = np.maximum.reduceat(whole, matches.first_terms, axis=0) > 0
    total = float(np.add.reduce(mass)) or 1.0
    order, starts = events.sessions
    in_session = np.logical_or.reduceat(has[:, order], starts, axis=1)
    session_covered = np.empty(count, "f4")
    session_covered[order] = np.repeat(mass @ in_session / total, lengths_of_runs(starts, count))
    return {
        "turn_text": _bm25(whole, matches.idf, events.lengths),
        "query_turn_text": _bm25(query, matches.idf, events.query_lengths),
        "covered": mass @ has / total,
        "session_covered": session_covered,
    }


def _bm25(counts: Array, idf: Array, lengths: Array) -> Array:
    """Return BM25 of events, stretched to 0..1: counts (T, E), idf (T,), lengths (E,)."""
    norm = (K1 * B / max(mean_of(lengths), 1.0)) * lengths + K1 * (1 - B)
    score: Array = idf @ (counts / (counts + norm))
    score -= score.min()
    score /= score.max() + RANGE_MIN
    return score


def _of_neighbours(pool: PoolEvents, places: Array, brevity: Array) -> dict[str, Array]:
    """Return the best base scores of the events beside each in its session."""
    previous, following = pool.neighbours(places, places)
    # Among few events nearly all are adjacent to the best one, which tells nothing.
    share = np.float32(len(pool.best) / (len(pool.best) + FEW_EVENTS))
    best = np.append(pool.best * share, np.float32(0))  # place -1, a missing neighbour, has 0
    question_flags = np.append(pool.is_question, np.float32(0))
    second, after_next = pool.neighbours(previous, following)
    of_previous, of_next = best[previous], best[following]
    return {
        "previous": of_previous,
        "next": of_next,
        "around": np.maximum(best[second], best[after_next]),
        "previous_short": of_previous * brevity,
        "next_short": of_next * brevity,
        "previous_asks": of_previous * question_flags[previous],
    }


def _of_time_and_speaker(events: PoolEvents) -> dict[str, Array]:
    ranking, view = events.ranking, events.ranking.view
    none = np.zeros(len(events.firsts), "f4")
    is_speaker = ranking.is_speaker(events.parts)
    time = events.any_of(events.flags & TIME > 0)
    moment = ranking.question.moment
    occurred = view["occurred_ms"][events.parts[events.firsts]]
    has_date = moment is not None and moment.month is not None
    return {
        "speaker": none if is_speaker is None else events.most(is_speaker),
        "speaker_best": none if is_speaker is None else events.most(is_speaker * events.base),
        "date": nearness_to(occurred, moment) if has_date and moment is not None else none,
        "time": time,
        "when_time": time * float(ranking.question.asks_when),
    }


def _of_context(pool: PoolEvents, events: PoolEvents, columns: dict[str, Array]) -> list[float]:
    """Return what the query and the space are like, in the order of CONTEXT_FEATURES."""
    question = events.ranking.question
    whole, query = mean_of(events.lengths), mean_of(events.query_lengths)
    share = math.log((whole - query + 1) / (query + 1))
    best = columns["best"]
    if len(best) > BEST_OF_ALL:
        best = np.partition(best, -BEST_OF_ALL)[-BEST_OF_ALL:]
    return [
        math.log1p(len(question.text)),
        math.log1p(sum(not word.is_stop for word in question.words)),
        float(question.asks_when),
        float(question.text.rstrip().endswith(("?", "？", "؟"))),
        float(asks_for_many(question.text)),
        min(max(share, 0.0), SHARE_MAX) / SHARE_MAX,
        math.log1p(len(pool.firsts)),
        float(columns["cosine"].max()),
        float(columns["coverage"].max()),
        mean_of(best) - mean_of(pool.best),
    ]


def _brevity(events: PoolEvents) -> Array:
    brevity: Array = 1 / (1 + (events.lengths / SHORT_WORDS) ** 2)
    return brevity


def _standard(values: Array) -> Array:
    centred = values - mean_of(values)
    deviation = float(centred @ centred / len(centred)) ** 0.5
    standard: Array = centred / (deviation + SPREAD_MIN)
    return standard


def asks_for_many(text: str) -> bool:
    """Return True if a question is about several events: a count, an order, a list, a course."""
    return _ASKS_FOR_MANY.search(normalize(text)) is not None


# --- The trained ranker: a small network that weighs the features of events (features.py) ----
# Its parameters are in `ranker.json`, trained by `bench/train_ranker.py`.

FAR = 4.0  # deviations from the mean beyond which a feature counts as no farther
STEPS = 64  # of the path along which contributions are summed
_SLOPE = 1.702  # of the logistic curve that approximates the normal distribution in GELU


class DenseLayer(NamedTuple):
    """One layer of the network: weights (inputs, outputs) and a bias (outputs,)."""

    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic curves from scores to chances; each row ends with the offset."""

    answerable: Array  # (len(EVIDENCE) + 1,)
    hit: Array  # (3,): log of the share of the score, log odds of `answerable`, offset


@dataclass(frozen=True)
class Ranker:
    """A trained network with one output: linear in the features, plus two hidden layers."""

    mean: Array  # (len(FEATURES),)
    deviation: Array
    linear: Array  # (len(FEATURES),)
    layers: tuple[DenseLayer, ...]
    calibration: Calibration

    def __call__(self, features: Array) -> Array:
        """Return the scores (E,) of features (E, len(FEATURES)).

        In units of log odds: of two events of a search, one that scores higher by 1 is e times as
        likely to answer.
        """
        return self._scores(self._standard(features))

    def _standard(self, features: Array) -> Array:
        standard: Array = features - self.mean
        standard /= self.deviation
        np.maximum(standard, -FAR, out=standard)
        np.minimum(standard, FAR, out=standard)
        return standard

    def _scores(self, inputs: Array) -> Array:
        hidden = inputs
        *inner, last = self.layers
        for layer in inner:
            hidden = gelu(hidden @ layer.weight + layer.bias)
        scores: Array = (hidden @ last.weight + last.bias)[:, 0] + inputs @ self.linear
        return scores

    @cached_property
    def start(self) -> float:
        """The score of an event all of whose features are at their means."""
        return float(self._scores(np.zeros((1, len(self.mean)), "f4"))[0])

    def contributions(self, features: Array) -> Array:
        """Return what each feature adds to `start`: (len(FEATURES),) for one event's features.

        They sum to its score less `start`. Source: Sundararajan, Taly, Yan, "Axiomatic Attribution
        for Deep Networks" (integrated gradients), ICML 2017; the sum over STEPS points replaces the
        integral, and what it misses is spread over the features by their size.
        """
        end = self._standard(features[None, :])[0]
        shares = (np.arange(STEPS) + 0.5)[:, None] / STEPS
        result: Array = (self._gradients(shares * end) * end).mean(axis=0)
        missed = float(self._scores(end[None, :])[0]) - self.start - float(result.sum())
        sizes = np.abs(result)
        return result + missed * sizes / (float(sizes.sum()) or 1.0)

    def _gradients(self, inputs: Array) -> Array:
        """Return the slopes of the score at some inputs: (N, len(FEATURES))."""
        *inner, last = self.layers
        hidden, slopes = inputs, []
        for layer in inner:
            value = hidden @ layer.weight + layer.bias
            hidden = gelu(value)
            slopes.append(gelu_slope(value))
        gradient = np.broadcast_to(last.weight[:, 0], (len(inputs), len(last.weight)))
        for layer, slope in zip(reversed(inner), reversed(slopes), strict=True):
            gradient = (gradient * slope) @ layer.weight.T
        return gradient + self.linear

    def answerable(self, evidence: Array) -> float:
        """Return how likely it is that any event answers a query: 0..1.

        `evidence` is that of `evidence_of`.
        """
        return _logistic(self._answerable_odds(evidence))

    def _answerable_odds(self, evidence: Array) -> float:
        *weights, offset = self.calibration.answerable.tolist()
        return float(np.dot(weights, evidence)) + float(offset)

    def chances(self, scores: Array, among: Array, evidence: Array) -> Array:
        """Convert scores to chances to answer the query, 0..1; a higher score has a higher one.

        `among` are the scores of all candidates, in any order.
        """
        peak = float(among.max())
        log_sum = peak + math.log(float(np.exp(among - peak).sum()))
        by_share, by_answerable, offset = self.calibration.hit.tolist()
        odds = by_share * (scores - log_sum) + offset
        odds = odds + by_answerable * self._answerable_odds(evidence)
        chances: Array = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        return chances


def load_ranker(name: str) -> Ranker:
    """Load the ranker trained for an embedder (`multilingual`) or for text alone (`none`).

    Other embedders use that of `multilingual`.
    """
    rows = json.loads(resources.files(__package__).joinpath("ranker.json").read_text("utf-8"))
    row = rows.get(name.partition("/")[0]) or rows["multilingual" if name != "none" else "none"]
    return ranker_of(row)


def ranker_of(row: dict[str, Any]) -> Ranker:
    """Read a ranker from its parameters. Raises ValueError if it was trained on other features."""
    if tuple(row["features"]) != FEATURES:
        raise ValueError("ranker.json was trained on other features; run bench/train_ranker.py")
    columns = {key: np.array(row[key], "f4") for key in ("mean", "deviation", "linear")}
    layers = tuple(
        DenseLayer(np.array(one["weight"], "f4"), np.array(one["bias"], "f4"))
        for one in row["layers"]
    )
    calibration = Calibration(
        *(np.array(row["calibration"][key], "f8") for key in ("answerable", "hit"))
    )
    return Ranker(**columns, layers=layers, calibration=calibration)


def gelu(values: Array) -> Array:
    """Return the activation of hidden values.

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units (GELUs)", 2016, the form with a logistic
    curve.
    """
    divisor = values * -_SLOPE
    np.minimum(divisor, 60, out=divisor)
    np.exp(divisor, out=divisor)
    divisor += 1
    result: Array = values / divisor
    return result


def gelu_slope(values: Array) -> Array:
    """Return the slope of `gelu` at some values."""
    chance = 1 / (1 + np.exp(np.minimum(-_SLOPE * values, 60)))
    slope: Array = chance + _SLOPE * values * chance * (1 - chance)
    return slope


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))


# --- Rank the events of a view for a query ---------------------------------------------------
# A trained network (ranker.py) weighs their features (features.py). It ranks a pool: the events of
# the most promising parts, or all events of a space with up to POOL_PARTS_MAX parts. Features are
# computed for the most promising events of the pool, the candidates (pool_events.py).

Reason: TypeAlias = tuple[str, int | None, float]  # signal, rank by it or None, value

POOL_PARTS_MAX = 4096
LEXICAL_SHARE = 0.4  # of the base score; the cosine has the rest
# A part matches if it has this share of the query's words, or this cosine.
COVERAGE_MIN, COSINE_MIN = 0.005, 0.15
# Minimum value at which a neighbour or a session is named as a reason.
NEIGHBOUR_MIN, SESSION_MIN = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class EventScores:
    """The scores of the E events of a pool."""

    events: Array  # (E,) their numbers, ascending
    score: Array  # (E,) in log odds, with lifts
    peak: Array  # (E,) the score less the costs of the event


class FeatureValue(NamedTuple):
    """One feature of an event."""

    feature: str
    value: float
    rank: int  # among the events of the pool, 1 = the largest value
    adds: float  # to Ranker.start


class Ranking:
    """The events of a view that may answer a query, with every signal about them."""

    def __init__(
        self,
        view: IndexView,
        question: ParsedQuery,
        text: LexicalScores,
        cosine: Array,
        *,
        among: Array | None = None,
    ) -> None:
        self.view, self.question, self.cosine = view, question, cosine
        self.lexical = text
        self.allowed = view.alive if among is None else view.alive & among
        # Passages that programs wrote: they must not lift their neighbours or their session.
        self.notices = unquoted_notices(view, question, text.coverage, self.allowed)
        self._is_whole = self.notices is None and among is None and view.is_whole
        scale = self.allowed if self.notices is None else self.allowed & ~self.notices
        among_scale = None if self._is_whole else scale
        self._text = Stretch.over(text.score, among_scale)
        is_near = bool(cosine.any())
        self._dense = Stretch.over(cosine, among_scale) if is_near else NOTHING
        self._text_share = LEXICAL_SHARE if is_near else 1.0
        self.has_vector = view["inverse_norm"] > 0
        if is_near and not (self._is_whole and self.has_vector.all()):
            self.cosine = self._with_estimates(cosine)
        self.pool = self._pool()
        self._scored: tuple[Ranker, Array] | None = None
        self._weighed: tuple[Array, Array] | None = None  # scores and their evidence
        self.decay: Decay | None = None  # what age costs, if it costs anything

    def _with_estimates(self, cosine: Array) -> Array:
        """Return the cosines, for parts without a vector those that would be worth their words.

        While vectors are made, or an endpoint is down, such parts would be below all others that
        are only similar, even with every word of the query.
        """
        parts = np.flatnonzero(self.allowed & ~self.has_vector & (self.lexical.score > 0))
        if not len(parts):
            return cosine
        share = self._text.apply(self.lexical.score[parts].astype("f4"))
        estimates = cosine.copy()
        estimates[parts] = self._dense.low + share / self._dense.slope
        return estimates

    def cosine_of(self, part: int) -> float:
        """Return the cosine of a part; 0 without a vector."""
        return float(self.cosine[part]) if self.has_vector[part] else 0.0

    def scores_of(self, parts: Array) -> PartScores:
        """Return the scores of some parts."""
        rows = np.empty((len(PartScores.ROWS), len(parts)), "f4")
        scores = PartScores(rows)
        rows[0] = self.lexical.score[parts]
        rows[2] = self.lexical.coverage[parts]
        rows[1] = rows[3] = self.cosine[parts]
        self._text.apply(scores.text)
        self._dense.apply(scores.dense)
        base = np.multiply(scores.text, self._text_share, out=scores.base)
        base += (1 - self._text_share) * scores.dense
        if self.notices is not None:
            base[self.notices[parts]] = 0
        return scores

    def base_of(self, parts: Array) -> Array:
        """Return the scores of some parts by words and vector: 0..1, float32; 0 for notices."""
        return self.scores_of(parts).base

    def _pool(self) -> Array:
        if self._is_whole and self.view.size > POOL_PARTS_MAX:
            best = _largest(self._promise(), POOL_PARTS_MAX // 8)
        else:
            allowed = np.flatnonzero(self.allowed)
            if len(allowed) <= POOL_PARTS_MAX:
                return allowed
            promise = self.base_of(allowed) - (self.view["flags"][allowed] & REPEATED > 0)
            best = allowed[_largest(promise, POOL_PARTS_MAX // 8)]
        top = best[_best_places(self.base_of(best), POOL_PARTS_MAX // 8)]
        near = [self.view[column][top] for column in ("previous", "next")]
        chosen = np.concatenate([best, *near])
        chosen = chosen[(chosen >= 0) & (chosen < self.view.size)]
        return np.flatnonzero(self._with_events(chosen) & self.allowed)

    def _promise(self) -> Array:
        """Return `base_of` all parts, less 1 for repetitions, plus a constant: (size,) float32.

        In a few passes over the whole index, where all parts are allowed and scaled.
        """
        share = self._text_share
        promise = self.lexical.score * np.float32(share * self._text.slope)
        if share < 1:
            promise += self.cosine * np.float32((1 - share) * self._dense.slope)
        if self.view.flags & REPEATED:
            promise -= self.view["flags"] & REPEATED > 0
        return promise

    @cached_property
    def pool_events(self) -> PoolEvents:
        """The events of the pool."""
        return PoolEvents(self, self.pool)

    @cached_property
    def features(self) -> Array:
        """The features of the candidates: (C, len(FEATURES)), float32."""
        return features_of(self.pool_events, self.pool_events.candidates)

    def is_speaker(self, parts: Array) -> Array | None:
        """Return 1 for parts of the one speaker that the query names, else 0: float32.

        None if the query names no speaker or several.
        """
        query_words = words(self.question.text)
        names = {
            term(" ".join(query_words[i : i + n]))
            for n in (1, 2, 3)
            for i in range(len(query_words) - n + 1)
        }
        speakers = self.view.speakers & names
        if len(speakers) != 1:
            return None
        is_speaker: Array = self.view["speaker"][parts] == next(iter(speakers))
        return is_speaker.astype("f4")

    @cached_property
    def matches(self) -> Array:
        """The parts that share a word or enough meaning with the query: (size,) bool."""
        matches: Array = self.lexical.coverage >= COVERAGE_MIN
        matches |= self.cosine >= COSINE_MIN
        return matches if self._is_whole else matches & self.allowed

    @cached_property
    def has_signal(self) -> bool:
        """True if the query has a word, and some event a word of it or a vector to compare."""
        if not self.question.words:
            return False
        is_near = self.cosine.any() if self._is_whole else self.cosine[self.allowed].any()
        return bool(is_near or self.matches.any())

    def focus_candidates(self, phrase: ParsedQuery) -> Array:
        """Return the numbers of events that may contain a phrase.

        Some part of them has all its words, ignoring endings. A phrase of one character of a
        script without spaces may be in any event.
        """
        candidates = self.allowed.copy()
        for terms in phrase.required:
            matches = np.zeros(self.view.size, bool)
            for number in terms:
                matches[self.view.find(number)[0]] = True
            candidates &= matches
        return self.events_of(np.flatnonzero(candidates))

    def events_of(self, parts: Array) -> Array:
        """Return the numbers of the events of these parts, best base score first."""
        events = self.view["event"][parts[np.argsort(-self.base_of(parts), kind="stable")]]
        _, firsts = np.unique(events, return_index=True)
        return events[np.sort(firsts)]

    def ranked(self, ranker: Ranker, lifts: Mapping[int, float], most: int) -> list[RankedEvent]:
        """Return the `most` best events, best first. `lifts` are added to the scores of events.

        None, if nothing has a word of the query, a vector to compare or a lift.
        """
        if not (lifts or self.has_signal):
            return []
        scores = self.event_scores(ranker, lifts)
        best = _best(scores.peak, most)
        if not len(best):
            return []
        peak = scores.peak[best]
        chances = ranker.chances(peak, scores.peak, self._evidence(ranker))
        columns = scores.events[best], chances, self.pool_events.best_parts(best), peak
        return [RankedEvent(*one) for one in zip(*(each.tolist() for each in columns), strict=True)]

    def _evidence(self, ranker: Ranker) -> Array:
        scores = self._scores(ranker)
        if self._weighed is None or self._weighed[0] is not scores:
            self._weighed = scores, evidence_of(self.features, scores, ranker.start)
        return self._weighed[1]

    def answerable(self, ranker: Ranker) -> float:
        """Return how likely it is that any event answers the query: 0..1."""
        return ranker.answerable(self._evidence(ranker)) if self.has_signal else 0.0

    def event_scores(self, ranker: Ranker, lifts: Mapping[int, float]) -> EventScores:
        """Return every event of the pool with its score, to which its lift is added."""
        if lifts:
            self._widen(lifts)
        pool = self.pool_events
        if not len(self.pool):
            nothing = np.zeros(0, "f4")
            return EventScores(self.pool, nothing, nothing)
        score = self._scores_of_pool(ranker)
        if lifts:
            numbers = np.array(sorted(lifts))
            places = np.minimum(np.searchsorted(numbers, pool.numbers), len(numbers) - 1)
            values = np.array([lifts[number] for number in numbers.tolist()], "f4")
            bonus = np.where(numbers[places] == pool.numbers, values[places], np.float32(0))
            score = score + bonus
        return EventScores(pool.numbers, score, score - self._costs())

    def _scores(self, ranker: Ranker) -> Array:
        """Return the scores of the candidates by the network: (C,)."""
        if self._scored is None or self._scored[0] is not ranker:
            self._scored = ranker, ranker(self.features)
        return self._scored[1]

    def _scores_of_pool(self, ranker: Ranker) -> Array:
        """Return the scores of the events of the pool, the candidates before the others: (E,)."""
        pool, best = self.pool_events, self._scores(ranker)
        if len(best) == len(pool.firsts):
            return best
        score: Array = best.min() - 1 + pool.quick - float(pool.quick.max())
        score[pool.candidates] = best
        return score

    def _costs(self) -> Array:
        """Return by how much the scores of the events of the pool are reduced: (E,)."""
        pool = self.pool_events
        costs = np.zeros(len(pool.firsts), "f4")
        if self.notices is not None:
            alone = notices_alone(self.notices[self.pool], self.matches[self.pool], pool.firsts)
            costs += NOTICE_COST * np.logical_and.reduceat(alone, pool.firsts)
        if len(self._suspects):
            costs += SUSPECT_COST * np.isin(pool.numbers, self._suspects)
        if self.decay is not None:
            costs += self.decay.cost(self.view["occurred_ms"][self.pool[pool.firsts]])
        if len(self._repeats):
            costs += REPEATED_COST * np.isin(pool.numbers, self._repeats)
        return costs

    def feature_values(self, ranker: Ranker, event: int) -> list[FeatureValue]:
        """Return every feature of an event of the pool, in the order of FEATURES."""
        [place] = np.searchsorted(self.pool_events.numbers, [event])
        [row], features = self._rows(np.array([place]))
        ranks = 1 + np.count_nonzero(features > row, axis=0)
        adds = ranker.contributions(row)
        return [
            FeatureValue(*values)
            for values in zip(FEATURES, row.tolist(), ranks.tolist(), adds.tolist(), strict=True)
        ]

    def _rows(self, places: Array) -> tuple[Array, Array]:
        """Return the features of some events of the pool, and those of all they compare with."""
        candidates, features = self.pool_events.candidates, self.features
        rows = np.minimum(np.searchsorted(candidates, places), len(candidates) - 1)
        if (candidates[rows] != places).any():  # a lift makes hits of others too
            candidates = np.union1d(candidates, places)
            features = features_of(self.pool_events, candidates)
            rows = np.searchsorted(candidates, places)
        return features[rows], features

    def order_cost(self, part: int) -> float:
        """Return by how much the score of an event is reduced; `part` is its best part.

        Because it looks like a prompt injection, repeats another event, or a program wrote it.
        """
        event = self.view["event"][part]
        is_notice = self.notices is not None and self.notices[part]
        return (
            SUSPECT_COST * bool(np.isin(event, self._suspects))
            + REPEATED_COST * bool(np.isin(event, self._repeats))
            + NOTICE_COST * bool(is_notice)
        )

    def first_part(self, event: int) -> int | None:
        """Return the first part of an event that may be returned, None if there is none."""
        parts = np.flatnonzero((self.view["event"] == event) & self.allowed)
        return int(parts[0]) if len(parts) else None

    def neighbour_of(self, part: int, column: str) -> int | None:
        """Return the nearest part of the previous or next turn in the session.

        `column` is `previous` or `next`. None if there is no such turn.
        """
        event, at = self.view["event"], part
        while True:
            at = int(self.view[column][at])
            if not 0 <= at < self.view.size:
                return None
            if event[at] != event[part] and self.view.alive[at]:
                return at

    @cached_property
    def _suspects(self) -> Array:
        return suspects_in(self.view)

    @cached_property
    def _repeats(self) -> Array:
        return repeats_in(self.view, self.pool)

    def _widen(self, lifts: Mapping[int, float]) -> None:
        """Add the lifted events to the pool."""
        lifted = self._first_parts(lifts)
        pool = np.flatnonzero(self._with_events(np.append(self.pool, lifted)) & self.allowed)
        if len(pool) > len(self.pool):
            self.pool = pool
            self._scored = None
            for name in ("features", "pool_events", "_repeats"):
                self.__dict__.pop(name, None)

    def _first_parts(self, numbers: Iterable[int]) -> Array:
        """Return the first part of each of these events that is in the view."""
        event, events = self.view["event"], np.array(sorted(numbers), "i8")
        firsts = np.minimum(np.searchsorted(event, events), max(len(event) - 1, 0))
        return firsts[event[firsts] == events] if len(event) else firsts[:0]

    def _with_events(self, parts: Array) -> Array:
        """Return all parts of the events of these parts: (size,) bool."""
        event, size = self.view["event"], self.view.size
        chosen = np.zeros(size, bool)
        chosen[parts] = True
        for step in (-1, 1):  # the parts of an event are adjacent, and most events have two
            edge = parts
            while len(edge):
                beside = edge + step
                inside = (beside >= 0) & (beside < size)
                edge, beside = edge[inside], beside[inside]
                edge = beside[(event[beside] == event[edge]) & ~chosen[beside]]
                chosen[edge] = True
        return chosen

    def matching(self, lifts: Mapping[int, float]) -> int:
        """Return the number of events of the whole space that match the query or are lifted."""
        matches = self.matches
        if lifts:
            matches = matches | (self._with_events(self._first_parts(lifts)) & self.allowed)
        events = self.view["event"][matches]  # ascending
        return int(np.count_nonzero(events[1:] != events[:-1])) + 1 if len(events) else 0

    def place_of(self, part: int) -> tuple[int, int]:
        """Return the side of its event that a part belongs to, and its passage number there."""
        event, side = self.view["event"], self.view["side"]
        first = part
        while first > 0 and event[first - 1] == event[part] and side[first - 1] == side[part]:
            first -= 1
        return int(side[part]), part - first

    def reasons(self, parts: Sequence[int]) -> list[list[Reason]]:
        """Return the strongest signals of some events of the pool, each given by its best part."""
        if not parts:
            return []
        events = np.searchsorted(self.pool_events.numbers, self.view["event"][parts])
        rows = self._rows(events)[0].tolist()
        places = np.array(parts)
        pool, some = self.pool_events.scores, self.scores_of(places)
        by_text = _ranks(pool.text, some.text)
        by_cosine = _ranks(pool.cosine, some.cosine)
        measured = [self.cosine_of(part) for part in parts]
        return [
            _reasons(dict(zip(FEATURES, row, strict=True)), text_rank, dense_rank, cosine)
            for row, text_rank, dense_rank, cosine in zip(
                rows, by_text, by_cosine, measured, strict=True
            )
        ]


def _ranks(scores: Array, some: Array) -> list[int]:
    """Return the ranks of some of these scores; 1 is the largest."""
    return [1 + int(np.count_nonzero(scores > value)) for value in some]


def _reasons(row: dict[str, float], by_text: int, by_cosine: int, cosine: float) -> list[Reason]:
    """Return the signals of a part with these features and ranks."""
    reasons: list[Reason] = []
    if row["text"] > 0:
        reasons.append(("text", by_text, row["text"]))
    if cosine > 0:
        reasons.append(("dense", by_cosine, cosine))
    reasons += [(name, None, row[name]) for name in ("speaker", "date") if row[name] > 0]
    neighbour = max(row["previous"], row["next"])
    if row["session"] >= SESSION_MIN:
        reasons.append(("session", None, row["session"]))
    if neighbour >= NEIGHBOUR_MIN:
        reasons.append(("neighbour", None, neighbour))
    return reasons


def _best(score: Array, most: int) -> Array:
    """Return the places of the `most` largest scores, largest first, of equals the first."""
    if len(score) > most:
        places = np.flatnonzero(score >= np.partition(score, -most)[-most])
        return places[np.argsort(-score[places], kind="stable")][:most]
    return np.argsort(-score, kind="stable")


def _best_places(score: Array, most: int) -> Array:
    """Return the places of the `most` largest scores, in any order."""
    if len(score) <= most:
        return np.arange(len(score))
    return np.argpartition(score, len(score) - most)[len(score) - most :]


def _largest(score: Array, about: int) -> Array:
    """Return the indices of about `about` of the largest scores, ascending.

    Never fewer, and at most four times as many.
    """
    # Estimate the threshold from a sample: comparing all scores with it is ten times faster than a
    # partial sort.
    sample = score[:: max(1, len(score) // 8192)]
    rank = max(0, len(sample) - 1 - 2 * about * len(sample) // len(score))
    least = np.partition(sample, rank)[rank]
    places = np.flatnonzero(score >= least)
    if about <= len(places) <= 4 * about:
        return places
    return np.sort(np.argpartition(-score, about)[:about])
