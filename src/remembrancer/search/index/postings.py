"""The postings of a space: which parts contain a term, and how often.

Sealed runs are sorted by term; the latest postings are in a tail in the order of their parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PostingRun:
    """Sealed postings. `parts[starts[i]:starts[i + 1]]` contain `terms[i]`; `terms` is sorted.

    `first` is to be added to each of `parts`. The arrays of a run that is mapped are in a file.
    """

    terms: Array  # u4
    starts: Array  # i8, one longer than terms
    parts: Array  # u4, ascending within a term
    counts: Array  # u1
    first: int = 0
    is_mapped: bool = False

    def find(self, terms: Array) -> Iterator[tuple[int, Array, Array]]:
        """Yield the place in `terms` (u4) of each term that occurs, its parts, and its counts."""
        if not len(self.terms):
            return
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        places = np.flatnonzero(self.terms[at] == terms)
        at = at[places]
        columns = places.tolist(), self.starts[at].tolist(), self.starts[at + 1].tolist()
        for place, start, end in zip(*columns, strict=True):
            yield place, self._numbered(self.parts[start:end]), self.counts[start:end]

    @property
    def postings(self) -> tuple[Array, Array, Array]:
        """Terms, parts and counts of all postings, sorted by term."""
        terms = np.repeat(self.terms, np.diff(self.starts))
        return terms, self._numbered(self.parts), self.counts

    def _numbered(self, parts: Array) -> Array:
        return parts + np.uint32(self.first) if self.first else parts

    @property
    def nbytes(self) -> int:
        """Memory use in bytes; 0 if it is mapped, because the system may take it back."""
        if self.is_mapped:
            return 0
        return self.terms.nbytes + self.starts.nbytes + self.parts.nbytes + self.counts.nbytes


def seal_run(terms: Array, parts: Array, counts: Array) -> PostingRun:
    """Sort postings, which are in the order of their parts, into a run."""
    order = np.argsort(terms, kind="stable")
    terms = terms[order]
    firsts = (
        np.flatnonzero(np.r_[True, terms[1:] != terms[:-1]]) if len(terms) else np.zeros(0, "i8")
    )
    return PostingRun(
        terms[firsts],
        np.r_[firsts, len(terms)].astype("i8"),
        parts[order].astype("u4"),
        counts[order].astype("u1"),
    )


def merge_runs(runs: Sequence[PostingRun]) -> PostingRun:
    """Merge runs whose parts follow each other."""
    columns = zip(*(run.postings for run in runs), strict=True)
    terms, parts, counts = (np.concatenate(column) for column in columns)
    return seal_run(terms, parts, counts)


@dataclass(frozen=True, slots=True)
class PostingTail:
    """Postings not sealed yet; every look-up scans them all, so they are few."""

    terms: Array
    parts: Array
    counts: Array

    def find(self, terms: Array) -> Iterator[tuple[int, Array, Array]]:
        """Yield places, parts and counts like PostingRun.find; `terms` ascend."""
        if not len(self.terms):
            return
        has_term = np.zeros(len(self.terms), bool)
        for term in terms:
            has_term |= self.terms == term
        at = np.flatnonzero(has_term)
        at = at[np.argsort(self.terms[at], kind="stable")]
        ends = np.searchsorted(self.terms[at], terms, side="right").tolist()
        for place, (start, end) in enumerate(pairwise([0, *ends])):
            if start < end:
                yield place, self.parts[at[start:end]], self.counts[at[start:end]]


EMPTY = PostingTail(np.zeros(0, "u4"), np.zeros(0, "u4"), np.zeros(0, "u1"))


def find_terms(
    postings: Sequence[PostingRun | PostingTail], terms: Array
) -> list[tuple[Array, Array]]:
    """Return the parts (u4) and counts (u1) of each of some terms (u4, ascending).

    The terms are looked up together, which takes a third of the time of one after another.
    """
    pieces: list[list[tuple[Array, Array]]] = [[] for _ in terms]
    for some in postings:
        for place, parts, counts in some.find(terms):
            pieces[place].append((parts, counts))
    return [
        matches[0]
        if len(matches) == 1
        else (
            np.concatenate([EMPTY.parts, *(parts for parts, _ in matches)]),
            np.concatenate([EMPTY.counts, *(counts for _, counts in matches)]),
        )
        for matches in pieces
    ]
