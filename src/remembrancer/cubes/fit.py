"""Decide whether a lesson fits a situation: the probability, from words and vectors.

A lesson is served unasked, so it must fit, not only be the nearest one. Each lesson is therefore
compared with lessons that are always there, the starter pack, whether or not it is in the store:
similarities are measured in standard deviations of those to the pack (as score normalization with a
cohort does in speaker verification: Auckenthaler, Carey, Lloyd-Thomas, 2000), and the lead of a
lesson over the pack is a feature. So the probability hardly depends on the embedder and on the
number of lessons in the store.

`python -m bench.lesson_fit --train` makes the weights of the logistic regression from labelled
situations; `python -m bench.lesson_fit` measures them on situations held out.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import islice
from math import exp, log, log1p, sqrt
from operator import itemgetter
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..search import Embedder
from ..search.text.analysis import identifier_names, words
from ..search.text.languages import BY_CODE, detect, stem
from .starter import load_starter

# The odds that a lesson must reach grow with the number of lessons: of more, more seem to fit
# by chance. At these values 98 % of the situations without a fitting lesson are left alone, with 1
# to 220 lessons.
FITS_MIN_LEAST = 0.1
_ODDS_OF_ONE, _ODDS_GROWTH = -3.0, 0.77  # log-odds for one lesson; growth per e-fold of lessons
_CHARACTERS_MAX = 8_000  # of a situation whose words are read
_DEVIATION_MIN = 0.03  # of cosines: those of a small or coarse embedder may all be equal
_LEVEL = 0  # place of the feature by which lessons are compared
SHARED_MIN = 2 / 3  # of the content words of the shorter of two texts that say the same
_LED_MAX = 20  # best other lessons whose mean a lesson's lead is measured from
_ENGLISH = BY_CODE["en"]
Vector: TypeAlias = npt.NDArray[np.float32]
Floats: TypeAlias = npt.NDArray[np.float64]
NO_VECTOR: Vector = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The work of an agent: the user's message, and what the turn contains besides."""

    message: str
    error: str = ""
    others: tuple[str, ...] = ()  # names of tools, paths of files


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarities:
    """Cosines of a lesson's head and rules: to the message, and the better one to the error."""

    head: float
    rules: float
    error: float


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of a lesson that are compared, and its similarities; None without vectors."""

    topic: str
    essence: str
    rules: str
    near: Similarities | None = None

    @property
    def head(self) -> str:
        """Topic and essence."""
        return f"{self.topic}. {self.essence}"

    @property
    def text(self) -> str:
        """All texts as one."""
        return f"{self.head}\n{self.rules}"


@dataclass(frozen=True, slots=True)
class Scale:
    """Mean and standard deviation of the cohort's cosines to one text."""

    mean: float = 0.0
    deviation: float = 0.0

    def apply(self, cosines: Any) -> Any:
        """Return cosines in standard deviations above the mean; 0 for a text without vector."""
        return (cosines - self.mean) / self.deviation if self.deviation else cosines * 0.0


class CohortTerms:
    """The terms of the lessons that every situation is compared with."""

    def __init__(self, lessons: Sequence[Wording]) -> None:
        self.size = len(lessons)
        terms = [(terms_of(lesson.head), terms_of(lesson.rules)) for lesson in lessons]
        places, head_places = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for place, (head, rules) in enumerate(terms):
            for term in head | rules:
                places[term].append(place)
            for term in head:
                head_places[term].append(place)
        self._idf = {term: self._idf_of(len(some)) for term, some in places.items()}
        self._rarest = self._idf_of(0)  # idf of a term of no lesson
        # Of the lessons with a term, and of those that have it in their heads.
        none = np.zeros(0, np.intp)
        self._places = {
            term: (np.array(some), np.array(head_places[term]) if term in head_places else none)
            for term, some in places.items()
        }
        self._head_mass = np.array([self.mass(head) or 1.0 for head, _ in terms])

    def _idf_of(self, count: int) -> float:
        return log1p((self.size - count + 0.5) / (count + 0.5))

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term; a term of no lesson is the rarest."""
        return self._idf.get(term, self._rarest)

    def mass(self, terms: Iterable[str]) -> float:
        """Return the sum of the inverse document frequencies of terms."""
        return sum(map(self.idf, terms))

    def shared_mass(self, terms: Iterable[str]) -> tuple[Floats, Floats]:
        """Return the mass of the terms that each lesson has, and the share of its head's mass.

        Both of shape (lessons,).
        """
        matched, in_head = np.zeros(self.size), np.zeros(self.size)
        for term in terms:
            if term in self._places:
                everywhere, heads = self._places[term]
                matched[everywhere] += self._idf[term]
                in_head[heads] += self._idf[term]
        return matched, in_head / self._head_mass


class Cohort:
    """The lessons that every situation is compared with, and their vectors."""

    def __init__(
        self, lessons: Sequence[Wording], terms: CohortTerms, embedder: Embedder | None
    ) -> None:
        self.heads = [lesson.head for lesson in lessons]
        self.terms = terms
        self._vectors = _encoded(lessons, embedder) if embedder is not None else None

    def cosines(self, message: Vector, error: Vector) -> list[Vector]:
        """Return the cosines of all lessons: heads and rules to the message, both to the error.

        Each of shape (lessons,), or (0,) without vectors.
        """
        if self._vectors is None or not len(message):
            return [NO_VECTOR] * 3
        heads, rules = self._vectors
        to_error = np.maximum(heads @ error, rules @ error) if len(error) else NO_VECTOR
        return [heads @ message, rules @ message, to_error]


class LessonTerms(NamedTuple):
    """The terms of a lesson, and their masses."""

    head: frozenset[str]
    rules: frozenset[str]
    topic: frozenset[str]
    head_mass: float
    rules_mass: float
    topic_mass: float


@lru_cache(maxsize=2_048)  # most searches meet the same lessons
def _lesson_terms(cohort: CohortTerms, head: str, rules: str, topic: str) -> LessonTerms:
    of_head, of_rules, of_topic = map(_read_terms, (head, rules, topic))
    masses = [cohort.mass(terms) or 1.0 for terms in (of_head, of_rules, of_topic)]
    return LessonTerms(of_head, of_rules, of_topic, *masses)


class WordOverlap(NamedTuple):
    """The words that a lesson shares with a situation, as features."""

    of_message: float  # share of the mass of the message
    matched: float  # mass
    in_head: float  # shares of the mass of each part of the lesson
    in_rules: float
    in_topic: float
    rarest: float  # idf


class SituationWords:
    """The words of a situation, and those that lessons share with it."""

    def __init__(self, situation: Situation, cohort: CohortTerms) -> None:
        self._cohort = cohort
        self._message = _situation_terms(situation.message[:_CHARACTERS_MAX])
        besides = " ".join((situation.error[:_CHARACTERS_MAX], *situation.others))
        self._all = self._message | _situation_terms(besides)
        self._mass = cohort.mass(self._message) or 1.0
        self.message_length = log1p(len(self._message))
        self.cohort_mass = cohort.shared_mass(self._all)
        self._overlaps: dict[tuple[str, str, str], WordOverlap] = {}  # by the texts

    def overlap(self, lesson: Wording) -> WordOverlap:
        """Return what a lesson shares with the situation."""
        key = lesson.head, lesson.rules, lesson.topic
        if key not in self._overlaps:
            terms = _lesson_terms(self._cohort, lesson.head, lesson.rules, lesson.topic)
            self._overlaps[key] = self._overlap(terms)
        return self._overlaps[key]

    def _overlap(self, terms: LessonTerms) -> WordOverlap:
        mass = self._cohort.mass
        in_head, in_rules = self._all & terms.head, self._all & terms.rules
        both = in_head | in_rules
        return WordOverlap(
            mass(self._message & both) / self._mass,
            mass(both),
            mass(in_head) / terms.head_mass,
            mass(in_rules) / terms.rules_mass,
            mass(self._all & terms.topic) / terms.topic_mass,
            max(map(self._cohort.idf, both), default=0.0),
        )


class LessonFit:
    """The probabilities that lessons fit one situation.

    `message` and `error` are the vectors of both texts, shape (dimensions,); empty where there is
    none, or without an embedder. `words` are those of the situation, if they are there already.
    """

    def __init__(
        self,
        situation: Situation,
        cohort: Cohort,
        message: Vector,
        error: Vector = NO_VECTOR,
        *,
        words: SituationWords | None = None,
    ) -> None:
        self._cohort = cohort
        self._words = words or SituationWords(situation, cohort.terms)
        cosines = cohort.cosines(message, error)
        self._has_vectors = len(cosines[0]) > 0
        self._scales = [
            Scale(float(row.mean()), max(float(row.std()), _DEVIATION_MIN)) if len(row) else Scale()
            for row in cosines
        ]
        scaled = [scale.apply(row) for scale, row in zip(self._scales, cosines, strict=True)]
        rows = [row for row in scaled if len(row)]
        nearest = np.maximum.reduce(rows) if rows else np.zeros(cohort.terms.size)
        self._levels: Floats = _level(nearest, *self._words.cohort_mass)

    def probabilities(self, lessons: Sequence[Wording]) -> list[float]:
        """Return the probability (0..1) that each lesson fits."""
        if not lessons:
            return []
        has_vectors = self._has_vectors and lessons[0].near is not None
        weights = _weights()["vectors" if has_vectors else "words"]
        scaled = (self.features(lessons) - weights.mean) / weights.scale
        chances: list[float] = (1 / (1 + np.exp(-scaled @ weights.slope - weights.bias))).tolist()
        return chances

    def features(self, lessons: Sequence[Wording]) -> Floats:
        """Return the features of lessons, shape (lessons, features), as the weights are ordered.

        The last ones are the lead of a lesson over all others: of the cohort and of `lessons`.
        """
        rows = [self._features(lesson) for lesson in lessons]
        others = [
            *zip(self._levels.tolist(), self._cohort.heads, strict=True),
            *((row[_LEVEL], lesson.head) for row, lesson in zip(rows, lessons, strict=True)),
        ]
        others.sort(key=itemgetter(0), reverse=True)
        for row, lesson in zip(rows, lessons, strict=True):
            best = list(islice((level for level, head in others if head != lesson.head), _LED_MAX))
            row += [row[_LEVEL] - fmean(best[:most]) for most in (1, 5, _LED_MAX)]
        return np.array(rows)

    def _features(self, lesson: Wording) -> list[float]:
        shared = self._words.overlap(lesson)
        near = lesson.near
        cosines = (0.0,) * 3 if near is None else (near.head, near.rules, near.error)
        scaled = [scale.apply(value) for scale, value in zip(self._scales, cosines, strict=True)]
        has_error = near is not None and self._scales[2].deviation > 0
        best = max(scaled if has_error else scaled[:2])
        return [
            _level(best, shared.matched, shared.in_head),
            *scaled,
            best,
            shared.of_message,
            shared.matched,
            sqrt(shared.matched),
            shared.in_head,
            shared.in_rules,
            shared.in_topic,
            shared.rarest,
            self._words.message_length,
            best * shared.matched,
            best * shared.in_head,
        ]


_cohorts: dict[str, Cohort] = {}  # by the name of the embedder
_cohorts_lock = threading.Lock()


def shared_words(situation: Situation, lesson: Wording, most: int) -> list[str]:
    """Return words of a situation that a lesson has too, as they are written, rarest first.

    At most `most`.
    """
    cohort = cohort_of(None).terms
    lesson_terms = terms_of(lesson.head) | terms_of(lesson.rules)
    text = " ".join((situation.message, situation.error, *situation.others))
    rarity: dict[str, float] = {}
    for word in words(text[:_CHARACTERS_MAX]):
        if shared := terms_of(word) & lesson_terms:
            rarity[word] = max(map(cohort.idf, shared))
    return sorted(rarity, key=lambda word: -rarity[word])[:most]


def fits_min(lessons: int) -> float:
    """Return the probability from which one of so many lessons is served."""
    odds = _ODDS_OF_ONE + _ODDS_GROWTH * log(max(lessons, 1))
    return max(1 / (1 + exp(-odds)), FITS_MIN_LEAST)


def chances(
    situation: Situation,
    embedder: Embedder | None,
    message: Vector,
    error: Vector,
    lessons: Sequence[Wording],
) -> list[float]:
    """Return the probability that each lesson fits: by words, or with vectors if that is higher.

    `embedder` None: the lessons have no similarities.
    """
    cohort = cohort_of(None)
    words = SituationWords(situation, cohort.terms)
    by_words = LessonFit(situation, cohort, NO_VECTOR, words=words)
    best = by_words.probabilities(lessons)
    if embedder is None:
        return best
    by_both = LessonFit(situation, cohort_of(embedder), message, error, words=words)
    return list(map(max, best, by_both.probabilities(lessons)))


@dataclass(frozen=True, slots=True)
class _Weights:
    """A logistic regression: features are centred and scaled, then weighed."""

    mean: Floats
    scale: Floats
    slope: Floats
    bias: float


@cache
def _weights() -> dict[str, _Weights]:
    text = resources.files(__package__).joinpath("fit_weights.json").read_text("utf-8")
    return {
        name: _Weights(
            np.array(row["mean"]), np.array(row["scale"]), np.array(row["slope"]), row["bias"]
        )
        for name, row in json.loads(text).items()
    }


@lru_cache(maxsize=2_048)
def terms_of(text: str) -> frozenset[str]:
    """Return the terms of a lesson, which most searches meet again."""
    return _read_terms(text)


def share_words(text: str, other: str) -> bool:
    """Return True if two texts share most of the content words of the shorter one, two at least."""
    terms, others = terms_of(text), terms_of(other)
    fewer = min(len(terms), len(others))
    return len(terms & others) >= max(SHARED_MIN * fewer, min(2, fewer), 1)


@lru_cache(maxsize=16)  # of the searches in progress: messages are long and seldom come again
def _situation_terms(text: str) -> frozenset[str]:
    return _read_terms(text)


def _read_terms(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text, and its identifiers."""
    text_words = words(text)
    language = detect(text_words, text)
    content = [
        word for word in text_words if word not in language.stop and word not in _ENGLISH.stop
    ]
    stems = {
        stem(word, number) for word in content for number in {language.number, _ENGLISH.number}
    }
    for one in identifier_names(text):
        stems |= {f"`{name}" for name in one.names}
        stems |= {stem(word, _ENGLISH.number) for word in one.humps}
    return frozenset(stems)


def cohort_of(embedder: Embedder | None) -> Cohort:
    """Return the starter pack as the cohort; the first time takes half a second."""
    name = "" if embedder is None else embedder.name
    with _cohorts_lock:
        if name not in _cohorts:
            _cohorts[name] = Cohort(_starter_lessons(), _starter_terms(), embedder)
        return _cohorts[name]


@cache
def _starter_lessons() -> list[Wording]:
    return [Wording(one.topic, one.essence, one.rules) for one in load_starter()]


@cache
def _starter_terms() -> CohortTerms:
    return CohortTerms(_starter_lessons())


def _encoded(lessons: Sequence[Wording], embedder: Embedder) -> tuple[Vector, Vector]:
    """Return the vectors of heads and rules, shape (lessons, dimensions) each."""
    heads, rules = [one.head for one in lessons], [one.rules for one in lessons]
    vectors = embedder.encode([*heads, *rules])
    return vectors[: len(lessons)], vectors[len(lessons) :]


def _level(nearest: Any, matched: Any, in_head: Any) -> Any:
    """Return one number for how well a lesson fits; its weights order the candidates."""
    return 0.7 * nearest + matched / 4 + 2 * in_head
