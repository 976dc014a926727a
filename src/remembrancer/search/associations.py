"""Rank events again by what the best of them have in common with each other and with the query.

A question about several turns ("which cities did we see with Anna?") names only part of what these
have in common. The first ranking finds some; their entities and vectors lead to the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .index.space_index import IndexView
from .scoring import RankedEvent, idf_of

Array = npt.NDArray[Any]

CANDIDATES = 100  # best events that are ranked again
BEST = 5  # of these, whose entities count
BEST_VECTORS = 3  # of these, whose vectors count
ENTITIES_MAX = 20  # of the best events, those with the largest weight
IDF_MIN = 2.0  # an entity in more turns says little about any of them
# Added to a score in standard deviations. The same for all sets: bench/results.md, "Associations".
WEIGHTS = np.array([1.0, 0.5, 1.0], "f4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Associations:
    """The entities of candidates of a search, and how they belong to those of its query."""

    of_event: Mapping[int, Sequence[str]]  # keys by number of the event
    turns: Mapping[str, int]  # number of turns with each of these keys
    linked: Mapping[str, float]  # association of keys with an entity of the query, 0..1
    events: int  # number of turns of the space


def association(both: int, one: int, other: int) -> float:
    """Return the strength of an association, 0..1: of turns with both and with each of two.

    Source: Ochiai, Bulletin of the Japanese Society of Scientific Fisheries 22, 1957.
    """
    return float(both / (one * other) ** 0.5)


def by_association(
    view: IndexView, ranked: Sequence[RankedEvent], associations: Associations
) -> list[RankedEvent]:
    """Return the first CANDIDATES events in the order that associations give, then the others.

    Scores stay in descending order: an event that moves up takes the score of its new place.
    """
    candidates = list(ranked[:CANDIDATES])
    if len(candidates) < 2:
        return list(ranked)
    score = standardized(candidates) + association_scores(view, candidates, associations)
    order = np.argsort(-score, kind="stable").tolist()
    moved = [
        replace(candidates[place], score=candidate.score)
        for place, candidate in zip(order, candidates, strict=True)
    ]
    return moved + list(ranked[CANDIDATES:])


def association_scores(
    view: IndexView, candidates: Sequence[RankedEvent], associations: Associations
) -> Array:
    """Return what associations add to the score of each candidate, in standard deviations.

    `candidates` are best first. Shape (candidates,), at least 0.
    """
    scores: Array = WEIGHTS @ association_features(view, candidates, associations)
    return scores


def association_features(
    view: IndexView, candidates: Sequence[RankedEvent], associations: Associations
) -> Array:
    """Return three features of each candidate, 0..1: (3, candidates), as WEIGHTS orders them.

    The entities that it shares with the best candidates; its entity that occurs most with those of
    the query; its similarity to the vectors of the best candidates (Rocchio, "Relevance Feedback in
    Information Retrieval", 1971).
    """
    linked = np.array(
        [
            max((associations.linked.get(key, 0.0) for key in _keys(one, associations)), default=0)
            for one in candidates
        ],
        "f4",
    )
    shared = _shared_entities(candidates, associations)
    return np.stack([shared, linked, _similarity(view, candidates)])


def _keys(candidate: RankedEvent, associations: Associations) -> Sequence[str]:
    return associations.of_event.get(candidate.event, ())


def standardized(candidates: Sequence[RankedEvent]) -> Array:
    """Return the scores before `Weights.as_share`, with mean 0 and deviation 1."""
    scores = np.log(np.maximum([one.score for one in candidates], 1e-30))
    result: Array = (scores - scores.mean()) / (scores.std() + 1e-9)
    return result


def _shared_entities(candidates: Sequence[RankedEvent], associations: Associations) -> Array:
    """Return the weight of the entities that each shares with the best candidates, 0..1."""
    weights: dict[str, float] = defaultdict(float)
    scores = standardized(candidates)
    for candidate, score in zip(candidates[:BEST], scores.tolist(), strict=False):
        for key in _keys(candidate, associations):
            rarity = idf_of(associations.turns.get(key, 0), associations.events)
            if rarity >= IDF_MIN:
                weights[key] += float(np.exp(score - scores[0])) * rarity
    heaviest = dict(sorted(weights.items(), key=lambda one: -one[1])[:ENTITIES_MAX])
    sums = np.array(
        [sum(heaviest.get(key, 0.0) for key in _keys(one, associations)) for one in candidates],
        "f4",
    )
    return sums / max(float(sums.max()), 1e-9)


def _similarity(view: IndexView, candidates: Sequence[RankedEvent]) -> Array:
    """Return the cosine of each candidate with the mean of the best ones, largest 1, least 0."""
    vectors = _event_vectors(view, [one.event for one in candidates])
    cosine = np.maximum(vectors @ vectors[:BEST_VECTORS].mean(axis=0), 0)
    result: Array = cosine / max(float(cosine.max(initial=0)), 1e-9)
    return result


def _event_vectors(view: IndexView, events: Sequence[int]) -> Array:
    """Return the mean vector of the parts of each event, of length 1: (events, dimensions)."""
    firsts = np.searchsorted(view["event"], events)
    sizes = np.searchsorted(view["event"], events, "right") - firsts
    starts = np.cumsum(sizes) - sizes
    parts = np.arange(sizes.sum()) + np.repeat(firsts - starts, sizes)
    dimensions = view.vectors[0].shape[1] if view.vectors else 0
    rows = np.zeros((len(parts), dimensions), "f4")
    end = 0
    for block in view.vectors:
        first, end = end, end + len(block)
        inside = np.flatnonzero((parts >= first) & (parts < end))
        rows[inside] = block[parts[inside] - first]
    norm = view["norm"][parts]
    rows /= np.where(norm > 0, norm, 1)[:, None]
    sums = np.add.reduceat(rows, starts, axis=0)
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    result: Array = sums / np.where(length > 0, length, 1)[:, None]
    return result
