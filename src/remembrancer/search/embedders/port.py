"""The port of embedders: what turns texts into vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
CHARACTERS_MAX = 2_000  # texts are truncated to this; passages are shorter


class EmbedderUnavailable(Exception):
    """The embedder cannot be used. The message says why, and what to do."""


class Embedder(Protocol):
    """Converts texts to vectors of unit length. Safe to use from many threads."""

    name: str  # with version; vectors of embedders with different names are never compared
    is_remote: bool  # another program embeds: it may be slow or down

    @property
    def is_failing(self) -> bool:
        """True if the last request of a remote one failed."""
        ...

    @property
    def dimensions(self) -> int:
        """0: no vectors, full-text search only; also while a remote one has never answered."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per passage to store.

        float32, shape (len(texts), dimensions), unit length; zeros for a text without tokens.
        Raises EmbedderUnavailable.
        """
        ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per query, like `encode`: many models treat the two differently."""
        ...


class SymmetricEmbedder(ABC):
    """An embedder in this process that treats queries like passages."""

    name: str
    dimensions: int
    is_remote = is_failing = False

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self.encode(texts)


class NoEmbedder(SymmetricEmbedder):
    """No vectors: full-text search only."""

    name = "none"
    dimensions = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return vectors without dimensions."""
        return np.zeros((len(texts), 0), np.float32)


def unit(vectors: npt.NDArray[np.floating]) -> Vectors:
    """Scale vectors, shape (texts, dimensions), to length 1; zeros stay zeros. Returns float32."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1), np.float32)


def clean(text: str) -> str:
    """Return a text that every tokenizer accepts: no NUL and no lone surrogate, not too long."""
    return text[:CHARACTERS_MAX].encode("utf-8", "replace").decode().replace("\x00", " ")
