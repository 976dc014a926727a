"""Which parts hold a term, and how often:

sealed runs sorted by term, and a short unsorted tail for what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PostingRun:
    """Sealed postings: `parts[starts[i]:starts[i + 1]]` hold `terms[i]`; `terms` is sorted."""

    terms: Array  # u4
    starts: Array  # i8, one longer than terms
    parts: Array  # u4, ascending within a term
    counts: Array  # u1

    def find(self, term: int) -> tuple[Array, Array]:
        """The parts that hold a term and how often they do; empty arrays when none does."""
        at = int(np.searchsorted(self.terms, np.uint32(term)))
        if at == len(self.terms) or self.terms[at] != term:
            return self.parts[:0], self.counts[:0]
        span = slice(self.starts[at], self.starts[at + 1])
        return self.parts[span], self.counts[span]

    @property
    def nbytes(self) -> int:
        """Memory it takes."""
        return self.terms.nbytes + self.starts.nbytes + self.parts.nbytes + self.counts.nbytes


def seal_run(terms: Array, parts: Array, counts: Array) -> PostingRun:
    """Sort postings (in the order of their parts) into a run."""
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
    """One run of several whose parts follow each other."""
    terms = np.concatenate([np.repeat(run.terms, np.diff(run.starts)) for run in runs])
    return seal_run(
        terms,
        np.concatenate([run.parts for run in runs]),
        np.concatenate([run.counts for run in runs]),
    )


@dataclass(frozen=True, slots=True)
class PostingTail:
    """Postings not yet sealed: looked through from end to end, so it is kept short."""

    terms: Array
    parts: Array
    counts: Array

    def find(self, term: int) -> tuple[Array, Array]:
        """As Run.find."""
        at = np.flatnonzero(self.terms == np.uint32(term))
        return self.parts[at], self.counts[at]


EMPTY = PostingTail(np.zeros(0, "u4"), np.zeros(0, "u4"), np.zeros(0, "u1"))
