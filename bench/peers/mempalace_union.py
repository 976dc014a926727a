"""MemPalace: drawers in its default store, one wing per user, searched by vector and by words.

Its search takes candidates of both (`union`), which it offers beside vectors alone, its default.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.peers.port import Item, Peer, Question, floats

_VECTORS: dict[str, list[float]] = {}  # that the comparison computed, by text


class MemPalacePeer(Peer):
    """A palace, written as its tool `add_drawer` does, with the vectors of the comparison."""

    def __init__(self, folder: Path) -> None:
        """Open or create the palace."""
        os.environ.update(  # read when the palace is opened; nothing is sent to the address
            MEMPALACE_CONFIG_DIR=str(folder / "configuration"),
            MEMPALACE_EMBEDDING_MODEL="openai-compat",
            MEMPALACE_EMBEDDING_API_URL="http://127.0.0.1:9/v1",
            MEMPALACE_EMBEDDING_API_MODEL="table",
        )
        from mempalace import embedding, palace

        embedding.OpenAICompatEmbeddingFunction.__call__ = _look_up
        self._folder = str(folder / "palace")
        palace.get_collection(self._folder)  # creates it: a search does not

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        from mempalace.palace import get_collection

        _VECTORS.clear()
        _VECTORS.update({item.text: floats(item.vector) for item in items})
        common = {"room": "talk", "filed_at": datetime.now(UTC).isoformat(), "chunk_index": 0}
        # its search closes the client of the one before
        drawers: Any = get_collection(self._folder)
        drawers.upsert(
            ids=[item.item_id for item in items],
            documents=[item.text for item in items],
            # a source each: its search merges the candidates of one
            metadatas=[common | {"wing": one.user, "source_file": one.item_id} for one in items],
        )
        return [item.item_id for item in items]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        from mempalace.searcher import search_memories

        _VECTORS.clear()
        _VECTORS[question.text] = floats(question.vector)
        answer = search_memories(
            question.text,
            self._folder,
            wing=question.user,
            n_results=question.most,
            candidate_strategy="union",
        )
        return [str(hit["drawer_id"]) for hit in answer["results"]]


def _look_up(self: object, input: Sequence[str]) -> list[list[float]]:
    del self  # named because Chroma compares the names
    return [_VECTORS[text] for text in input]


def open_peer(folder: Path, _dimensions: int) -> Peer:
    """Open the store in a folder, whose vectors may have any length."""
    return MemPalacePeer(folder)
