"""Runs of equal values in arrays, and means: small steps that a search takes many times."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


def starts_of_runs(ordered: Array) -> Array:
    """Return the start of each run of equal values."""
    is_first = np.empty(len(ordered), bool)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def mean_of(values: Array) -> float:
    """Return the mean of some values, 0 of none; np.mean has a higher overhead."""
    return float(np.add.reduce(values)) / max(len(values), 1)


def lengths_of_runs(starts: Array, count: int) -> Array:
    """Return the lengths of runs that start at these places of `count`."""
    lengths = np.empty(len(starts), np.intp)  # np.diff has a higher overhead
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = count - starts[-1:]
    return lengths
