"""Parts that hold still, for our tests and yours: a clock, ids, an embedder, and a real Context over a real store.

context = testing.context(tmp_path)
key = keys.create(context, account="ada").key.reveal()
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .context import Context
from .search import Embedder, QueryVectors, Shelf
from .search.embed import Vectors
from .settings import Settings
from .store import Store, open_store

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class FrozenClock:
    """A clock that moves only when it is told to."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, by_ms: int) -> None:
        """Let time pass."""
        self.now_ms += by_ms


class CountingIds:
    """Ids in the shape of real ones that count: evt_0000000000001, evt_0000000000002. Safe to use from many threads."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers):013}"


class HashEmbedder:
    """Vectors without a model: each word, whatever its case, adds to one of 64 places. Same words, same vector."""

    name = "hash/1"
    dimensions = 64

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text, see Embedder."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                place = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=1).digest()[0] % self.dimensions
                vectors[row, place] += 1
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)  # a text without words stays 0
        return vectors


_ids = CountingIds()  # one count a process: two contexts on one folder never give the same id


def context(
    folder: Path,
    *,
    settings: Settings | None = None,
    store: Store | None = None,
    embedder: Embedder | None = None,
    clock: Callable[[], int] | None = None,
    ids: Callable[[str], str] | None = None,
) -> Context:
    """A real Context over a SQLite file in `folder`, which must exist; close it at the end.

    What is not given: a frozen clock, counting ids, the hash embedder, and commits that do not wait for the disk.
    """
    settings = settings or Settings(data=folder, embedder="none", durability="normal")
    embedder = embedder or HashEmbedder()
    return Context(
        settings=settings,
        store=store or open_store(settings.store_url, durability=settings.durability),
        embedder=embedder,
        query_vectors=QueryVectors(embedder),
        shelf=Shelf(memory_bytes=settings.index_memory_bytes, dimensions=embedder.dimensions),
        clock=clock or FrozenClock(),
        ids=ids or _ids,
    )
