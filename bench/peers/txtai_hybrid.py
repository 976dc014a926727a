"""txtai: hybrid search (Faiss and its own BM25) with contents in SQLite.

txtai keeps an index in memory and writes it with `save`. An added item is saved at once, because
nothing else makes it durable.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.port import Item, Peer, Question

# A function is named in the stored configuration, and found again when the index is loaded.
os.environ.update(HF_HUB_OFFLINE="1", ALLOW_RESOLVE_TRANSFORM="True")

import numpy as np
import txtai

CANDIDATES = 1_000  # before the filter by user
SEARCH = (
    "select id, score from txtai where similar(:text, :candidates) and user_id = :user limit :most"
)
_vectors: dict[str, bytes] = {}


def look_up(texts: Sequence[str]) -> Any:
    """Return the vectors that the comparison computed: float32, shape (texts, dimensions)."""
    return np.stack([np.frombuffer(_vectors[text], "f4") for text in texts])


class TxtaiPeer(Peer):
    """An index of txtai that is saved after each addition."""

    def __init__(self, folder: Path) -> None:
        """Open or create the index."""
        self._path = folder / "index"
        self._index: Any = txtai.Embeddings(
            method="external",
            transform="bench.peers.txtai_hybrid.look_up",
            hybrid=True,
            content=True,
        )
        if self._path.exists():
            self._index.load(str(self._path))

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        _vectors.update({item.text: item.vector for item in items})
        self._index.upsert(
            [(item.item_id, {"text": item.text, "user_id": item.user}, None) for item in items]
        )
        self._index.save(str(self._path))
        _vectors.clear()
        return [item.item_id for item in items]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        _vectors[question.text] = question.vector
        values = {"text": question.text, "candidates": CANDIDATES, "user": question.user}
        sql = SEARCH.replace(":candidates", str(CANDIDATES)).replace(":most", str(question.most))
        rows = self._index.search(sql, parameters=values)
        _vectors.clear()
        return [str(row["id"]) for row in rows]

    def close(self) -> None:
        """See Peer."""
        self._index.close()


def open_peer(folder: Path, _dimensions: int) -> Peer:
    """Open the store in a folder, whose vectors may have any length."""
    return TxtaiPeer(folder)
