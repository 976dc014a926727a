"""Chroma: a persistent client, one collection per user, vectors alone.

Its search by words runs in its cloud: locally it raises an error that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb

from bench.peers.port import Item, Peer, Question, floats


class ChromaPeer(Peer):
    """A collection per user, with cosine distances."""

    def __init__(self, folder: Path) -> None:
        """Open or create the store."""
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings=settings)
        self._collections: dict[str, Any] = {}

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        for user in dict.fromkeys(item.user for item in items):
            own = [item for item in items if item.user == user]
            self._collection(user).add(
                ids=[item.item_id for item in own],
                documents=[item.text for item in own],
                embeddings=[floats(item.vector) for item in own],
            )
        return [item.item_id for item in items]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        answer = self._collection(question.user).query(
            query_embeddings=[floats(question.vector)], n_results=question.most, include=[]
        )
        return [str(item_id) for item_id in answer["ids"][0]]

    def _collection(self, user: str) -> Any:
        if user not in self._collections:
            self._collections[user] = self._client.get_or_create_collection(
                user, metadata={"hnsw:space": "cosine"}, embedding_function=None
            )
        return self._collections[user]


def open_peer(folder: Path, _dimensions: int) -> Peer:
    """Open the store in a folder, whose vectors may have any length."""
    return ChromaPeer(folder)
