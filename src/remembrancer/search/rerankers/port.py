"""The port of rerankers: what scores the best hits of a search a second time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float32]


class RerankerUnavailable(Exception):
    """The reranker cannot be used now. The message says why, and what to do."""


class Reranker(Protocol):
    """Scores texts against a query. Safe to use from many threads."""

    name: str

    def scores(self, query: str, texts: Sequence[str], *, outside: bool = True) -> Scores:
        """Return how well each text answers the query: float32, shape (texts,), in any unit.

        With `outside=False` no text may leave this machine. Raises RerankerUnavailable.
        """
        ...


class BoundedReranker:
    """A reranker that scores for a limited number of searches at the same time.

    The others keep their fast order, so that deep searches never hold up fast ones.
    """

    def __init__(self, reranker: Reranker, *, most: int) -> None:
        """Score for at most `most` searches at a time."""
        self.name = reranker.name
        self._reranker, self._free = reranker, threading.BoundedSemaphore(most)

    def scores(self, query: str, texts: Sequence[str], *, outside: bool = True) -> Scores:
        """See Reranker."""
        if not self._free.acquire(blocking=False):
            raise RerankerUnavailable("too many deep searches at the same time")
        try:
            return self._reranker.scores(query, texts, outside=outside)
        finally:
            self._free.release()
