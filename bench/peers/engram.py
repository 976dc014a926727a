"""engram-search: FAISS and SQLite, as the tools of its MCP server add and search.

It knows no users: each has a store of its own. The index is written whole at each addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from engram import mcp_server
from engram.backends.base import Document
from engram.backends.faiss_backend import FaissBackend

from bench.peers.port import Item, Peer, Question


class VectorTable:
    """Looks up the vectors that the comparison computed."""

    vector = b""

    def encode_query(self, _text: str) -> Any:
        """Return the vector of the question."""
        return np.frombuffer(self.vector, "f4")


class EngramPeer(Peer):
    """A store per user."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        """Open or create the stores."""
        self._folder, self._dimensions = folder, dimensions
        self._stores: dict[str, FaissBackend] = {}
        self._table = VectorTable()
        vars(mcp_server)["_embedder"] = self._table

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        for user in dict.fromkeys(item.user for item in items):
            documents = [
                Document(
                    id=item.item_id, text=item.text, embedding=np.frombuffer(item.vector, "f4")
                )
                for item in items
                if item.user == user
            ]
            self._store(user).add(documents)
        return [item.item_id for item in items]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        self._table.vector = question.vector
        vars(mcp_server)["_backend"] = self._store(question.user)
        # its least score is for the embedder that it downloads
        hits = mcp_server.search_memory(question.text, question.most, min_score=0.0)
        return [str(hit["id"]) for hit in hits]

    def _store(self, user: str) -> FaissBackend:
        if user not in self._stores:
            self._stores[user] = FaissBackend(self._folder / user, self._dimensions)
        return self._stores[user]


def open_peer(folder: Path, dimensions: int) -> Peer:
    """Open the stores in a folder; vectors have that many dimensions."""
    return EngramPeer(folder, dimensions)
