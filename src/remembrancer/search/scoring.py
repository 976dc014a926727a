"""Scores of each part of a space for a query: by its words (BM25) and by its vector (cosine)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt

from .embedder import quantize
from .index.space_index import IndexView
from .text.analysis import ParsedQuery, QueryWord

Array = npt.NDArray[Any]

K1, B = 0.9, 0.4  # BM25; best of the usual grid on conversation turns (bench/results.md)
# A word in this share of all parts is too common to discriminate, such as a speaker's name.
FREQUENT_SHARE = 0.12
FREQUENT_PARTS_MIN = 40  # in a smaller space the share is not meaningful
# In a space with more parts two threads scan the vectors; below, handing over costs more than it
# saves.
SHARED_PARTS_MIN = 65_536
_shared = ThreadPoolExecutor(2, thread_name_prefix="remembrancer-scan")


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 of each part, and the share of the query's idf mass that it contains."""

    score: Array  # (parts,) f4, >= 0
    coverage: Array  # (parts,) f4, 0..1


def lexical_scores(view: IndexView, words: Sequence[QueryWord]) -> LexicalScores:
    """Score every part against the content words of a query.

    Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
    Statistics are per space, so that events of other users never change a rank.
    """
    score, coverage = np.zeros(view.size, "f4"), np.zeros(view.size, "f4")
    distinct = query_term_weights(words)
    if not view.alive_parts or not distinct:
        return LexicalScores(score, coverage)
    mean = max(view.words / view.alive_parts, 1.0)
    mass = 0.0
    for word in distinct:
        best = 0.0
        matches: list[Array] = []
        for term, weight in word.terms.items():
            parts, counts = view.find(term)
            idf = weight * idf_of(view.frequency(term), view.alive_parts)
            best = max(best, idf)
            if len(parts):
                norm = K1 * (1 - B + B * view.columns["length"][parts] / mean)
                score[parts] += (idf * (K1 + 1)) * counts / (counts + norm)
                matches.append(parts)
        mass += best
        if matches:
            # at most once a part and word: repeated places are set, not added
            coverage[np.concatenate(matches)] += best
    return LexicalScores(score, coverage / np.float32(mass or 1.0))


def query_term_weights(words: Sequence[QueryWord]) -> list[QueryWord]:
    """Return the distinct content words of a query, or all words if it has no others."""
    return list(
        {
            tuple(sorted(word.terms)): word
            for word in [word for word in words if not word.is_stop] or words
        }.values()
    )


def idf_of(parts: int, total: int) -> float:
    """Return the inverse document frequency of a term that `parts` of `total` parts contain."""
    return float(np.log1p((total - parts + 0.5) / (parts + 0.5)))


def is_frequent(view: IndexView, word: QueryWord) -> bool:
    """Return True if a word is in too many parts to be part of the embedded query."""
    if view.alive_parts < FREQUENT_PARTS_MIN:
        return False
    parts = max(
        (view.frequency(term) for term, weight in word.terms.items() if weight == 1.0), default=0
    )
    return parts >= FREQUENT_SHARE * view.alive_parts


def embedding_text(view: IndexView, question: ParsedQuery) -> str:
    """Return the query without the words that are frequent in its space.

    These are mostly the speakers' names, which pull the vector towards them: removing them was the
    largest single gain measured (docs/explanation/search.md). A query of frequent words only is
    returned unchanged.
    """
    words = [word for word in question.words if word.is_stop or not is_frequent(view, word)]
    return (
        " ".join(word.text for word in words)
        if any(not word.is_stop for word in words)
        else question.text
    )


def cosines(view: IndexView, vector: npt.NDArray[np.float32]) -> Array:
    """Return the cosine of a query vector (dimensions,) with each part's vector.

    Shape (parts,), float32; 0 for a part without a vector.
    """
    if not view.size or not len(vector):
        return np.zeros(view.size, "f4")
    query = quantize(vector[None, :])
    cosine = np.empty(view.size, "f4")
    ends = np.cumsum([len(block) for block in view.vectors])

    def fill(place: int) -> None:
        block, end = view.vectors[place], ends[place]
        cosine[end - len(block) : end] = np.asarray(numkong.cdist(query, block, metric="dot"))[0]

    if view.size >= SHARED_PARTS_MIN:
        list(_shared.map(fill, range(len(ends))))
    else:
        for place in range(len(ends)):
            fill(place)
    norm = view["norm"]
    length = float(np.sqrt((query.astype("f4") ** 2).sum())) or 1.0
    # Parts without a vector already have the product 0.
    np.divide(cosine, norm * np.float32(length), out=cosine, where=norm > 0)
    return cosine
