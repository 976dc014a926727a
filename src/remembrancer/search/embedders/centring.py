"""Centre the vectors of a model, so that cosines of unrelated texts are near 0.

Many models put all texts into a narrow cone: two unrelated texts have a cosine of .7 with E5, .4
with BGE, .05 with the Universal Sentence Encoder. Subtracting the mean vector of unrelated texts
gives all of them about the same scale. The thresholds and weights of ranking hold for each then,
and vectors of two models can be in one index while one replaces the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import numpy as np

from .port import Embedder, Vectors, unit

# Unrelated everyday texts of chats, in several languages and registers.
SAMPLES = resources.files(__package__).joinpath("samples.txt").read_text("utf-8").splitlines()


def mean_of(embedder: Embedder) -> Vectors:
    """Return the mean of the sample vectors, as passages and as queries: (dimensions,)."""
    return means_of(embedder.encode(SAMPLES), embedder.encode_queries(SAMPLES))


def means_of(passages: Vectors, queries: Vectors) -> Vectors:
    """Return the mean of the means of two sets of vectors, each (samples, dimensions)."""
    return np.asarray((passages.mean(axis=0) + queries.mean(axis=0)) / 2, np.float32)


def centred(vectors: Vectors, mean: Vectors) -> Vectors:
    """Subtract a mean vector and scale to unit length; zeros stay zeros.

    Source: Mu, Viswanath, "All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations", ICLR 2018, without its removal of components.
    """
    has_tokens = vectors.any(axis=1, keepdims=True)
    return unit(np.where(has_tokens, vectors - mean, 0))


class Centred:
    """An embedder in this process whose vectors are centred."""

    is_remote = is_failing = False

    def __init__(self, embedder: Embedder) -> None:
        """Embed the samples once."""
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self._embedder, self._mean = embedder, mean_of(embedder)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return centred(self._embedder.encode(texts), self._mean)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return centred(self._embedder.encode_queries(texts), self._mean)
