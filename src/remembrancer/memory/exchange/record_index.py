"""The identifiers of an export on disk: finds duplicates and references to nothing.

A temporary SQLite file, so that memory does not grow with the size of the export.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Self

_SCHEMA = """
pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -16000;
create table ids (
    kind text not null, id text not null, owner text not null, line integer not null,
    primary key (kind, id)
) without rowid;
create table links (kind text not null, source text not null, target text not null,
    line integer not null);
begin;
"""
_OWNERS_CACHED = 4_096  # consecutive records refer to the same sessions


class RecordIndex:
    """Identifiers by kind, each with its owner and its line. A context manager."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="remembrancer-import-")
        self._database = sqlite3.connect(
            Path(self._folder.name) / "records.sqlite3", isolation_level=None
        )
        self._database.executescript(_SCHEMA)
        self.owner = lru_cache(_OWNERS_CACHED)(self._owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._folder.cleanup()

    def add(self, kind: str, identifier: str, owner: str, line: int) -> int | None:
        """Add an identifier; return the line of the record that has it already, else None."""
        try:
            self._database.execute(
                "insert into ids values (?, ?, ?, ?)", (kind, identifier, owner, line)
            )
        except sqlite3.IntegrityError:
            row = self._database.execute(
                "select line from ids where kind = ? and id = ?", (kind, identifier)
            ).fetchone()
            return int(row[0])
        return None

    def add_link(self, kind: str, source: str, target: str, line: int) -> None:
        """Add a reference to a record of the same kind that may come later."""
        self._database.execute(
            "insert into links values (?, ?, ?, ?)", (kind, source, target, line)
        )

    def links(self, kind: str) -> Iterator[tuple[str, str]]:
        """Yield the references of a kind: source and target, in the order of the lines."""
        yield from self._database.execute(
            "select source, target from links where kind = ? order by rowid", (kind,)
        )

    def wrong_link(self, kind: str) -> tuple[int, str] | None:
        """Return the line and the target of a reference to nothing or to another owner's record."""
        row: tuple[int, str] | None = self._database.execute(
            "select links.line, target from links "
            "left join ids on ids.kind = links.kind and ids.id = target "
            "left join ids as sources on sources.kind = links.kind and sources.id = source "
            "where links.kind = ? and ids.owner is not sources.owner order by links.rowid limit 1",
            (kind,),
        ).fetchone()
        return row

    def cyclic_link(self, kind: str) -> tuple[int, str] | None:
        """Return the line and the target of a reference that leads back to its source, else None.

        Each source has one reference. All of a kind are in memory meanwhile.
        """
        rows = self._database.execute(
            "select source, target, line from links where kind = ? order by rowid", (kind,)
        )
        links = {source: (line, target) for source, target, line in rows}
        visited: set[str] = set()
        for start in links:
            path: set[str] = set()
            one = start
            while one in links and one not in visited:
                visited.add(one)
                path.add(one)
                one = links[one][1]
            if one in path:
                return links[one]
        return None

    def _owner(self, kind: str, identifier: str) -> str | None:
        row = self._database.execute(
            "select owner from ids where kind = ? and id = ?", (kind, identifier)
        ).fetchone()
        return None if row is None else str(row[0])
