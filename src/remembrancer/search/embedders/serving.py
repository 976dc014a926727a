"""Vectors side by side in one index, and the vectors of queries that fit them."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .port import Embedder, EmbedderUnavailable, Vectors

FAILED_SECONDS = 5.0  # a query whose vector failed is searched by words for so long
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """The columns of an index's vectors: those of the embedder, then those of an older one.

    Each part has zeros in the columns of the embedder that has not embedded it.
    """

    width: int
    older_width: int = 0

    @property
    def dimensions(self) -> int:
        """Number of all columns."""
        return self.width + self.older_width

    def place(self, vectors: bytes | None, older_vectors: bytes | None) -> bytes | None:
        """Return the int8 vectors of an event, which one of the embedders made, in their columns.

        None if there is none.
        """
        if not self.older_width:
            return vectors
        if vectors is None and older_vectors is None:
            return None
        width = self.older_width if vectors is None else self.width
        blob = older_vectors if vectors is None else vectors
        if not blob or not width or len(blob) % width:
            return None
        rows = np.frombuffer(blob, "i1").reshape(-1, width)
        placed = np.zeros((len(rows), self.dimensions), "i1")
        start = self.width if vectors is None else 0
        placed[:, start : start + width] = rows
        return placed.tobytes()


def quantize(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """Convert unit vectors to int8, each scaled to the full range.

    Cosines change by about 0.002.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    return np.rint(vectors * (127 / np.where(largest > 0, largest, 1))).astype("i1")


class VectorMissing(Exception):
    """A remote embedder has to embed this query, which takes too long inside a transaction."""

    def __init__(self, text: str) -> None:
        """Name the text to embed."""
        self.text = text
        super().__init__("a query has no vector yet")


class QueryVectors:
    """A cache of query vectors, because agents repeat queries. Safe to use from many threads.

    With two embedders, a vector has one after the other, like the columns of VectorLayout.
    """

    def __init__(
        self,
        *embedders: Embedder,
        entries_max: int = 1_024,  # of 2 KB
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the embedders whose vectors are served, with the dimensions they have now."""
        self._embedders: Sequence[tuple[Embedder, int]] = [
            (one, one.dimensions) for one in embedders if one.dimensions
        ]
        self._is_remote = any(one.is_remote for one, _ in self._embedders)
        self._entries_max, self._now = entries_max, now
        self._cache: OrderedDict[str, Vectors] = OrderedDict()
        self._failed: dict[str, tuple[float, Vectors]] = {}  # by text: when to try again
        self._lock = threading.Lock()

    def __call__(self, text: str) -> Vectors:
        """Return the vector of a query: float32, shape (dimensions,).

        Empty without an embedder, and while none can embed the query: then words alone decide.
        Raises VectorMissing if a remote embedder has to embed it first: see `prepare`.
        """
        if not self._embedders:
            return np.zeros(0, "f4")
        with self._lock:
            if text in self._cache:
                self._cache.move_to_end(text)
                return self._cache[text]
            if text in self._failed and self._failed[text][0] > self._now():
                return self._failed[text][1]
        if self._is_remote:
            raise VectorMissing(text)
        return self.prepare(text)

    def prepare(self, text: str) -> Vectors:
        """Embed a query, outside any transaction, and return its vector."""
        halves, failures = [], 0
        for embedder, width in self._embedders:
            try:
                half = _query_vector(embedder, text, width)
            except EmbedderUnavailable as error:
                if not embedder.is_remote:
                    raise
                _log.warning("a query is searched without these vectors: %s", error)
                half, failures = np.zeros(width, "f4"), failures + 1
            halves.append(half)
        vector = np.concatenate(halves) if failures < len(halves) else np.zeros(0, "f4")
        with self._lock:
            if failures:
                now = self._now()
                self._failed = {key: one for key, one in self._failed.items() if one[0] > now}
                self._failed[text] = now + FAILED_SECONDS, vector
                return vector
            self._cache[text] = vector
            if len(self._cache) > self._entries_max:
                self._cache.popitem(last=False)
        return vector


def _query_vector(embedder: Embedder, text: str, width: int) -> Vectors:
    """Return the vector of a query: (width,). Raises EmbedderUnavailable."""
    vector: Vectors = embedder.encode_queries([text])[0]
    if len(vector) != width:
        raise EmbedderUnavailable(f"{embedder.name} has {len(vector)} dimensions now, not {width}")
    return vector
