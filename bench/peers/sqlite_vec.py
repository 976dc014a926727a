"""sqlite-vec and FTS5 by hand, fused by rank. apsw brings a SQLite that loads extensions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
from sqlite_vec import loadable_path

from bench.peers.port import CANDIDATES, Item, Peer, Question, any_word, fused

SCHEMA = """
create table if not exists items (
    number integer primary key, user_id text not null, item_id text not null
);
create virtual table if not exists texts using fts5 (
    text, user_id unindexed, tokenize = 'porter unicode61'
);
create virtual table if not exists vectors using vec0 (
    user_id text partition key, vector float[{dimensions}] distance_metric=cosine
);
"""
WORDS = """
select items.item_id from texts join items on items.number = texts.rowid
where texts match ? and texts.user_id = ? order by bm25(texts) limit ?
"""
NEAREST = """
select items.item_id from vectors join items on items.number = vectors.rowid
where vector match ? and k = ? and vectors.user_id = ? order by distance
"""


class SqliteVecPeer(Peer):
    """One SQLite file with the virtual tables vec0 and fts5."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        """Open or create the file."""
        self._db = apsw.Connection(str(folder / "items.db"))
        self._db.enable_load_extension(True)
        self._db.load_extension(loadable_path())
        for pragma in ("journal_mode = wal", "synchronous = full"):
            self._db.execute(f"pragma {pragma}").fetchall()
        self._db.execute(SCHEMA.format(dimensions=dimensions)).fetchall()

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        with self._db:
            for item in items:
                self._db.execute(
                    "insert into items (user_id, item_id) values (?, ?)", (item.user, item.item_id)
                )
                number = self._db.last_insert_rowid()
                self._db.execute(
                    "insert into texts (rowid, text, user_id) values (?, ?, ?)",
                    (number, item.text, item.user),
                )
                self._db.execute(
                    "insert into vectors (rowid, user_id, vector) values (?, ?, ?)",
                    (number, item.user, item.vector),
                )
        return [item.item_id for item in items]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        words = any_word(question.text)
        by_words = self._ids(WORDS, words, question.user, CANDIDATES) if words else []
        by_vector = self._ids(NEAREST, question.vector, CANDIDATES, question.user)
        return fused(by_words, by_vector, most=question.most)

    def _ids(self, sql: str, *values: Any) -> list[str]:
        return [str(item_id) for (item_id,) in self._db.execute(sql, values)]

    def close(self) -> None:
        """See Peer."""
        self._db.close()


def open_peer(folder: Path, dimensions: int) -> Peer:
    """Open the store in a folder; vectors have that many dimensions."""
    return SqliteVecPeer(folder, dimensions)
