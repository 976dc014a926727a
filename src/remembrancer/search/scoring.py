"""Scores of parts for a query: by words (BM25) and by vector (cosine)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .embedders.serving import quantize
from .index.space_index import IndexView
from .kernels import dots
from .text.analysis import DateHint, ParsedQuery, QueryWord

# --- Runs of equal values in arrays: small steps that a search takes many times --------------

Array: TypeAlias = npt.NDArray[Any]


def starts_of_runs(ordered: Array) -> Array:
    """Return the start of each run of equal values."""
    is_first = np.empty(len(ordered), bool)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    starts: Array = is_first.nonzero()[0]
    return starts


# --- Scores of parts for a query: by words (BM25) and by vector (cosine) ---------------------

K1, B = 0.9, 0.4  # BM25; best of the usual grid on conversation turns (bench/results.md)
# A word in this share of all parts is too common to discriminate, such as a speaker's name.
FREQUENT_SHARE = 0.12
FREQUENT_PARTS_MIN = 40  # in a smaller space the share is not meaningful
# In a space with more parts two threads scan the vectors; below, handing over costs more than it
# saves.
SHARED_PARTS_MIN = 65_536
# Cosines of texts on the same subject; below is chance, above is nearly the same sentence.
COSINE_RANGE = (0.15, 0.65)
DATE_DAYS = 7.0  # decay of the date feature around the date in the query
_shared = ThreadPoolExecutor(2, thread_name_prefix="remembrancer-scan")


class TermMatches(NamedTuple):
    """The N occurrences of a query's T terms in the parts of a view, term by term."""

    parts: Array  # (N,) places in the view, as an index
    counts: Array  # (N,) of the term in the part
    terms: Array  # (N,) the number of the term
    idf: Array  # (T,) f4, weighted
    ends: list[int]  # T, where the occurrences of each term end
    first_terms: list[int]  # W, the first term of each of W words


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 of each part, and the share of the query's idf mass that it contains."""

    score: Array  # (parts,) f4, >= 0
    coverage: Array  # (parts,) f4, 0..1
    words: Sequence[QueryWord]
    matches: TermMatches | None  # of the words


def term_matches(view: IndexView, words: Sequence[QueryWord]) -> TermMatches | None:
    """Return where the terms of a query's content words occur; None if it has no words."""
    distinct = query_term_weights(words)
    if not view.alive_parts or not distinct:
        return None
    weights = [one for word in distinct for one in word.terms.items()]
    terms = [term for term, _ in weights]
    parts, counts = zip(*view.find_all(terms), strict=True)
    idf = idf_of(np.array(view.frequencies_of(terms)), view.alive_parts)
    sizes = [len(one) for one in parts]
    return TermMatches(
        np.concatenate(parts).astype(np.intp),
        np.concatenate(counts),
        np.arange(len(sizes)).repeat(sizes),
        (idf * [weight for _, weight in weights]).astype("f4"),
        list(accumulate(sizes)),
        list(accumulate([len(word.terms) for word in distinct[:-1]], initial=0)),
    )


def lexical_scores(view: IndexView, words: Sequence[QueryWord]) -> LexicalScores:
    """Score every part against the content words of a query.

    Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
    Statistics are per space, so that events of other users never change a rank.
    """
    coverage = np.zeros(view.size, "f4")
    matches = term_matches(view, words)
    if matches is None:
        return LexicalScores(np.zeros(view.size, "f4"), coverage, words, None)
    mean = max(view.words / view.alive_parts, 1.0)
    parts, counts = matches.parts, matches.counts
    norm = (K1 * B / mean) * view["length"].take(parts) + K1 * (1 - B)
    gain = (K1 + 1) * counts / (counts + norm)
    score = np.bincount(parts, gain * matches.idf.take(matches.terms), view.size).astype("f4")
    best = np.maximum.reduceat(matches.idf, matches.first_terms)
    ends = [matches.ends[term - 1] for term in (*matches.first_terms[1:], len(matches.ends))]
    for value, first, end in zip(best, [0, *ends], ends, strict=False):
        # at most once a part and word: repeated places are set, not added
        coverage[parts[first:end]] += value
    coverage /= best.sum() or np.float32(1)
    return LexicalScores(score, coverage, words, matches)


def query_term_weights(words: Sequence[QueryWord]) -> list[QueryWord]:
    """Return the distinct content words of a query, or all words if it has no others."""
    content = [word for word in words if not word.is_stop] or words
    return list({tuple(sorted(word.terms)): word for word in content}.values())


def idf_of(parts: Any, total: int) -> Any:
    """Return the inverse document frequency of a term that `parts` of `total` parts contain.

    Or of several terms: (T,) to (T,).
    """
    return np.log1p((total - parts + 0.5) / (parts + 0.5))


def is_frequent(view: IndexView, word: QueryWord) -> bool:
    """Return True if a word is in too many parts to be part of the embedded query.

    A piece of text without spaces never is: without it, its sentence embeds worse.
    """
    if word.in_pairs or view.alive_parts < FREQUENT_PARTS_MIN:
        return False
    return parts_with(view, word) >= FREQUENT_SHARE * view.alive_parts


def parts_with(view: IndexView, word: QueryWord) -> int:
    """Return the number of parts of the space with a word, without pieces of compounds."""
    terms = [term for term, weight in word.terms.items() if weight == 1.0]
    return max(view.frequencies_of(terms), default=0)


def embedding_text(view: IndexView, question: ParsedQuery) -> str:
    """Return the query without the words that are frequent in its space.

    These are mostly the speakers' names, which pull the vector towards them: removing them was the
    largest single gain measured (docs/explanation/search.md). A query of frequent words only is
    returned unchanged.
    """
    view.find_all([term for word in question.words if not word.is_stop for term in word.terms])
    words = [word for word in question.words if word.is_stop or not is_frequent(view, word)]
    if all(word.is_stop for word in words):
        return question.text
    return "".join(word.text if word.is_joined else f" {word.text}" for word in words).lstrip()


def cosines(view: IndexView, vector: npt.NDArray[np.float32]) -> Array:
    """Return the cosine of a query vector (dimensions,) with each part's vector.

    Shape (parts,), float32; 0 for a part without a vector.
    """
    if not view.size or not len(vector):
        return np.zeros(view.size, "f4")
    query = quantize(vector[None, :])[0]
    cosine = np.empty(view.size, "f4")
    ends = accumulate(len(block) for block in view.vectors)
    scans = [
        (query, block, *block.shape, cosine[end - len(block) : end])
        for block, end in zip(view.vectors, ends, strict=True)
    ]
    if view.size >= SHARED_PARTS_MIN:
        for future in [_shared.submit(dots, *scan) for scan in scans]:
            future.result()
    else:
        for scan in scans:
            dots(*scan)
    # While one embedder replaces another, a query has a unit vector of each.
    units = max(round(float(vector @ vector)), 1)
    length = float(np.sqrt((query.astype("f4") ** 2).sum() / units)) or 1.0
    cosine *= view["inverse_norm"]
    cosine *= np.float32(1 / length)
    return cosine


def first_vectors(blobs: Sequence[bytes], dimensions: int) -> Array:
    """Return the first vector of each entry's vectors: (N, dimensions) f4, of length 1."""
    rows = [np.frombuffer(blob, "i1", dimensions) for blob in blobs]
    vectors = np.array(rows, "f4").reshape(-1, dimensions)
    lengths: Array = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1)


def unit_vectors(view: IndexView, parts: Array) -> Array:
    """Return the vectors of some parts: (P, dimensions) f4, of length 1, or 0 if it has none."""
    vectors = np.zeros((len(parts), view.vectors[0].shape[1] if view.vectors else 0), "f4")
    first = 0
    for block in view.vectors:
        at = parts - first
        inside = ((at >= 0) & (at < len(block))).nonzero()[0]
        vectors[inside] = block[at[inside]]
        first += len(block)
    vectors *= view["inverse_norm"][parts][:, None]
    return vectors


def nearness_to(occurred_ms: Array, moment: DateHint) -> Array:
    """Return how near times (ms since 1970) are to the date of a query: 0..1, float32."""
    dates = occurred_ms.astype("M8[ms]")
    years = dates.astype("M8[Y]")
    if moment.day is not None and moment.month is not None:
        day_of_year = (dates.astype("M8[D]") - years.astype("M8[D]")).astype("i8")
        query_day = date(2001, moment.month, 1).timetuple().tm_yday + moment.day - 2
        distance = np.abs(day_of_year - query_day)
        nearness: Array = np.exp(-np.minimum(distance, 365 - distance) / DATE_DAYS)
    else:
        nearness = (dates.astype("M8[M]").astype("i8") % 12 + 1 == moment.month).astype("f8")
    if moment.year is not None:
        nearness = nearness * (years.astype("i8") + 1970 == moment.year)
    return nearness.astype("f4")


class RankedEvent(NamedTuple):
    """One event of a ranking."""

    event: int  # its number in the space
    score: float  # 0..1
    part: int  # its best passage
    raw: float = 0.0  # its score in log odds


class Fit(NamedTuple):
    """An event of an index that fits a query."""

    event: int
    part: int  # its best part
    score: float  # 0..1
    cosine: float  # breaks ties between equal scores


def fitting(
    view: IndexView,
    words: Sequence[QueryWord],
    cosine: Array,
    score_min: float,
    *,
    groups: Array | None = None,
    most: int = 0,
) -> Iterator[Fit]:
    """Yield the events that fit a query with at least this score, best first.

    A score combines coverage of the query's words and similarity of vectors. It does not depend on
    how well other events fit, so it suits short texts that are served unasked. `cosine` are those
    of the parts and the query, shape (parts,). With `groups`, the numbers of the groups of the
    parts, shape (parts,), only the `most` best events of each group are yielded, and none of a
    negative group.
    """
    if not view.size:
        return
    event = view["event"]
    coverage = lexical_scores(view, words).coverage
    np.minimum(coverage, 1, out=coverage)
    similarity = (cosine - COSINE_RANGE[0]) / (COSINE_RANGE[1] - COSINE_RANGE[0])
    np.minimum(np.maximum(similarity, 0, out=similarity), 1, out=similarity)
    firsts = starts_of_runs(event)  # parts of an event are adjacent
    best_cosine = np.maximum.reduceat(cosine, firsts)
    score = 1 - (1 - np.maximum.reduceat(coverage, firsts)) * (
        1 - np.maximum.reduceat(similarity, firsts)
    )
    relevant = (score >= score_min).nonzero()[0]
    if not len(relevant):
        return
    part_score = coverage + similarity
    ends = np.append(firsts[1:], len(event))
    order = relevant[np.lexsort((-best_cosine[relevant], -score[relevant]))]
    if groups is not None:
        order = _best_of_groups(order, groups[firsts], most)
    columns = event[firsts], firsts, ends, score, best_cosine
    for number, first, end, value, near in zip(
        *(column[order].tolist() for column in columns), strict=True
    ):
        part = first if end == first + 1 else first + int(part_score[first:end].argmax())
        yield Fit(event=number, part=part, score=value, cosine=near)


def _best_of_groups(order: Array, groups: Array, most: int) -> Array:
    """Return the first `most` places of each group in an order; negative groups have none."""
    ordered = groups[order]
    chosen = [
        (ordered == group).nonzero()[0][:most] for group in range(int(ordered.max(initial=-1)) + 1)
    ]
    return order[np.sort(np.concatenate(chosen))] if chosen else order[:0]
