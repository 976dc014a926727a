"""A store written by hand: FTS5 and an exact scan of vectors in one SQLite file, fused by rank.

It needs the standard library and numpy, so it also tests the comparison itself.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.peers.port import CANDIDATES, Item, Peer, Question, any_word, fused

SCHEMA = """
pragma journal_mode = wal;
pragma synchronous = full;
create table if not exists items (
    number integer primary key, user_id text not null, item_id text not null, vector blob not null
);
create virtual table if not exists texts using fts5 (
    text, user_id, tokenize = 'porter unicode61'
);
"""
WORDS = """
select items.item_id from texts join items on items.number = texts.rowid
where texts match ? order by bm25(texts, 1, 0) limit ?
"""


class UserVectors:
    """The vectors of a user in one growing array, and the ids of their items."""

    def __init__(self, dimensions: int) -> None:
        """Start empty."""
        self._rows = np.zeros((1024, dimensions), "f4")
        self._ids: list[str] = []

    def add(self, item_id: str, vector: bytes) -> None:
        """Append a vector."""
        if len(self._ids) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[len(self._ids)] = np.frombuffer(vector, "f4")
        self._ids.append(item_id)

    def nearest(self, vector: bytes) -> list[str]:
        """Return the ids of the best candidates by cosine, best first."""
        cosines = self._rows[: len(self._ids)] @ np.frombuffer(vector, "f4")
        return [self._ids[place] for place in np.argsort(-cosines, kind="stable")[:CANDIDATES]]


class HandMadePeer(Peer):
    """SQLite with FTS5 and vectors, which are also in memory and compared at each search."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        """Open or create the file, and load its vectors."""
        self._db = sqlite3.connect(folder / "items.db", isolation_level=None)
        self._db.executescript(SCHEMA)
        self._vectors = defaultdict[str, UserVectors](lambda: UserVectors(dimensions))
        for user, item_id, vector in self._db.execute(
            "select user_id, item_id, vector from items order by number"
        ):
            self._vectors[user].add(item_id, vector)

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        self._db.execute("begin immediate")
        for item in items:
            number = self._db.execute(
                "insert into items (user_id, item_id, vector) values (?, ?, ?)",
                (item.user, item.item_id, item.vector),
            ).lastrowid
            self._db.execute(
                "insert into texts (rowid, text, user_id) values (?, ?, ?)",
                (number, item.text, item.user),
            )
        self._db.execute("commit")
        for item in items:
            self._vectors[item.user].add(item.item_id, item.vector)
        return [item.item_id for item in items]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        by_vector = self._vectors[question.user].nearest(question.vector)
        return fused(self._by_words(question), by_vector, most=question.most)

    def _by_words(self, question: Question) -> list[str]:
        if not (words := any_word(question.text)):
            return []
        # the user as a word: the engine passes over the rows of all others
        expression = f'user_id : "{question.user}" AND text : ({words})'
        rows = self._db.execute(WORDS, (expression, CANDIDATES))
        return [item_id for (item_id,) in rows]

    def close(self) -> None:
        """See Peer."""
        self._db.close()


def open_peer(folder: Path, dimensions: int) -> Peer:
    """Open the store in a folder; vectors have that many dimensions."""
    return HandMadePeer(folder, dimensions)
