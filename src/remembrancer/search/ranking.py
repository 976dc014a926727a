"""Rank the events of a view for a query: one score of each event, and the order of the scores.

A search scores the passages by words and by vector (scoring.py), takes the events of the most
promising ones (`PoolEvents`), describes them by a few features (`features_of`), adds the trees of a
trained ranker over these (`Ranker`), and adds what is known beside the match (`Adjustments`): lifts
of focus words and summaries, costs of suspects, repetitions and statements that no longer hold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .embedders.regressions import load_regression
from .index.space_index import IndexView
from .scoring import (
    LexicalScores,
    RankedEvent,
    nearness_to,
    starts_of_runs,
    term_matches,
    unit_vectors,
)
from .text.analysis import (
    EMPTY,
    IN_SESSION,
    NOTICE,
    QUERY,
    QUESTION,
    REPEATED,
    RESPONSE,
    SUSPECT,
    UNVERIFIED,
    ParsedQuery,
    term,
    words,
)

Array = npt.NDArray[Any]

# --- A linear scale from the range of some scores to 0..1 ------------------------------------

RANGE_MIN = 1e-9  # added to a range of scores, which may be 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A linear scale from the range of some scores to 0..1."""

    low: float
    slope: float  # the difference on this scale for a difference of 1
    cuts: bool  # some scores are outside of the range

    @classmethod
    def over(cls, scores: Array, among: Array | None, share: float = 1.0) -> Stretch:
        """Return the scale that stretches scores to 0..`share`: those at `among`, None for all."""
        values = scores if among is None else scores.take(among)
        if not len(values) or share <= 0:
            return NOTHING
        low, high = float(values.min()), float(values.max())
        return cls(low, share / (high - low + RANGE_MIN), cuts=among is not None)

    def apply(self, values: Array) -> Array:
        """Change values (float32) to this scale and return them; scores outside are cut to 0..1."""
        values -= self.low
        values *= np.float32(self.slope)
        if self.cuts:
            np.maximum(values, 0, out=values)
            np.minimum(values, 1, out=values)
        return values


NOTHING = Stretch(0.0, 0.0, cuts=False)  # all scores become 0


# --- The events of a pool and their passages -------------------------------------------------
# A turn has two sides, the user's words (`query`) and the response to them; each side may have
# several passages, called parts.

LEXICAL_SHARE = 0.4  # of the score of a part by words and vector; the cosine has the rest
CANDIDATES_MAX = 200  # events of a pool that the ranker scores; the others follow them


class PoolEvents:
    """The E events of some parts of a view (P,), in the order of their numbers."""

    def __init__(self, ranking: Ranking, parts: Array) -> None:
        """Take the places of the parts in the view, ascending: all allowed parts of each event."""
        view = ranking.view
        self.view, self.parts = view, parts
        self.rows = ranking.rows_of(parts)
        self.flags = view["flags"][parts]
        event = view["event"][parts]
        self.firsts = starts_of_runs(event)  # (E,) the place in `parts` of the first part of each
        self.ends = np.append(self.firsts[1:], len(parts))  # (E,) and that after the last one
        self.numbers = event[self.firsts]  # (E,) within the space
        # (P,) the event's place
        self.of_part = np.arange(len(self.firsts)).repeat(self.ends - self.firsts)
        self.best = self.most(self.rows[2])  # (E,)
        is_best = (self.rows[2] >= self.best[self.of_part]).nonzero()[0]
        # (E,) the place in `parts` of the part that fits best, the first of equal ones
        self.places_of_best = is_best[starts_of_runs(self.of_part[is_best])]
        # (C,) the places of the most promising events, ascending; C <= CANDIDATES_MAX
        self.candidates = np.arange(len(self.firsts))
        if len(self.firsts) > CANDIDATES_MAX:
            self.candidates = np.sort((-self.best).argpartition(CANDIDATES_MAX)[:CANDIDATES_MAX])

    def most(self, values: Array) -> Array:
        """Return the largest value of the parts of each event: (..., P) to (..., E).

        Of bool, which events have any such part.
        """
        result: Array = np.maximum.reduceat(values, self.firsts, axis=-1)
        return result

    def lifted(self, lifts: Mapping[int, float]) -> Array:
        """Return what is added to each event, by number of the event: (E,) f4."""
        numbers, values = np.array(list(lifts)), np.array(list(lifts.values()), "f4")
        places = np.minimum(self.numbers.searchsorted(numbers), len(self.numbers) - 1)
        result: Array = np.zeros(len(self.numbers), "f4")
        is_here = self.numbers[places] == numbers
        result[places[is_here]] = values[is_here]
        return result

    def neighbours(self, before: Array, after: Array) -> tuple[Array, Array]:
        """Return the places of the events before some and after others in their sessions.

        `before` and `after` are places, -1 for none; so are the results.
        """
        view, parts, numbers = self.view, self.parts, self.numbers
        part = np.concatenate(
            [
                view["previous"][parts[self.firsts[before]]],
                view["next"][parts[self.ends[after] - 1]],
            ]
        )
        exists = np.concatenate([before, after]) >= 0
        exists &= part >= 0
        exists &= part < view.size  # a newer turn may have followed
        part *= exists
        number = view["event"][part]
        place = numbers.searchsorted(number)
        np.minimum(place, len(numbers) - 1, out=place)
        exists &= numbers[place] == number
        place[~exists] = -1
        return place[: len(before)], place[len(before) :]


# --- The features of events: how well each matches the query ---------------------------------
# They mean the same for every kind of memory: no lengths, no counts, nothing about how people
# write. A ranker may only rise with them.

FEATURES = (
    "text", "dense", "best", "query_best", "response_best", "covered",
    "previous", "next", "around", "speaker", "date",
)  # fmt: skip
# FEATURES grouped as people think of them.
SIGNALS = {
    "text": ("text", "covered"),
    "dense": ("dense",),
    "text and dense": ("best", "query_best", "response_best"),
    "neighbour": ("previous", "next", "around"),
    "speaker": ("speaker",),
    "date": ("date",),
}
SIDES = np.array([[QUERY], [RESPONSE]])
FEW_EVENTS = 10  # in a memory of so many events, neighbours and the mean score count half


class WordMatches(NamedTuple):
    """Which of the W words of a query the E events have."""

    has: Array  # (W, E) bool
    share: Array  # (W,) of the query's idf mass: sums to 1


def features_of(
    ranking: Ranking, pool: PoolEvents, places: Array
) -> tuple[Array, WordMatches | None]:
    """Return the features of some events of a pool, (C, len(FEATURES)) f4; `places` (C,) ascend.

    And which of the query's words the events have; None if it has no word.
    """
    if not len(places):
        return np.zeros((0, len(FEATURES)), "f4"), None
    view, matched = ranking.view, None
    question, lexical = ranking.question, ranking.lexical
    matches = lexical.matches
    if lexical.words != question.words:  # the scores count focus words, too
        matches = term_matches(view, question.words)
    if matches is not None:
        of_event = np.full(len(pool.firsts), -1, "i4")
        of_event[places] = np.arange(len(places))
        slot = np.full(view.size, -1, "i4")  # of each part: its event, -1 for others and notices
        slot[pool.parts] = of_event[pool.of_part]
        if ranking.notices is not None:
            slot[ranking.notices] = -1
        at = slot.take(matches.parts)
        inside = (at >= 0).nonzero()[0]
        of_term = np.zeros((len(matches.idf), len(places)), bool)
        of_term[matches.terms[inside], at[inside]] = True
        mass = np.maximum.reduceat(matches.idf, matches.first_terms)
        has = np.logical_or.reduceat(of_term, matches.first_terms, axis=0)
        matched = WordMatches(has, mass / (float(np.add.reduce(mass)) or 1.0))
    columns = np.zeros((len(FEATURES), len(places)), "f4")
    columns[:3] = pool.rows[:, pool.places_of_best[places]]
    columns[3:5] = pool.most(pool.rows[2] * (view["side"][pool.parts] == SIDES))[:, places]
    if matched is not None:
        columns[5] = matched.share @ matched.has
    # Among few events nearly all are adjacent to the best one, which tells nothing.
    share = np.float32(len(pool.best) / (len(pool.best) + FEW_EVENTS))
    best = np.append(pool.best * share, np.float32(0))  # place -1, a missing neighbour, has 0
    previous, following = pool.neighbours(places, places)
    second, after_next = pool.neighbours(previous, following)
    columns[6:9] = best[previous], best[following], np.maximum(best[second], best[after_next])
    if speaker := ranking.speaker:
        columns[9] = pool.most(view["speaker"][pool.parts] == speaker)[places]
    moment = question.moment
    if moment is not None and moment.month is not None:
        columns[10] = nearness_to(view["occurred_ms"][pool.parts[pool.firsts[places]]], moment)
    return columns.T, matched


# --- Whether a later statement takes the place of an earlier one -----------------------------


@dataclass(frozen=True)
class Succession:
    """A logistic regression over the vectors of two statements, and their product by elements.

    `bench/train_succession.py` trained it on pairs of statements in seven languages.
    """

    both: Array  # (dimensions,) f4
    later_weights: Array
    earlier_weights: Array
    offset: float

    def __call__(self, earlier: Array, later: Array) -> Array:
        """Return the log odds that each of N later statements replaces each earlier one: (M, N).

        Vectors are (M, dimensions) and (N, dimensions), of length 1; those of other dimensions,
        which another embedder made, replace nothing.
        """
        if earlier.shape[1] != len(self.both):
            return np.full((len(earlier), len(later)), -np.inf, "f4")
        odds: Array = (earlier * self.both) @ later.T + later @ self.later_weights + self.offset
        odds += (earlier @ self.earlier_weights)[:, None]
        return odds


@cache
def load_succession(name: str) -> Succession | None:
    """Load the regression for the vectors of an embedder; None for one that has none."""
    rows = json.loads(resources.files(__package__).joinpath("succession.json").read_text("utf-8"))
    if (row := rows.get(name.partition("/")[0])) is None:
        return None
    both, later, earlier = (np.array(row[key], "f4") for key in ("both", "later", "earlier"))
    return Succession(both, later, earlier, row["offset"])


# --- The trained ranker: trees that rise with every feature ----------------------------------
# Its parameters are in `ranker.json`, trained by `bench/train_ranker.py`.

TEXT, DENSE, BEST = (FEATURES.index(name) for name in ("text", "dense", "best"))
# What tells whether a memory answers a query: the best cosine, the largest share of the query's
# words in one event, how many words those are, how many events had the chance to fit, and by how
# much the best event stands out.
EVIDENCE = (
    "cosine", "covered", "cosine_covered", "content_words", "words_covered", "events",
    "lead",
)  # fmt: skip


@dataclass(frozen=True)
class Ranker:
    """Plain fusion (`prior` times `best`) plus T complete binary trees of depth D.

    Node n of a tree has the children 2n + 1 (its feature is at most the threshold) and 2n + 2. The
    trees were trained to be monotone: a score never falls where a feature rises. Source: Friedman,
    "Greedy Function Approximation: A Gradient Boosting Machine", 2001.
    """

    prior: float
    feature: Array  # (T, 2 ** D - 1) i8
    threshold: Array  # (T, 2 ** D - 1) f4
    value: Array  # (T, 2 ** (D + 1) - 1) f4: the leaves come last; of inner nodes, their mean
    # Logistic curves from scores to chances, which end with the offset: of `answerable`, from the
    # evidence, (len(EVIDENCE) + 1,), and of a hit, from the log of the share of its score and the
    # log odds of `answerable`, (3,).
    answerable: Array
    hit: Array
    succession: Succession | None = None

    def __call__(self, features: Array) -> Array:
        """Return the scores (E,) of features (E, len(FEATURES)).

        In units of log odds: of two events of a search, one that scores higher by 1 is e times as
        likely to answer.
        """
        score: Array = self._leaf_values.take(self._leaves(features)).sum(axis=0)
        score += self.prior * features[:, BEST]
        return score

    @cached_property
    def _leaf_values(self) -> Array:
        leaves: Array = self.value[:, self.feature.shape[1] :].ravel()
        return leaves

    @cached_property
    def _tests(self) -> tuple[Array, Array, Array]:
        """The distinct tests of all nodes, and which of them each node has.

        Features (U,), thresholds (U, 1), and places in these (T * nodes,): a node is followed by
        the nodes on its left, then by those on its right.
        """
        order = _depth_first(0, self.feature.shape[1])
        nodes = [self.feature[:, order].ravel(), self.threshold[:, order].ravel()]
        tests, places = np.unique(np.array(nodes, "f8"), axis=1, return_inverse=True)
        return tests[0].astype("i8"), tests[1].astype("f4")[:, None], places.reshape(-1)

    def _leaves(self, features: Array) -> Array:
        """Return the leaf of each tree that each event ends in, of the leaves of all: (T, E)."""
        feature, threshold, places = self._tests
        trees, inner = self.feature.shape
        is_above = (features.T.take(feature, axis=0) > threshold).view("u1")
        nodes = is_above.take(places, axis=0).reshape(trees, inner, -1)
        leaf = np.zeros((trees, 1), "u1")
        while nodes.shape[1]:
            # Of both halves the one that the first node points to: whole rows are faster than
            # looking up elements.
            is_right, rest = nodes[:, 0], nodes[:, 1:]
            left, right = rest[:, : rest.shape[1] // 2], rest[:, rest.shape[1] // 2 :]
            leaf = 2 * leaf + is_right
            nodes = left ^ (is_right[:, None] & (left ^ right))
        leaves: Array = leaf + np.arange(trees)[:, None] * (inner + 1)
        return leaves

    @cached_property
    def start(self) -> float:
        """The score of an event of which nothing is known: the mean of the trees."""
        return float(self.value[:, 0].sum())

    def contributions(self, features: Array) -> Array:
        """Return what each feature adds to `start`: (len(FEATURES),) for one event's features.

        They sum exactly to its score less `start`: each node on the way to a leaf gives its feature
        the change of the mean. Source: Saabas, "Interpreting random forests", 2014.
        """
        result = np.zeros(len(FEATURES))
        # Plain fusion is a sum: what the vector adds, and the rest.
        result[DENSE] = self.prior * (1 - LEXICAL_SHARE) * features[DENSE]
        result[TEXT] = self.prior * features[BEST] - result[DENSE]
        trees, inner = np.arange(len(self.feature)), self.feature.shape[1]
        node = self._leaves(features[None, :])[:, 0] % (inner + 1) + inner
        while node.any():
            parent = (node - 1) // 2
            change = self.value[trees, node] - self.value[trees, parent]
            np.add.at(result, self.feature[trees, parent], change)
            node = parent
        return result

    def answerable_odds(self, evidence: Array) -> float:
        """Return the log odds that any event answers a query, from its `Ranking.evidence`."""
        *weights, offset = self.answerable.tolist()
        return float(np.dot(weights, evidence)) + float(offset)

    def chances(self, scores: Array, among: Array, answerable_odds: float) -> Array:
        """Convert scores to chances to answer the query, 0..1; a higher score has a higher one.

        `among` are the scores of all candidates, in any order.
        """
        peak = float(among.max())
        log_sum = peak + math.log(float(np.exp(among - peak).sum()))
        by_share, by_answerable, offset = self.hit.tolist()
        odds = by_share * (scores - log_sum) + by_answerable * answerable_odds + offset
        chances: Array = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        return chances


def _depth_first(node: int, inner: int) -> list[int]:
    """Return the inner nodes of the tree below a node: itself, then its left, then its right."""
    if node >= inner:
        return []
    return [node, *_depth_first(2 * node + 1, inner), *_depth_first(2 * node + 2, inner)]


@lru_cache(maxsize=8)
def load_ranker(name: str) -> Ranker:
    """Load the ranker trained for an embedder (`multilingual`) or for text alone (`none`).

    Other embedders use that of `multilingual`.
    """
    rows = json.loads(resources.files(__package__).joinpath("ranker.json").read_text("utf-8"))
    row = rows.get(name.partition("/")[0]) or rows["multilingual" if name != "none" else "none"]
    return replace(ranker_of(row), succession=load_succession(name))


def checksum(row: Mapping[str, Any]) -> str:
    """Return a checksum of the trees of a ranker: what was measured is what is shipped."""
    return blake2b(json.dumps([row["prior"], row["trees"]]).encode(), digest_size=8).hexdigest()


@cache
def untrained() -> Ranker:
    """Return a ranker that knows nothing: plain fusion, with which training begins."""
    nothing = {"answerable": np.zeros(len(EVIDENCE) + 1), "hit": np.zeros(3)}
    trees = {"feature": [[0]], "threshold": [[0.0]], "value": [[0.0] * 3]}
    return ranker_of({"features": FEATURES, "prior": 12, "trees": trees, "calibration": nothing})


def ranker_of(row: Mapping[str, Any]) -> Ranker:
    """Read a ranker from its parameters. Raises ValueError if it was trained on other features."""
    if tuple(row["features"]) != FEATURES:
        raise ValueError("ranker.json was trained on other features; run bench/train_ranker.py")
    trees, curves = row["trees"], row["calibration"]
    return Ranker(
        prior=float(row["prior"]),
        feature=np.array(trees["feature"], "i8"),
        threshold=np.array(trees["threshold"], "f4"),
        value=np.array(trees["value"], "f4"),
        answerable=np.array(curves["answerable"], "f8"),
        hit=np.array(curves["hit"], "f8"),
    )


# --- What is known of an event beside its match: lifts and costs, in log odds ------------------
# Nothing is hidden: what pays much follows when a list is not full, and a query that quotes a
# notice finds it.

SUSPECT_COST = 7.0  # of what looks like a prompt injection: ranks it below similar events
EMPTY_COST = 4.0  # of an event of which no part says anything
UNVERIFIED_COST = 7.0  # of a statement that says that it is not to be relied on
ELSEWHERE_COST = 2.0  # of an event of another project than the one that is open
REPLACED_COST = 7.0  # of a statement that a later one replaced for certain
# Log odds that a later statement replaces an earlier one of which it may give another value.
HINTED = 1.4
# What these lose if a later statement lacks every word of the query that the earlier one has:
# chosen on pairs of languages that were left out (bench/changes/order.py).
LACKING_COST = 2.0
OUTDATED_MIN = 0.9  # how surely a statement is replaced that is marked so
QUOTED_COSINE_MIN = 0.97  # of a query that repeats a statement: it is about that one
# Of an event that repeats a returned one, and of a passage that a program wrote. Scores differ by
# less, so these come after everything else, in this order.
REPEATED_COST, NOTICE_COST = 40.0, 80.0
AGE_COST = 7.0  # of a turn that is very old, if age counts; about a word of the question
# Of a statement that says what an earlier one says: nothing new, but perhaps its only copy.
ALIKE_COST, ALIKE_COSINE_MIN = 6.0, 0.9
COMPARED_MAX = 16  # the best events: what holds now is among them, and others need no exchange
LINKED_MAX = 128  # the best events whose certain changes are read: more than a search returns
# A query quotes a passage of a program if the passage has nearly all of its content words, at least
# this many, and no passage of somebody's words has as many.
QUOTED_WORDS_MIN = 6
QUOTED_COVERAGE_MIN = 0.95


class Decay(NamedTuple):
    """The age of turns costs half of AGE_COST after one half-life, at most AGE_COST."""

    now_ms: int
    half_life_ms: int


class Successor(NamedTuple):
    """The event that replaced an older one."""

    event: int
    certain: bool


@dataclass(frozen=True, slots=True)
class Known:
    """The knowledge of a caller about events beside their match, by number of the event."""

    focus: Mapping[int, float] = field(default_factory=dict)  # lifts for focus words
    summary: Mapping[int, float] = field(default_factory=dict)  # lifts for a summary that matches
    decay: Decay | None = None
    asks_history: bool = False  # the query asks for an earlier state: nothing is outdated
    takes_unverified: bool = False  # the query asks for what is not certain
    elsewhere: Array | None = None  # events of other projects, by number: (events_made,) bool
    # From the numbers of the best events: what replaced each older one of them.
    changes: Callable[[Sequence[int]], Mapping[int, Successor]] | None = None


def unquoted_notices(
    view: IndexView, question: ParsedQuery, coverage: Array, allowed: Array
) -> Array | None:
    """Return the passages that programs wrote and the query does not quote: (size,) bool.

    `coverage`, (size,), is the share of the query's words in each passage. None if there are no
    such passages.
    """
    notices: Array = view["flags"] & NOTICE > 0
    if not notices.any():
        return None
    content = {word.text.lower() for word in question.words if not word.is_stop}
    if len(content) >= QUOTED_WORDS_MIN:
        own = coverage[allowed & ~notices]
        least = max(QUOTED_COVERAGE_MIN, float(own.max()) + 1e-4 if len(own) else 0.0)
        notices &= coverage < least
    return notices if notices.any() else None


def repeats_in(view: IndexView, pool: Array) -> Array:
    """Return the numbers of events of a pool that repeat an earlier event of the pool, ascending.

    The earliest stays: its id is the one that was cited, and what differs between near duplicates
    tells nothing. If it is erased, or out of the period searched, the next one takes its place.
    """
    flags = view["flags"][pool]
    repeated = flags & REPEATED > 0
    if not repeated.any():
        return pool[:0]
    twin = view["twin"][pool].astype("i8")
    alike = (np.isin(twin, twin[repeated]) & (twin > 0)).nonzero()[0]
    session = np.where(flags[alike] & IN_SESSION > 0, view["session"][pool[alike]], -1)
    groups = np.stack([twin[alike], session], axis=1)
    events = view["event"][pool[alike]]  # ascending
    _, firsts, group = np.unique(groups, axis=0, return_index=True, return_inverse=True)
    return np.unique(events[events != events[firsts][group.reshape(-1)]])


def said_again(
    pool: PoolEvents,
    places: Array,
    matched: WordMatches | None,
    succession: Succession | None,
    hinted: Array,
) -> tuple[Array, Array]:
    """Return how surely each of M events is answered anew by each later one, (M, M), 0..1; and how
    surely each later one only says it again, alike.

    `places` (M,) are those of the events in a pool, `matched` the words of the query in them. Rows
    are earlier events, columns later ones. A later statement replaces an earlier one as likely as a
    succession says, less if it lacks words of the query that the earlier one has, or if it is
    `hinted`, (M, M). What somebody else says, asks, repeats or does not know replaces nothing.
    """
    view, parts = pool.view, pool.parts[pool.places_of_best[places]]
    odds: Array = np.where(hinted, HINTED, -np.inf)
    says_nothing: Array = np.zeros(hinted.shape, bool)
    if succession is not None:
        has_vector = view["inverse_norm"][parts] > 0
        vectors = unit_vectors(view, parts)
        said = np.where(has_vector[:, None] & has_vector, succession(vectors, vectors), -np.inf)
        odds = np.maximum(odds, said)
        # A later one of at most two passages says nothing new if each that says anything has its
        # like in the earlier one. The same request with another outcome has not.
        sides = np.stack([pool.firsts[places], pool.ends[places] - 1], axis=1)  # (M, 2)
        vectors = unit_vectors(view, pool.parts[sides.ravel()])
        is_like = vectors @ vectors.T >= ALIKE_COSINE_MIN
        is_old = is_like.reshape(*sides.shape, *sides.shape).any(axis=1)  # (M, M, 2)
        is_old |= pool.flags[sides] & EMPTY > 0
        says_nothing = is_old.all(axis=2) & (sides[:, 1] - sides[:, 0] < 2)
    if matched is not None:
        has = matched.has.astype("f4")
        both = (has * matched.share[:, None]).T @ has
        odds -= LACKING_COST * (both.diagonal()[:, None] - both)
    sure: Array = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    rank = np.lexsort((pool.numbers[places], view["occurred_ms"][parts])).argsort()
    speaker, flags = view["speaker"][parts], view["flags"][parts]
    is_statement = flags & (NOTICE | SUSPECT | UNVERIFIED | REPEATED) == 0
    asks = (pool.flags & QUESTION > 0) & (view["side"][pool.parts] == QUERY)
    is_statement &= ~pool.most(asks)[places]  # the answer repeats others
    is_later = (rank[:, None] < rank) & (speaker[:, None] == speaker)
    sure *= is_later & is_statement
    return sure, is_later * says_nothing * (1 - sure)


# --- Rank the events of a view for a query ---------------------------------------------------

# The ranker scores a pool: the events of the most promising parts, or all of a small space.
POOL_PARTS_MAX = 4096
# A part matches if it has this share of the query's words, or this cosine.
COVERAGE_MIN, COSINE_MIN = 0.005, 0.15
NEIGHBOUR_MIN = 0.5  # value at which a neighbour is named as a reason


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of the E events of a pool."""

    events: PoolEvents
    adjustments: dict[str, Array]  # what adds to the score by the ranker, (E,) by name
    total: Array  # (E,) in log odds, with the adjustments: the order of the hits
    # The numbers of events that a later one almost surely replaced, and of that.
    outdated: Mapping[int, int] = field(default_factory=dict)


class Ranking:
    """The events of a view that may answer a query, with every signal about them."""

    def __init__(
        self,
        view: IndexView,
        question: ParsedQuery,
        text: LexicalScores,
        cosine: Array,
        ranker: Ranker,
        *,
        among: Array | None = None,
    ) -> None:
        self.view, self.question, self.cosine = view, question, cosine
        self.lexical, self.ranker = text, ranker
        self.allowed = view.alive if among is None else view.alive & among
        # Passages that programs wrote: they must not lift their neighbours.
        self.notices = None
        if view.flags & NOTICE:
            self.notices = unquoted_notices(view, question, text.coverage, self.allowed)
        self._is_whole = self.notices is None and among is None and view.is_whole
        scale = None
        if not self._is_whole:
            own = self.allowed if self.notices is None else self.allowed & ~self.notices
            scale = own.nonzero()[0]
        covered = text.coverage if scale is None else text.coverage.take(scale)
        # Words weigh as much as the best passage has of the query: where it shares one word of six
        # with any passage, that word tells little.
        self.words_share = min(float(covered.max()), 1.0) ** 0.5 if len(covered) else 0.0
        self._text = Stretch.over(text.score, scale, self.words_share)
        is_near = bool(cosine.any())
        self._dense = Stretch.over(cosine, scale) if is_near else NOTHING
        self._text_share = LEXICAL_SHARE if is_near else 1.0
        self.has_vector = view["inverse_norm"] > 0
        if is_near and not (self._is_whole and self.has_vector.all()):
            self.cosine = self._with_estimates(cosine)
        # The parts that share a word or enough meaning with the query: (size,) bool.
        self.matches = (text.coverage >= COVERAGE_MIN) | (self.cosine >= COSINE_MIN)
        if not self._is_whole:
            self.matches &= self.allowed
            is_near = bool(self.cosine[self.allowed].any())
        # The query has a word, and some event a word of it or a vector to compare.
        self.has_signal = bool(question.words) and (is_near or bool(self.matches.any()))
        self._scored: tuple[Known, Scores] | None = None
        self._describe(self._pool())

    def _describe(self, pool: Array) -> None:
        """Score the events of a pool, all allowed parts of each, by how they match."""
        self.pool, self.pool_events = pool, PoolEvents(self, pool)
        candidates = self.pool_events.candidates
        self.features, self.words = features_of(self, self.pool_events, candidates)
        self.match = self.ranker(self.features)  # (C,) of the candidates
        # The log odds that any event answers the query.
        self.odds = self.ranker.answerable_odds(self.evidence())

    def _with_estimates(self, cosine: Array) -> Array:
        """Return the cosines, for parts without a vector those that would be worth their words.

        While vectors are made, or an endpoint is down, such parts would be below all others that
        are only similar, even with every word of the query.
        """
        parts = (self.allowed & ~self.has_vector & (self.lexical.score > 0)).nonzero()[0]
        if not len(parts):
            return cosine
        share = self._text.apply(self.lexical.score[parts].astype("f4"))
        estimates = cosine.copy()
        estimates[parts] = self._dense.low + share / (self._dense.slope or math.inf)
        return estimates

    def cosine_of(self, part: int) -> float:
        """Return the cosine of a part; 0 without a vector."""
        return float(self.cosine[part]) if self.has_vector[part] else 0.0

    def rows_of(self, parts: Array) -> Array:
        """Return the scores of some parts by words, by vector and by both: (3, P) f4, each 0..1.

        All are 0 for notices.
        """
        rows = np.empty((3, len(parts)), "f4")
        self.lexical.score.take(parts, out=rows[0], mode="clip")
        self.cosine.take(parts, out=rows[1], mode="clip")
        self._text.apply(rows[0])
        self._dense.apply(rows[1])
        np.multiply(rows[0], self._text_share, out=rows[2])
        rows[2] += (1 - self._text_share) * rows[1]
        if self.notices is not None:
            rows[:, self.notices[parts]] = 0
        return rows

    def base_of(self, parts: Array) -> Any:
        """Return the scores of some parts by words and vector: 0..1, float32; 0 for notices."""
        return self.rows_of(parts)[2]

    def _pool(self) -> Array:
        if self._is_whole and self.view.size > POOL_PARTS_MAX:
            best = _largest(self._promise(), POOL_PARTS_MAX // 8)
        else:
            allowed = self.allowed.nonzero()[0]
            if len(allowed) <= POOL_PARTS_MAX:
                return allowed
            promise = self.base_of(allowed) - (self.view["flags"][allowed] & REPEATED > 0)
            best = allowed[_largest(promise, POOL_PARTS_MAX // 8)]
        top = best[_best_places(self.base_of(best), POOL_PARTS_MAX // 8)]
        near = [self.view[column][top] for column in ("previous", "next")]
        chosen = np.concatenate([best, *near])
        chosen = chosen[(chosen >= 0) & (chosen < self.view.size)]
        return (self._with_events(chosen) & self.allowed).nonzero()[0]

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
    def speaker(self) -> int:
        """The one speaker of the space that the query names; 0 if it names none or several."""
        if not self.view.speakers:
            return 0
        query_words = words(self.question.text)
        names = {
            term(" ".join(query_words[i : i + n]))
            for n in (1, 2, 3)
            for i in range(len(query_words) - n + 1)
        }
        named = self.view.speakers & names
        return next(iter(named)) if len(named) == 1 else 0

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

    def ranked(self, known: Known, most: int) -> list[RankedEvent]:
        """Return the `most` best events, best first.

        None, if nothing has a word of the query, a vector to compare or a lift.
        """
        if not (known.focus or known.summary or self.has_signal):
            return []
        scores = self.scores(known)
        if not len(scores.total):
            return []
        best = _best_places(scores.total, most)
        if len(best) < len(scores.total):  # of equals the first
            best = (scores.total >= scores.total[best].min()).nonzero()[0]
        best = best[(-scores.total[best]).argsort(kind="stable")][:most]
        totals, events = scores.total[best], scores.events
        chances = self.ranker.chances(totals, scores.total, self.odds)
        parts = events.parts[events.places_of_best[best]]
        columns = (one.tolist() for one in (events.numbers[best], chances, parts, totals))
        return [RankedEvent(*one) for one in zip(*columns, strict=True)]

    def answerable(self, vector: Array | None = None, embedder: str = "none") -> float:
        """Return how likely it is that any event answers the query: 0..1.

        A query that says nothing ("thanks") is answered by none, and one that carries all it needs
        ("convert this to a list: ...") hardly by any. `vector` is that of the query, (dimensions,),
        by the embedder of this name.
        """
        if not self.has_signal:
            return 0.0
        odds = self.odds
        empty, alone = (load_regression(kind, embedder) for kind in ("empty", "alone"))
        if vector is not None and len(vector) and empty is not None and alone is not None:
            if empty.odds(vector) > 0:
                return 0.0
            odds -= max(alone.odds(vector), 0.0)
        return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))

    def evidence(self) -> Array:
        """Return what tells whether any event answers the query: (len(EVIDENCE),)."""
        rows = self.features
        if not len(rows):
            return np.zeros(len(EVIDENCE))
        own = self.pool if self.notices is None else self.pool[~self.notices[self.pool]]
        cosine = float(self.cosine[own].max()) if len(own) else 0.0
        covered = float(rows[:, FEATURES.index("covered")].max())
        count = math.log1p(sum(not word.is_stop for word in self.question.words))
        # As if FEW_EVENTS average ones were beside them: a single event stands out from nothing.
        match, start = self.match, self.ranker.start
        mean = (float(match.sum()) + FEW_EVENTS * start) / (len(match) + FEW_EVENTS)
        events, lead = math.log1p(len(self.pool_events.firsts)), float(match.max()) - mean
        return np.array([cosine, covered, cosine * covered, count, count * covered, events, lead])

    def scores(self, known: Known) -> Scores:
        """Return the score of every event of the pool: the one that orders the hits.

        Computed once: the pool grows by what `known` lifts and links.
        """
        if self._scored is not None and self._scored[0] is known:
            return self._scored[1]
        self._widen({*known.focus, *known.summary})
        scores, changes = self._with_adjustments(known), dict[int, Successor]()
        if known.changes is not None and len(scores.total):
            best = _best_places(scores.total, LINKED_MAX)
            changes |= known.changes(scores.events.numbers[best].tolist())
        linked = {one.event for one in changes.values()}  # what replaced a hit is a hit
        if known.asks_history:
            linked |= set(changes)
        if self._widen(linked):
            scores = self._with_adjustments(known)
        self._scored = known, self._compared(scores, known, changes)
        return self._scored[1]

    def _with_adjustments(self, known: Known) -> Scores:
        match, pool = self.match, self.pool_events
        if not len(match):
            return Scores(pool, {}, match)
        if len(match) < len(pool.firsts):  # the others follow the candidates
            match = float(match.min()) - 1 + pool.best - float(pool.best.max())
            match[pool.candidates] = self.match
        adjustments = dict(self._adjusted(known))
        return Scores(pool, adjustments, sum(adjustments.values(), start=match))

    def _adjusted(self, known: Known) -> Iterator[tuple[str, Array]]:
        """Yield what adds to the score of each event, whatever the other events say."""
        pool, flags = self.pool_events, self.view.flags
        for name, lifts in (("focus", known.focus), ("summary", known.summary)):
            if lifts:
                yield name, pool.lifted(lifts)
        if self.notices is not None:
            notices, matches = self.notices[self.pool], self.matches[self.pool]
            alone = pool.most(notices) & ~pool.most(matches & ~notices)  # no other part matches
            yield "notice", -NOTICE_COST * alone
        if flags & EMPTY:
            yield "empty", -EMPTY_COST * ~pool.most(pool.flags & EMPTY == 0)
        if flags & SUSPECT:  # a notice has its own cost, and must not lower the words beside it
            own = pool.flags & (SUSPECT | NOTICE) == SUSPECT
            yield "suspect", -SUSPECT_COST * pool.most(own)
        if flags & UNVERIFIED and not known.takes_unverified:
            yield "unverified", -UNVERIFIED_COST * pool.most(pool.flags & UNVERIFIED > 0)
        if flags & REPEATED and len(repeats := repeats_in(self.view, self.pool)):
            yield "repeated", -REPEATED_COST * np.isin(pool.numbers, repeats)
        if known.elsewhere is not None:
            yield "project", -ELSEWHERE_COST * known.elsewhere[pool.numbers]
        if known.decay is not None:
            now_ms, half_life_ms = known.decay
            occurred_ms = self.view["occurred_ms"][self.pool[pool.firsts]]
            age = np.maximum(now_ms - occurred_ms, 0) / half_life_ms  # 0 for turns to come
            yield "age", -(AGE_COST * (1 - np.exp2(-age))).astype("f4")

    def _compared(self, scores: Scores, known: Known, changes: Mapping[int, Successor]) -> Scores:
        """Return the scores with what the best events say of each other.

        What holds now is first: a statement that a later one replaced pays, and the later one,
        which answers the same questions, is worth what the earlier one was. A question about an
        earlier state is about the statements that changed.
        """
        if len(scores.total) < 2:
            return scores
        total, adjustments = scores.total, dict(scores.adjustments)
        numbers = scores.events.numbers
        places = {number: at for at, number in enumerate(numbers.tolist())} if changes else {}
        pairs = [
            (places[older], places[newer.event])
            for older, newer in sorted(changes.items())
            if newer.certain and older in places and newer.event in places
        ]
        gains, costs = np.zeros(len(total), "f4"), np.zeros(len(total), "f4")
        if known.asks_history:
            for older, newer in pairs:
                gains[older] = max(gains[older], total[newer] - total[older])
                gains[newer] = max(gains[newer], total[older] - total[newer])
            adjustments["history"] = gains
            return Scores(scores.events, adjustments, total + gains)
        for older, newer in pairs:
            gains[newer] = max(gains[newer], total[older] + gains[older] - total[newer])
            costs[older] = REPLACED_COST
        total = total + gains - costs
        hints = {older: newer.event for older, newer in changes.items() if not newer.certain}
        won, lost, again, outdated = self._exchanged(scores.events, total, hints, known.elsewhere)
        adjustments |= {"replaces": gains, "replaced": -costs, "newer": won, "outdated": -lost}
        adjustments["repeated"] = adjustments.get("repeated", 0) - again
        return Scores(scores.events, adjustments, total + won - lost - again, outdated)

    def _exchanged(
        self, events: PoolEvents, total: Array, hints: Mapping[int, int], elsewhere: Array | None
    ) -> tuple[Array, Array, Array, dict[int, int]]:
        """Return what events gain from earlier ones that score higher, what those lose, what events
        pay that say what earlier ones say, each (E,), and which events are outdated.

        As surely as a later statement is about the same, the two exchange their scores: the
        expected value of an order in which what holds now comes first. `hints` are events that
        others probably replaced; `elsewhere`, by number, those of other projects.
        """
        gains, costs, repeats = np.zeros((3, len(total)), "f4")
        of_candidates = total[events.candidates]
        chosen = np.sort(_best_places(of_candidates, COMPARED_MAX))
        places, own = events.candidates[chosen], of_candidates[chosen]
        matched, numbers = self.words, events.numbers[places]
        if matched is not None:
            matched = matched._replace(has=matched.has[:, chosen])
        hinted = np.array([[hints.get(one, -1)] for one in numbers.tolist()]) == numbers
        sure, again = said_again(events, places, matched, self.ranker.succession, hinted)
        sure[self.cosine[events.parts[events.places_of_best[places]]] >= QUOTED_COSINE_MIN] = 0
        if elsewhere is not None:
            is_elsewhere = elsewhere[numbers]
            sure[is_elsewhere[:, None] != is_elsewhere] = 0
        exchanged = sure * np.maximum(own[:, None] - own, 0)
        gains[places], costs[places] = exchanged.max(axis=0), exchanged.max(axis=1)
        repeats[places] = ALIKE_COST * again.max(axis=0)
        outdated = (sure.max(axis=1) >= OUTDATED_MIN).nonzero()[0]
        successors = numbers[sure[outdated].argmax(axis=1)].tolist()
        return gains, costs, repeats, dict(zip(numbers[outdated].tolist(), successors, strict=True))

    def feature_values(self, event: int) -> list[tuple[str, float, int, float]]:
        """Return every feature of an event of the pool, in the order of FEATURES.

        Its name, its value, its rank among the candidates, 1 = the largest, and what it adds to
        Ranker.start.
        """
        row, others = self._row(event)
        ranks = 1 + np.count_nonzero(others > row, axis=0)
        columns = FEATURES, row.tolist(), ranks.tolist(), self.ranker.contributions(row).tolist()
        return list(zip(*columns, strict=True))

    def _row(self, event: int) -> tuple[Array, Array]:
        """Return the features of an event of the pool, and those of the candidates."""
        pool, rows = self.pool_events, self.features
        place = int(pool.numbers.searchsorted(event))
        at = int(pool.candidates.searchsorted(place))
        if at == len(rows) or pool.candidates[at] != place:  # a lift made it a hit
            return features_of(self, pool, np.array([place]))[0][0], rows
        return rows[at], rows

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

    def _widen(self, numbers: Iterable[int]) -> bool:
        """Add events to the pool and its candidates; return True if the pool grew."""
        firsts = self._first_parts(numbers)
        if not len(firsts):
            return False
        grown = self._with_events(np.append(self.pool, firsts)) & self.allowed
        pool = grown.nonzero()[0]
        if len(pool) == len(self.pool):
            return False
        self._describe(pool)
        return True

    def _first_parts(self, numbers: Iterable[int]) -> Array:
        """Return the first part of each of these events that is in the view."""
        events = np.array(sorted(set(numbers)), "i8")
        event = self.view["event"]
        if not len(events) or not len(event):
            return np.zeros(0, "i8")
        firsts = np.minimum(event.searchsorted(events), len(event) - 1)
        found: Array = firsts[event[firsts] == events]
        return found

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

    def matching(self, known: Known) -> int:
        """Return the number of events of the whole space that match the query or are lifted."""
        matches, firsts = self.matches, self._first_parts({*known.focus, *known.summary})
        if len(firsts):
            matches = matches | (self._with_events(firsts) & self.allowed)
        # Of the places: by the marks, choosing half of them takes seven times as long.
        events = self.view["event"].take(matches.nonzero()[0])  # ascending
        return int(np.count_nonzero(events[1:] != events[:-1])) + 1 if len(events) else 0

    def place_of(self, part: int) -> tuple[int, int]:
        """Return the side of its event that a part belongs to, and its passage number there."""
        event, side = self.view["event"], self.view["side"]
        first = part
        while first > 0 and event[first - 1] == event[part] and side[first - 1] == side[part]:
            first -= 1
        return int(side[part]), part - first

    def reasons(self, event: int, part: int) -> list[tuple[str, int | None, float]]:
        """Return the strongest signals of an event of the pool; `part` is its best part.

        Each with the rank by it, if it has one, and its value.
        """
        row = dict(zip(FEATURES, self._row(event)[0].tolist(), strict=True))
        pool = self.pool_events
        signals = pool.rows[:2]
        own = signals[:, pool.parts.searchsorted(part), None]
        by_text, by_cosine = ((signals > own).sum(axis=1) + 1).tolist()
        reasons: list[tuple[str, int | None, float]] = []
        if row["text"] > 0:
            reasons.append(("text", by_text, row["text"]))
        if self.cosine_of(part) > 0:
            reasons.append(("dense", by_cosine, self.cosine_of(part)))
        reasons += [(name, None, row[name]) for name in ("speaker", "date") if row[name] > 0]
        neighbour = max(row["previous"], row["next"])
        if neighbour >= NEIGHBOUR_MIN:
            reasons.append(("neighbour", None, neighbour))
        return reasons


def _best_places(score: Array, most: int) -> Array:
    """Return the places of the `most` largest scores, in any order."""
    if len(score) <= most:
        return np.arange(len(score))
    places: Array = score.argpartition(len(score) - most)[-most:]
    return places


def _largest(score: Array, about: int) -> Array:
    """Return the indices of about `about` of the largest scores, ascending.

    Never fewer, and at most four times as many.
    """
    # Estimate the threshold from a sample: comparing all scores with it is ten times faster than a
    # partial sort.
    sample = score[:: max(1, len(score) // 8192)]
    rank = max(0, len(sample) - 1 - 2 * about * len(sample) // len(score))
    least = np.partition(sample, rank)[rank]
    places: Array = (score >= least).nonzero()[0]
    if about <= len(places) <= 4 * about:
        return places
    return np.sort(np.argpartition(-score, about)[:about])
