"""From scores to a ranking: what a part's neighbours, session, date and speaker add, weighed by a
trained linear model.

The weights are in `weights.json`, trained by `bench/train_ranker.py`. Everything here works on a
pool: the parts worth a closer look. In a space of up to POOL_PARTS_MAX parts that is all of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .index.space_index import NONE, IndexView
from .scoring import LexicalScores
from .text.analysis import QUESTION, SUSPECT, TIME, DateHint, ParsedQuery, term, words

Array = npt.NDArray[Any]
Reason: TypeAlias = tuple[str, int | None, float]  # a signal, the rank by it or None, its value

POOL_PARTS_MAX = 4096
LEXICAL_SHARE = 0.4  # of the base score; the vector has the rest
# texts of one subject lie in it: below is chance, above is nearly the same sentence
COSINE_RANGE = (
    0.15,
    0.65,
)
NOTEWORTHY = 0.5  # a session or a neighbour scoring so much is named as a reason
BEST_OF_SESSION = 3  # so many of a session's best parts speak for it
# taken from the score of an event that seems to give orders to its reader: behind what fits about
# as well
SUSPECT_COST = 2.0
DATE_DAYS = 7.0  # a date in the question reaches about a week around itself
FEATURES = (
    "text", "dense", "previous", "next", "previous_asks", "session_text", "session_dense", "speaker",
    "date", "asks", "length", "when_time", "base_length", "coverage", "sibling", "around", "time",
    "text_squared", "dense_squared",
)  # fmt: skip
# of FEATURES, as people think of them; what is in none is about how the passage is written
SIGNALS = {
    "text": ("text", "coverage", "text_squared"),
    "dense": ("dense", "dense_squared"),
    "neighbour": ("previous", "next", "previous_asks", "sibling", "around"),
    "session": ("session_text", "session_dense"),
    "speaker": ("speaker",),
    "date": ("date",),
}
_NUMBERS = ("slope", "gate_coverage", "gate_cosine", "floor_coverage", "floor_cosine")


@dataclass(frozen=True, slots=True)
class Weights:
    """A trained linear ranker: score = sum(weight * (feature - mean) / deviation)."""

    weight: Array
    mean: Array
    deviation: Array
    slope: float  # how much a step of score changes the odds that a part answers
    gate_coverage: float  # a question whose best part is below both gates has no answer here
    gate_cosine: float
    floor_coverage: float  # an event all of whose parts are below both floors is not returned
    floor_cosine: float

    def __call__(self, features: Array) -> Array:
        """Scores (parts,) of features (parts, len(FEATURES)); higher is better, about 0 on average."""
        return ((features - self.mean) / self.deviation) @ self.weight

    def shares(self, features: Array) -> Array:
        """What each feature adds to `start`:

        (parts, len(FEATURES)), whose sums with it are the scores.
        """
        shares: Array = features / self.deviation * self.weight
        return shares

    @property
    def start(self) -> float:
        """The score of a part all of whose features are 0:

        of average length, with nothing of what was asked for in or around it.
        """
        return float(-(self.mean / self.deviation * self.weight).sum())

    def as_share(self, score: Array, strength: float) -> Array:
        """Scores, best first, as 0..1 in the same order:

        the best is the strength of the evidence, the others fall off from it.
        """
        return strength * np.exp(self.slope / 2 * (score - score[:1]))


def load_weights(name: str) -> Weights:
    """The weights trained for an embedder (`multilingual`) or for text alone (`none`)."""
    table = json.loads(resources.files(__package__).joinpath("weights.json").read_text("utf-8"))
    row = table.get(name.partition("/")[0]) or table["multilingual" if name != "none" else "none"]
    if tuple(row["features"]) != FEATURES:
        raise ValueError("weights.json was trained on other features; run bench/train_ranker.py")
    columns: dict[str, Any] = {
        key: np.array(row[key], "f4") for key in ("weight", "mean", "deviation")
    }
    columns |= {key: float(row[key]) for key in _NUMBERS}
    return Weights(**columns)


@dataclass(frozen=True, slots=True)
class EventScores:
    """Where the E events of a pool of P parts stand, each as high as the best of its parts."""

    events: Array  # (E,) their numbers, ascending
    firsts: Array  # (E,) where in the pool the parts of each begin
    score: Array  # (P,) of the parts
    keep: Array  # (P,) bool: strong enough to be returned
    kept: Array  # (E,) bool: has such a part
    peak: Array  # (E,) best score, less SUSPECT_COST where it seems to give orders

    def best_part(self, at: int) -> int:
        """The place in the pool of the best part of the event at place `at`."""
        first, *following = self.firsts[at : at + 2].tolist()
        scores = self.score[first : following[0] if following else None].tolist()
        return int(first + scores.index(max(scores)))


class FeatureValue(NamedTuple):
    """One feature of a part."""

    feature: str
    value: float
    rank: int  # among the parts of the pool, 1 = the largest value
    adds: float  # to Weights.start


class Ranking:
    """The parts of a view that a question may mean, with every signal about them; P parts in the
    pool.
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
        self.text = _stretched(text.score, self.allowed)
        is_near = bool(cosine.any())
        self.dense = _stretched(cosine, self.allowed) if is_near else np.zeros(view.size, "f4")
        share = LEXICAL_SHARE if is_near else 1.0
        # and of the neighbour that is not there, at NONE: nothing
        self._base = np.zeros(view.size + 1, "f4")
        self.base = self._base[:-1]
        np.add(share * self.text, (1 - share) * self.dense, out=self.base)
        self.pool = self._pool()
        self._strong: tuple[Weights, Array] | None = None

    def _pool(self) -> Array:
        allowed = np.flatnonzero(self.allowed)
        if len(allowed) <= POOL_PARTS_MAX:
            return allowed
        best = allowed[_largest(self.base[allowed], POOL_PARTS_MAX // 8)]
        top = best[np.argsort(-self.base[best])[: POOL_PARTS_MAX // 8]]
        chosen = np.zeros(self.view.size, bool)
        chosen[best] = True
        for column in ("previous", "next"):
            near = self._step(top, column)
            chosen[near[near >= 0]] = True
        return np.flatnonzero(chosen & self.allowed)

    @cached_property
    def features(self) -> Array:
        """(P, len(FEATURES)) f4."""
        view, pool, base = self.view, self.pool, self._base
        flags = view["flags"]
        flagged = flags[pool]
        text, dense, own = self.text[pool], self.dense[pool], self.base[pool]
        previous, following = self._step(pool, "previous"), self._step(pool, "next")
        before, after = base[previous], base[following]
        when = flagged & TIME > 0
        mean, deviation = view.log_length
        length = (np.log1p(view["length"][pool]) - mean) / deviation
        session_text, session_dense = self._session_best(text, dense)
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
        """For each of some scores (P,), and each part of the pool, the mean of its session's best:

        (scores, P).
        """
        score = np.stack(scores)
        if not score.shape[1]:
            return score
        session = self.view["session"][self.pool]
        # nearly in order already: sessions follow each other in time
        order = np.argsort(session, kind="stable")
        firsts = _firsts(session[order])
        sizes = np.append(firsts[1:], len(order)) - firsts
        group = np.repeat(np.arange(len(firsts)), sizes)
        own = score[:, order]
        # scores are 0..1: groups stay together
        best_first = own[np.arange(len(own))[:, None], np.argsort(2.0 * group - own, axis=1)]
        is_best = np.arange(len(order)) - firsts[group] < BEST_OF_SESSION
        best = np.add.reduceat(np.where(is_best, best_first, 0), firsts, axis=1) / np.minimum(
            sizes, BEST_OF_SESSION
        )
        out = np.empty_like(score)
        out[:, order] = best[:, group]
        return out

    def _around(self, previous: Array, following: Array) -> Array:
        """For each part of the pool, the best base score two or three places away in its session;
        its neighbours are known.
        """
        best = np.zeros(len(self.pool), "f4")
        for column, beside in (("previous", previous), ("next", following)):
            second = self._step(beside, column)
            best = np.maximum(
                np.maximum(best, self._base[second]), self._base[self._step(second, column)]
            )
        return best

    def _step(self, parts: Array, column: str) -> Array:
        """The neighbours of parts, NONE where there is none (or none yet in this view)."""
        beside = self.view[column]
        there = np.where(parts >= 0, beside[parts], NONE)
        return np.where(there < len(beside), there, NONE) if column == "next" else there

    def _sibling(self) -> Array:
        """For each part of the pool, the best base score among the other parts of its event that
        stand beside it.
        """
        event, pool = self.view["event"], self.pool
        own, last = event[pool], self.view.size - 1
        # beside the first and the last is NONE
        before, after = (
            pool - 1,
            np.where(pool < last, pool + 1, NONE),
        )
        return np.maximum(
            np.where(event[before] == own, self._base[before], 0),
            np.where(event[after] == own, self._base[after], 0),
        )

    def _speaker(self) -> Array:
        """1 for the parts of the one speaker the question names; 0 everywhere when it names none or
        several.
        """
        spoken = words(self.question.text)
        names = {
            term(" ".join(spoken[i : i + n])) for n in (1, 2, 3) for i in range(len(spoken) - n + 1)
        }
        named = self.view.speakers & names
        if len(named) != 1:
            return np.zeros(len(self.pool), "f4")
        spoke: Array = self.view["speaker"][self.pool] == next(iter(named))
        return spoke.astype("f4")

    def _date(self) -> Array:
        """How near each part of the pool is to the time the question names: 0..1."""
        moment = self.question.moment
        if moment is None or moment.month is None:
            return np.zeros(len(self.pool), "f4")
        return _nearness(self.view["occurred_ms"][self.pool], moment)

    def relevant(self, weights: Weights) -> Array:
        """(size,) bool: the parts strong enough to be returned at all."""
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
        """Numbers of the events that may hold a phrase:

        some part has all its words, their endings aside.
        """
        kept = self.allowed.copy()
        for word in phrase.words:
            whole = [one for one, weight in word.terms.items() if weight == 1.0]
            held = np.zeros((len(whole), self.view.size), bool)
            for row, one in zip(held, whole, strict=True):
                row[self.view.find(one)[0]] = True
            kept &= held.all(axis=0) if word.in_pairs else held.any(axis=0)
        return self.events_of(np.flatnonzero(kept))

    def events_of(self, parts: Array) -> Array:
        """Numbers of the events that these parts are of, each once, the one with the best base
        score first.
        """
        events = self.view["event"][parts[np.argsort(-self.base[parts], kind="stable")]]
        _, firsts = np.unique(events, return_index=True)
        return events[np.sort(firsts)]

    def ranked(
        self, weights: Weights, lifts: Mapping[int, float], most: int
    ) -> list[tuple[int, float, int]]:
        """The `most` best events, best first:

        (event number, score 0..1, its best part). `lifts` are added to an event's score.
        """
        judged = self.judged(weights, lifts)
        peak = np.where(judged.kept, judged.peak, -np.inf)
        best = np.argsort(-peak, kind="stable")[: min(most, int(np.count_nonzero(judged.kept)))]
        if not len(best):
            return []
        share = weights.as_share(peak[best], self._strength(judged.keep))
        return [
            (int(judged.events[at]), float(s), int(self.pool[judged.best_part(at)]))
            for at, s in zip(best, share, strict=True)
        ]

    def judged(self, weights: Weights, lifts: Mapping[int, float]) -> EventScores:
        """Every event of the pool with its score, those that are not returned too."""
        if lifts:
            self._widen(lifts)
        if not len(self.pool):
            nothing = np.zeros(0, "f4")
            return EventScores(self.pool, self.pool, nothing, nothing > 0, nothing > 0, nothing)
        score = weights(self.features)
        events = self.view["event"][self.pool]
        keep = self.relevant(weights)[self.pool]
        if lifts:
            bonus = np.array([lifts.get(int(event), 0.0) for event in events], "f4")
            score = score + bonus
            keep |= bonus > 0
        # The parts of an event stand side by side in the pool: one that is strong enough keeps them
        # all.
        firsts = _firsts(events)
        kept = np.logical_or.reduceat(keep, firsts)
        peak = np.maximum.reduceat(score, firsts)
        if len(self._suspects):
            peak -= SUSPECT_COST * np.isin(events[firsts], self._suspects)
        return EventScores(events[firsts], firsts, score, keep, kept, peak)

    def measures(self, weights: Weights, part: int) -> list[FeatureValue]:
        """Every feature of a part of the pool, in the order of FEATURES."""
        row = self.features[int(np.searchsorted(self.pool, part))]
        ranks = 1 + np.count_nonzero(self.features > row, axis=0)
        return [
            FeatureValue(*told)
            for told in zip(
                FEATURES, row.tolist(), ranks.tolist(), weights.shares(row).tolist(), strict=True
            )
        ]

    def is_suspect(self, event: int) -> bool:
        """Whether an event has a part that seems to give orders to its reader, and so ranks lower."""
        return bool(np.isin(event, self._suspects))

    def beside(self, part: int, column: str) -> int | None:
        """A part of the turn before (`previous`) or after (`next`) that of a part in its session:

        the nearest one that is there still.
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
        """Numbers of the events with a part that seems to give orders to its reader, whether that
        part is in the pool or not.
        """
        return self.view["event"][np.flatnonzero(self.view["flags"] & SUSPECT)]

    def _widen(self, lifts: Mapping[int, float]) -> None:
        """Take the lifted events into the pool."""
        event = self.view["event"]
        chosen = np.zeros(self.view.size, bool)
        chosen[self.pool] = True
        for number in lifts:
            chosen[slice(*np.searchsorted(event, [number, number + 1]))] = True
        self.pool = np.flatnonzero(chosen & self.allowed)
        self.__dict__.pop("features", None)

    def _strength(self, keep: Array) -> float:
        """How well the best of the kept parts fits the question by itself:

        0..1, whatever else the space holds.
        """
        parts = self.pool[keep]
        alike = np.minimum(
            np.maximum(
                (self.cosine[parts] - COSINE_RANGE[0]) / (COSINE_RANGE[1] - COSINE_RANGE[0]), 0
            ),
            1,
        )
        return float((1 - (1 - np.minimum(self.lexical.coverage[parts], 1)) * (1 - alike)).max())

    def matching(self, weights: Weights, lifts: Mapping[int, float]) -> int:
        """How many events of the whole space are strong enough, or lifted."""
        strong = self.relevant(weights)
        event = self.view["event"]
        if lifts:
            strong = strong.copy()
        for number in lifts:
            strong[slice(*np.searchsorted(event, [number, number + 1]))] = True
        events = event[strong & self.allowed]  # ascending
        return int(np.count_nonzero(events[1:] != events[:-1])) + 1 if len(events) else 0

    def place_of(self, part: int) -> tuple[int, int]:
        """The side of its event that a part is of, and which passage of that side it is."""
        event, side = self.view["event"], self.view["side"]
        first = part
        while first > 0 and event[first - 1] == event[part] and side[first - 1] == side[part]:
            first -= 1
        return int(side[part]), part - first

    def reasons(self, parts: Sequence[int]) -> list[list[Reason]]:
        """Why each of some parts of the pool was found, by its strongest signals only."""
        if not parts:
            return []
        places = np.searchsorted(self.pool, parts)
        rows = self.features[places].tolist()
        by_text = self._ranks(self.text, parts)
        by_cosine = self._ranks(self.cosine, parts)
        told = zip(rows, by_text, by_cosine, self.cosine[parts].tolist(), strict=True)
        return [_reasons(dict(zip(FEATURES, row, strict=True)), *signals) for row, *signals in told]

    def _ranks(self, score: Array, parts: Sequence[int]) -> list[int]:
        """The ranks of some parts of the pool by a score, 1 = the largest."""
        ranks: list[int] = (
            1 + np.count_nonzero(score[self.pool] > score[parts][:, None], axis=1)
        ).tolist()
        return ranks


def _reasons(row: dict[str, float], by_text: int, by_cosine: int, cosine: float) -> list[Reason]:
    """The signals of one part, whose features are in `row`, and its ranks."""
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
    """Where each stretch of equal values begins."""
    begins = np.empty(len(ordered), bool)
    begins[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return np.flatnonzero(begins)


def _stretched(score: Array, allowed: Array) -> Array:
    """Scores as 0..1 over the parts that count."""
    if not allowed.any():
        return np.zeros(len(score), "f4")
    counted = score if allowed.all() else score[allowed]
    low, high = float(counted.min()), float(counted.max())
    # `clip` takes longer to begin
    return np.minimum(np.maximum((score - low) / (high - low + 1e-9), 0), 1).astype("f4")


def _largest(score: Array, about: int) -> Array:
    """Places of about so many of the largest scores, ascending:

    never fewer, at most four times as many.
    """
    # A sample tells where to cut; a look through all scores is then ten times quicker than a
    # partial sort.
    sample = np.sort(score[:: max(1, len(score) // 8192)])
    least = sample[max(0, len(sample) - 1 - 2 * about * len(sample) // len(score))]
    places = np.flatnonzero(score >= least)
    if about <= len(places) <= 4 * about:
        return places
    return np.sort(np.argpartition(-score, about)[:about])


def _nearness(occurred_ms: Array, moment: DateHint) -> Array:
    dates = occurred_ms.astype("M8[ms]")
    years = dates.astype("M8[Y]").astype("i8") + 1970
    months = dates.astype("M8[M]").astype("i8") % 12 + 1
    if moment.day is not None and moment.month is not None:
        day_of_year = (dates.astype("M8[D]") - dates.astype("M8[Y]").astype("M8[D]")).astype("i8")
        asked = (
            (np.datetime64(f"2001-{moment.month:02d}-01") - np.datetime64("2001-01-01")).astype(
                "i8"
            )
            + moment.day
            - 1
        )
        apart = np.abs(day_of_year - asked)
        near: Array = np.exp(-np.minimum(apart, 365 - apart) / DATE_DAYS)
    else:
        near = (months == moment.month).astype("f8")
    if moment.year is not None:
        near = near * (years == moment.year)
    return near.astype("f4")
