"""LanceDB: hybrid search (vectors and its own full-text index) with its reranker by rank."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
from lancedb.rerankers import RRFReranker

from bench.peers.port import Item, Peer, Question, floats

TABLE = "items"


class LanceDbPeer(Peer):
    """One table; a search filters by user first."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        """Open or create the table, with its full-text index."""
        database = lancedb.connect(str(folder))
        self._reranker = RRFReranker()
        if (folder / f"{TABLE}.lance").exists():
            self._table: Any = database.open_table(TABLE)
        else:
            self._table = database.create_table(TABLE, schema=_schema(dimensions))
            self._table.create_fts_index("text", stem=True, remove_stop_words=True)

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        self._table.add(
            [
                {
                    "item_id": item.item_id,
                    "user_id": item.user,
                    "text": item.text,
                    "vector": floats(item.vector),
                }
                for item in items
            ]
        )
        return [item.item_id for item in items]

    def settle(self) -> None:
        """Bring the new rows into the full-text index and merge small files."""
        self._table.optimize()

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        rows = (
            self._table.search(query_type="hybrid")
            .vector(floats(question.vector))
            .distance_type("cosine")
            .text(question.text)
            .where(f"user_id = '{question.user}'", prefilter=True)
            .rerank(self._reranker)
            .limit(question.most)
            .to_list()
        )
        return [str(row["item_id"]) for row in rows]


def _schema(dimensions: int) -> Any:
    """Return the columns of the table."""
    texts = [(name, pa.string()) for name in ("item_id", "user_id", "text")]
    return pa.schema([*texts, ("vector", pa.list_(pa.float32(), dimensions))])


def open_peer(folder: Path, dimensions: int) -> Peer:
    """Open the store in a folder; vectors have that many dimensions."""
    return LanceDbPeer(folder, dimensions)
