"""Make the same calls of mem0's own client and of ours; print what each gives, as JSON.

Runs in the environment `mem0`. Arguments: address of the service, a folder. KEY: its key. The last
call writes what mem0 keeps to `mem0.json`, as the guide says.
"""

# ruff: noqa: E402, T201 - mem0 reads variables when it is imported; a program of a test prints
from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

URL, FOLDER = sys.argv[1], Path(sys.argv[2])
os.environ.update(MEM0_TELEMETRY="False", HF_HUB_OFFLINE="1", MEM0_DIR=str(FOLDER / "mem0"))

from langchain_core.embeddings import Embeddings
from mem0 import Memory

from remembrancer.client import Client

DIMENSIONS = 64
TEXTS = {
    "Prefers a window seat on trains": {"about": "travel"},
    "Is allergic to peanuts": {"about": "food"},
}


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


def mem0_memory() -> Any:
    """Return mem0 with its own store in the folder, without a model."""
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


def main() -> None:
    """Make the calls; the names of the lines are those of the test."""
    theirs = mem0_memory()
    for text, metadata in TEXTS.items():
        theirs.add(text, user_id="mia", metadata=metadata, infer=False)
    scope: dict[str, Any] = {"user_id": "mia"}
    found = theirs.search("window seat", filters=scope, top_k=1)["results"]
    food = theirs.search("allergic", filters=scope | {"about": "food"}, top_k=5)["results"]
    kept = theirs.get_all(filters=scope)
    (FOLDER / "mem0.json").write_text(json.dumps(kept, default=str), "utf-8")
    theirs.update(found[0]["id"], "Prefers an aisle seat on trains")
    changes = [one["event"] for one in theirs.history(found[0]["id"])]
    theirs.delete(food[0]["id"])
    left = theirs.get_all(filters=scope)["results"]
    show("mem0", found[0]["memory"], [one["memory"] for one in food], changes, len(left))

    with Client(URL, os.environ["KEY"]) as ours:
        for text, metadata in TEXTS.items():
            ours.add(text, user_id="mia", metadata=metadata)
        hit = ours.search("window seat", user_id="mia", top_k=1)[0]
        foods = ours.search("allergic", user_id="mia", filters={"about": "food"})
        written = ours.add_fact("Prefers a window seat on trains.", user_id="mia")
        ours.update(written.fact.fact_id, "Prefers an aisle seat on trains.")
        changes = [one.status for one in ours.history(written.fact.fact_id, user_id="mia")]
        ours.delete(foods[0].event_id)
        left = ours.get_all(user_id="mia")
        show("ours", hit.query, [one.query for one in foods], changes, len(left))


def show(name: str, found: str, filtered: list[str], changes: list[str], left: int) -> None:
    """Print what one of them gave."""
    print(json.dumps({"of": name, "found": found, "filtered": filtered, "changes": changes,
                      "left": left}))  # fmt: skip


if __name__ == "__main__":
    main()
