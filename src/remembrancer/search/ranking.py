"""Rank the parts of a view: add neighbours, session, date and speaker to the scores of a query.

A trained linear model weighs these features (`scoring.py`). They are computed for a pool: the most
promising parts, or all parts of a space with up to POOL_PARTS_MAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .demotions import (
    NOTICE_COST,
    REPEATED_COST,
    SUSPECT_COST,
    Decay,
    notices_alone,
    repeats_in,
    suspects_in,
    unquoted_notices,
)
from .index.space_index import NONE, IndexView
from .scoring import COSINE_RANGE, FEATURES, LexicalScores, Weights, nearness_to
from .text.analysis import QUESTION, REPEATED, TIME, ParsedQuery, term, words

Array = npt.NDArray[Any]
Reason: TypeAlias = tuple[str, int | None, float]  # signal, rank by it or None, value

POOL_PARTS_MAX = 4096
LEXICAL_SHARE = 0.4  # of the base score; the cosine has the rest
NOTEWORTHY = 0.5  # minimum value at which a session or a neighbour is named as a reason
BEST_OF_SESSION = 3  # best parts of a session that count for its score


@dataclass(frozen=True, slots=True)
class EventScores:
    """The scores of the E events of a pool of P parts; an event scores as its best part."""

    events: Array  # (E,) their numbers, ascending
    firsts: Array  # (E,) index in the pool of the first part of each
    score: Array  # (P,) of the parts
    keep: Array  # (P,) bool: strong enough to be returned
    is_returned: Array  # (E,) bool: has such a part
    peak: Array  # (E,) best score, less the costs of the event

    def best_part(self, index: int) -> int:
        """Return the index in the pool of the best part of the event at index `at`."""
        first, *following = self.firsts[index : index + 2].tolist()
        scores = self.score[first : following[0] if following else None].tolist()
        return int(first + scores.index(max(scores)))


class FeatureValue(NamedTuple):
    """One feature of a part."""

    feature: str
    value: float
    rank: int  # among the parts of the pool, 1 = the largest value
    adds: float  # to Weights.start


class Ranking:
    """The parts of a view that may answer a query, with every signal about them.

    P is the number of parts in the pool.
    """

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
        self._notices = unquoted_notices(view, question, text.coverage, self.allowed)
        scale = self.allowed if self._notices is None else self.allowed & ~self._notices
        self.text = _stretched(text.score, scale)
        is_near = bool(cosine.any())
        self.dense = _stretched(cosine, scale) if is_near else np.zeros(view.size, "f4")
        share = LEXICAL_SHARE if is_near else 1.0
        # One element longer: index NONE (-1) is the score of a missing neighbour, 0.
        self._base = np.zeros(view.size + 1, "f4")
        self.base = self._base[:-1]
        np.add(share * self.text, (1 - share) * self.dense, out=self.base)
        if self._notices is not None:
            self.base[self._notices] = 0
        self.pool = self._pool()
        self.decay: Decay | None = None  # what age costs, if it costs anything
        self._strong: tuple[Weights, Array] | None = None

    def _pool(self) -> Array:
        allowed = np.flatnonzero(self.allowed)
        if len(allowed) <= POOL_PARTS_MAX:
            return allowed
        promise = self.base[allowed] - (self.view["flags"][allowed] & REPEATED > 0)
        best = allowed[_largest(promise, POOL_PARTS_MAX // 8)]
        top = best[np.argsort(-self.base[best])[: POOL_PARTS_MAX // 8]]
        chosen = np.zeros(self.view.size, bool)
        chosen[best] = True
        for column in ("previous", "next"):
            near = self._step(top, column)
            chosen[near[near >= 0]] = True
        return np.flatnonzero(chosen & self.allowed)

    @cached_property
    def features(self) -> Array:
        """The features of the pool: (P, len(FEATURES)), float32."""
        view, pool, base = self.view, self.pool, self._base
        flags = view["flags"]
        flagged = flags[pool]
        text, dense, own = self.text[pool], self.dense[pool], self.base[pool]
        previous, following = self._step(pool, "previous"), self._step(pool, "next")
        before, after = base[previous], base[following]
        when = flagged & TIME > 0
        mean, deviation = view.log_length
        length = (np.log1p(view["length"][pool]) - mean) / deviation
        is_own = 1.0 if self._notices is None else ~self._notices[pool]
        session_text, session_dense = self._session_best(text * is_own, dense * is_own)
        columns = {
            "text": text,
            "dense": dense,
            "previous": before,
            "next": after,
            "previous_asks": before * (flags[previous] & QUESTION > 0),
            "session_text": session_text,
            "session_dense": session_dense,
            "speaker": self._speaker(),
            "date": self._date(),
            "asks": flagged & QUESTION > 0,
            "length": length,
            "when_time": when * float(self.question.asks_when),
            "base_length": own * length,
            "coverage": self.lexical.coverage[pool],
            "sibling": self._sibling(),
            "around": self._around(previous, following),
            "time": when,
            "text_squared": text**2,
            "dense_squared": dense**2,
        }
        features = np.empty((len(pool), len(FEATURES)), "f4")
        for place, feature in enumerate(FEATURES):
            features[:, place] = columns[feature]
        return features

    def _session_best(self, *scores: Array) -> Array:
        """Return the mean of the session's best scores for each part of the pool.

        `scores` are arrays of shape (P,); the result has shape (len(scores), P).
        """
        score = np.stack(scores)
        if not score.shape[1]:
            return score
        session = self.view["session"][self.pool]
        # Stable, because the parts are nearly in this order already.
        order = np.argsort(session, kind="stable")
        firsts = _firsts(session[order])
        sizes = np.append(firsts[1:], len(order)) - firsts
        group = np.repeat(np.arange(len(firsts)), sizes)
        own = score[:, order]
        # Scores are 0..1, so the groups stay together.
        best_first = own[np.arange(len(own))[:, None], np.argsort(2.0 * group - own, axis=1)]
        is_best = np.arange(len(order)) - firsts[group] < BEST_OF_SESSION
        best = np.add.reduceat(np.where(is_best, best_first, 0), firsts, axis=1) / np.minimum(
            sizes, BEST_OF_SESSION
        )
        out = np.empty_like(score)
        out[:, order] = best[:, group]
        return out

    def _around(self, previous: Array, following: Array) -> Array:
        """Return the best base score two or three turns away in the session of each part."""
        best = np.zeros(len(self.pool), "f4")
        for column, neighbours in (("previous", previous), ("next", following)):
            second = self._step(neighbours, column)
            best = np.maximum(
                np.maximum(best, self._base[second]), self._base[self._step(second, column)]
            )
        return best

    def _step(self, parts: Array, column: str) -> Array:
        """Return the neighbours of parts, NONE for those missing in this view."""
        neighbours = self.view[column]
        targets = np.where(parts >= 0, neighbours[parts], NONE)
        return np.where(targets < len(neighbours), targets, NONE) if column == "next" else targets

    def _sibling(self) -> Array:
        """Return the best base score of the adjacent parts of the same event."""
        event, pool = self.view["event"], self.pool
        own, last = event[pool], self.view.size - 1
        # NONE before the first and after the last part.
        before, after = (
            pool - 1,
            np.where(pool < last, pool + 1, NONE),
        )
        return np.maximum(
            np.where(event[before] == own, self._base[before], 0),
            np.where(event[after] == own, self._base[after], 0),
        )

    def _speaker(self) -> Array:
        """Return 1 for parts of the one speaker that the query names, else 0.

        All are 0 if the query names several speakers.
        """
        query_words = words(self.question.text)
        names = {
            term(" ".join(query_words[i : i + n]))
            for n in (1, 2, 3)
            for i in range(len(query_words) - n + 1)
        }
        speakers = self.view.speakers & names
        if len(speakers) != 1:
            return np.zeros(len(self.pool), "f4")
        is_speaker: Array = self.view["speaker"][self.pool] == next(iter(speakers))
        return is_speaker.astype("f4")

    def _date(self) -> Array:
        """Return how near each part is to the date in the query: 0..1."""
        moment = self.question.moment
        if moment is None or moment.month is None:
            return np.zeros(len(self.pool), "f4")
        return nearness_to(self.view["occurred_ms"][self.pool], moment)

    def relevant(self, weights: Weights) -> Array:
        """Return which parts are strong enough to be returned: (size,) bool."""
        if self._strong is None or self._strong[0] is not weights:
            coverage, cosine = self.lexical.coverage, self.cosine
            passes = (
                (coverage >= weights.gate_coverage) | (cosine >= weights.gate_cosine)
            ) & self.allowed
            strong = (
                (coverage >= weights.floor_coverage) | (cosine >= weights.floor_cosine)
            ) & self.allowed
            self._strong = weights, strong if passes.any() else np.zeros(self.view.size, bool)
        return self._strong[1]

    def focus_candidates(self, phrase: ParsedQuery) -> Array:
        """Return the numbers of events that may contain a phrase.

        Some part of them has all its words, ignoring endings.
        """
        candidates = self.allowed.copy()
        for word in phrase.words:
            whole = [number for number, weight in word.terms.items() if weight == 1.0]
            matches = np.zeros((len(whole), self.view.size), bool)
            for row, number in zip(matches, whole, strict=True):
                row[self.view.find(number)[0]] = True
            candidates &= matches.all(axis=0) if word.in_pairs else matches.any(axis=0)
        return self.events_of(np.flatnonzero(candidates))

    def events_of(self, parts: Array) -> Array:
        """Return the numbers of the events of these parts, best base score first."""
        events = self.view["event"][parts[np.argsort(-self.base[parts], kind="stable")]]
        _, firsts = np.unique(events, return_index=True)
        return events[np.sort(firsts)]

    def ranked(
        self, weights: Weights, lifts: Mapping[int, float], most: int
    ) -> list[tuple[int, float, int]]:
        """Return the `most` best events, best first: (number, score 0..1, best part).

        `lifts` are added to the scores of events.
        """
        scores = self.event_scores(weights, lifts)
        peak = np.where(scores.is_returned, scores.peak, -np.inf)
        best = np.argsort(-peak, kind="stable")[
            : min(most, int(np.count_nonzero(scores.is_returned)))
        ]
        if not len(best):
            return []
        share = weights.as_share(peak[best], self._strength(scores.keep))
        return [
            (int(scores.events[at]), float(value), int(self.pool[scores.best_part(at)]))
            for at, value in zip(best, share, strict=True)
        ]

    def event_scores(self, weights: Weights, lifts: Mapping[int, float]) -> EventScores:
        """Return every event of the pool with its score, including those not returned.

        `lifts` are added to the scores of events.
        """
        if lifts:
            self._widen(lifts)
        if not len(self.pool):
            nothing = np.zeros(0, "f4")
            return EventScores(self.pool, self.pool, nothing, nothing > 0, nothing > 0, nothing)
        score = weights(self.features)
        events = self.view["event"][self.pool]
        keep = self.relevant(weights)[self.pool]
        if lifts:
            numbers = np.array(sorted(lifts))
            places = np.minimum(np.searchsorted(numbers, events), len(numbers) - 1)
            values = np.array([lifts[number] for number in numbers.tolist()], "f4")
            bonus = np.where(numbers[places] == events, values[places], np.float32(0))
            score = score + bonus
            keep |= bonus > 0
        # The parts of an event are adjacent in the pool; one strong part is enough.
        firsts = _firsts(events)
        is_returned = np.logical_or.reduceat(keep, firsts)
        if self._notices is not None:
            score = score - NOTICE_COST * notices_alone(self._notices[self.pool], keep, firsts)
        peak = np.maximum.reduceat(score, firsts)
        if len(self._suspects):
            peak -= SUSPECT_COST * np.isin(events[firsts], self._suspects)
        if self.decay is not None:
            peak -= self.decay.cost(self.view["occurred_ms"][self.pool[firsts]])
        if len(self._repeats):
            peak -= REPEATED_COST * np.isin(events[firsts], self._repeats)
        return EventScores(events[firsts], firsts, score, keep, is_returned, peak)

    def feature_values(self, weights: Weights, part: int) -> list[FeatureValue]:
        """Return every feature of a part of the pool, in the order of FEATURES."""
        row = self.features[int(np.searchsorted(self.pool, part))]
        ranks = 1 + np.count_nonzero(self.features > row, axis=0)
        return [
            FeatureValue(*values)
            for values in zip(
                FEATURES, row.tolist(), ranks.tolist(), weights.shares(row).tolist(), strict=True
            )
        ]

    def order_cost(self, part: int) -> float:
        """Return by how much the score of an event is reduced; `part` is its best part.

        Because it looks like a prompt injection, repeats another event, or a program wrote it.
        """
        event = self.view["event"][part]
        is_notice = self._notices is not None and self._notices[part]
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
        chosen = np.zeros(self.view.size, bool)
        chosen[self.pool] = True
        pool = np.flatnonzero(self._with_events(chosen, lifts) & self.allowed)
        if len(pool) > len(self.pool):
            self.pool = pool
            self.__dict__.pop("features", None)
            self.__dict__.pop("_repeats", None)

    def _with_events(self, chosen: Array, numbers: Iterable[int]) -> Array:
        """Return a copy of `chosen`, (size,) bool, with every part of these events chosen too."""
        event = self.view["event"]
        events = np.array(sorted(numbers))
        firsts, ends = np.searchsorted(event, events), np.searchsorted(event, events, "right")
        result = chosen.copy()
        for first, end in zip(firsts.tolist(), ends.tolist(), strict=True):
            result[first:end] = True
        return result

    def _strength(self, keep: Array) -> float:
        """Return how well the best of the returned parts fits the query on its own: 0..1."""
        parts = self.pool[keep]
        similarity = np.minimum(
            np.maximum(
                (self.cosine[parts] - COSINE_RANGE[0]) / (COSINE_RANGE[1] - COSINE_RANGE[0]), 0
            ),
            1,
        )
        return float(
            (1 - (1 - np.minimum(self.lexical.coverage[parts], 1)) * (1 - similarity)).max()
        )

    def matching(self, weights: Weights, lifts: Mapping[int, float]) -> int:
        """Return the number of events of the whole space that are strong enough or lifted."""
        strong = self._with_events(self.relevant(weights), lifts)
        events = self.view["event"][strong & self.allowed]  # ascending
        return int(np.count_nonzero(events[1:] != events[:-1])) + 1 if len(events) else 0

    def place_of(self, part: int) -> tuple[int, int]:
        """Return the side of its event that a part belongs to, and its passage number there."""
        event, side = self.view["event"], self.view["side"]
        first = part
        while first > 0 and event[first - 1] == event[part] and side[first - 1] == side[part]:
            first -= 1
        return int(side[part]), part - first

    def reasons(self, parts: Sequence[int]) -> list[list[Reason]]:
        """Return the strongest signals of each of some parts of the pool."""
        if not parts:
            return []
        places = np.searchsorted(self.pool, parts)
        rows = self.features[places].tolist()
        by_text = self._ranks(self.text, parts)
        by_cosine = self._ranks(self.cosine, parts)
        values = zip(rows, by_text, by_cosine, self.cosine[parts].tolist(), strict=True)
        return [
            _reasons(dict(zip(FEATURES, row, strict=True)), *signals) for row, *signals in values
        ]

    def _ranks(self, score: Array, parts: Sequence[int]) -> list[int]:
        """Return the ranks of some parts of the pool by a score; 1 is the largest."""
        ranks: list[int] = (
            1 + np.count_nonzero(score[self.pool] > score[parts][:, None], axis=1)
        ).tolist()
        return ranks


def _reasons(row: dict[str, float], by_text: int, by_cosine: int, cosine: float) -> list[Reason]:
    """Return the signals of a part with these features and ranks."""
    reasons: list[Reason] = []
    if row["text"] > 0:
        reasons.append(("text", by_text, row["text"]))
    if cosine > 0:
        reasons.append(("dense", by_cosine, cosine))
    reasons += [(name, None, row[name]) for name in ("speaker", "date") if row[name] > 0]
    others = {
        "session": max(row["session_text"], row["session_dense"]),
        "neighbour": max(row["previous"], row["next"], row["sibling"]),
    }
    return reasons + [(name, None, value) for name, value in others.items() if value >= NOTEWORTHY]


def _firsts(ordered: Array) -> Array:
    """Return the start of each run of equal values."""
    is_first = np.empty(len(ordered), bool)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def _stretched(score: Array, allowed: Array) -> Array:
    """Scale scores to 0..1 over the allowed parts."""
    if not allowed.any():
        return np.zeros(len(score), "f4")
    values = score if allowed.all() else score[allowed]
    low, high = float(values.min()), float(values.max())
    # np.clip has a higher overhead.
    return np.minimum(np.maximum((score - low) / (high - low + 1e-9), 0), 1).astype("f4")


def _largest(score: Array, about: int) -> Array:
    """Return the indices of about `about` of the largest scores, ascending.

    Never fewer, and at most four times as many.
    """
    # Estimate the threshold from a sample: comparing all scores with it is ten times faster than a
    # partial sort.
    sample = np.sort(score[:: max(1, len(score) // 8192)])
    least = sample[max(0, len(sample) - 1 - 2 * about * len(sample) // len(score))]
    places = np.flatnonzero(score >= least)
    if about <= len(places) <= 4 * about:
        return places
    return np.sort(np.argpartition(-score, about)[:about])
