"""Rank the events of a view for a query.

A trained network (ranker.py) weighs their features (features.py). It ranks a pool: the
events of the most promising parts, or all events of a space with up to POOL_PARTS_MAX parts.
Features are computed for the most promising events of the pool, the candidates (pool_events.py).
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
from .features import FEATURES, evidence_of, features_of
from .index.space_index import IndexView
from .pool_events import PartScores, PoolEvents
from .ranker import Ranker
from .scoring import LexicalScores, RankedEvent
from .stretch import NOTHING, Stretch
from .text.analysis import REPEATED, ParsedQuery, term, words

Array = npt.NDArray[Any]
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
