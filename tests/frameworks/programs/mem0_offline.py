"""mem0 with its own store in a folder (MEM0_FOLDER), without a model and without a network.

Runs in the environment `mem0`.
"""

# ruff: noqa: E402 - mem0 reads variables when it is imported
from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zlib import crc32

FOLDER = Path(os.environ["MEM0_FOLDER"])
os.environ.update(MEM0_TELEMETRY="False", HF_HUB_OFFLINE="1", MEM0_DIR=str(FOLDER / "mem0"))

from langchain_core.embeddings import Embeddings
from mem0 import Memory

DIMENSIONS = 64


class Words(Embeddings):  # type: ignore[misc] # its package is absent for mypy
    """Embed a text as the digests of its words: no model, no network."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        vector = [0.01] * DIMENSIONS
        for word in text.lower().split():
            vector[crc32(word.encode()) % DIMENSIONS] += 1
        return vector


def memory() -> Any:
    """Return what `Memory()` is on a machine with a model: mem0 with its own store."""
    store = {"path": str(FOLDER / "qdrant"), "embedding_model_dims": DIMENSIONS}
    model = {"model": "none", "api_key": "none", "openai_base_url": "http://127.0.0.1:9/v1"}
    return Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store | {"on_disk": True}},
            "embedder": {"provider": "langchain", "config": {"model": Words()}},
            "llm": {"provider": "openai", "config": model},
            "history_db_path": str(FOLDER / "history.db"),
        }
    )
