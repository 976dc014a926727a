"""mem0: `add` without inference, its default vector store (Qdrant in this process).

Its search by words needs a spaCy model and a word-frequency model from a hub, so that without
these downloads it searches by vector alone, as it does by itself when they are missing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.port import Item, Peer, Question, floats

os.environ.update(MEM0_TELEMETRY="False", HF_HUB_OFFLINE="1")

from langchain_core.embeddings import Embeddings


class VectorTable(Embeddings):  # type: ignore[misc] # its package is absent for mypy
    """Look up the vectors that the comparison computed."""

    def __init__(self) -> None:
        """Start empty."""
        self.vectors: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        return self.vectors[text.strip()]


class Mem0Peer(Peer):
    """mem0's `Memory` with its history and Qdrant in one folder."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        """Open or create the store."""
        os.environ["MEM0_DIR"] = str(folder / "mem0")  # read when the package is imported
        from mem0 import Memory

        self._table = VectorTable()
        store = {
            "path": str(folder / "qdrant"),
            "on_disk": True,
            "collection_name": "items",
            "embedding_model_dims": dimensions,
        }
        # A model is configured, as the constructor demands, and never called.
        model = {"model": "none", "api_key": "none", "openai_base_url": "http://127.0.0.1:9/v1"}
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "langchain", "config": {"model": self._table}},
                "llm": {"provider": "openai", "config": model},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer. It stores one item at a time."""
        stored = []
        for item in items:
            self._table.vectors = {item.text.strip(): floats(item.vector)}
            answer = self._memory.add(item.text, user_id=item.user, infer=False)
            stored += [str(one["id"]) for one in answer["results"]]
        return stored

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        self._table.vectors = {question.text.strip(): floats(question.vector)}
        answer = self._memory.search(
            question.text, filters={"user_id": question.user}, top_k=question.most, threshold=0.0
        )
        return [str(one["id"]) for one in answer["results"]]


def open_peer(folder: Path, dimensions: int) -> Peer:
    """Open the store in a folder; vectors have that many dimensions."""
    return Mem0Peer(folder, dimensions)
