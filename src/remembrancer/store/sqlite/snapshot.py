"""Copies of a SQLite store in one file: make one while servers write, and read it unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import quote

import apsw

from ..engine import StoreUnavailable, Transaction
from ..schema import migrations
from .connection import (
    ENGINE_FAILURES,
    SqliteTransaction,
    connect,
    is_ours,
    open_reader,
    unavailable,
)

_SCHEMA = "select type, name, tbl_name, sql from sqlite_schema"


def copy_file(source: Path, target: Path, *, flush: bool = True) -> None:
    """Write the store at `source` as of one moment to the new file `target`, readable by its owner
    only, of whatever schema it is.

    Without `flush`, a power cut may damage the copy. Raises StoreUnavailable.
    """
    try:
        target.touch(0o600, exist_ok=False)
        with closing(open_reader(source)) as reader:
            reader.pragma("mmap_size", 0)  # every page is read once: no use in keeping them
            copy_pages(reader, target, flush=flush)
    except (OSError, *ENGINE_FAILURES) as error:
        raise unavailable(source, error) from error


class ChangeWatch:
    """Tells whether a store was written to, without reading it. A context manager."""

    def __init__(self, path: Path) -> None:
        """Open the store. Raises StoreUnavailable."""
        self._path = path
        try:
            self._connection = open_reader(path)
        except ENGINE_FAILURES as error:
            raise unavailable(path, error) from error

    def version(self) -> int:
        """Return a number that changes with every commit. Raises StoreUnavailable."""
        try:
            return int(self._connection.pragma("data_version"))
        except ENGINE_FAILURES as error:
            raise unavailable(self._path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def copy_pages(reader: apsw.Connection, target: Path, *, flush: bool = True) -> None:
    """Copy the database of a connection to the file `target`, in one read transaction.

    Raises errors of the driver.
    """
    with closing(
        connect(str(target), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    ) as copy:
        if not flush:
            copy.pragma("synchronous", 0)
            copy.pragma("journal_mode", "off")
        with copy.backup("main", reader, "main") as run:
            run.step(-1)  # all pages in one step: several steps would restart at every write


@contextmanager
def reading(path: Path) -> Iterator[Transaction]:
    """Read a copy that nobody writes to, without changing a byte or migrating it.

    Raises StoreTooOld and StoreUnavailable.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(connect(f"file:{quote(str(path))}?immutable=1", flags)) as copy:
            transaction = SqliteTransaction(copy, path)
            try:
                copy.execute("begin")
                is_ours(copy, path)
                yield transaction
            finally:
                transaction.end()
    except ENGINE_FAILURES as error:
        raise unavailable(path, error) from error


@contextmanager
def editing(path: Path) -> Iterator[Transaction]:
    """Change a copy in one transaction, without migrating it. Raises StoreUnavailable."""
    try:
        with closing(connect(str(path), apsw.SQLITE_OPEN_READWRITE)) as copy:
            copy.pragma("secure_delete", 1)
            transaction = SqliteTransaction(copy, path)
            with copy:
                yield transaction
            transaction.end()
    except ENGINE_FAILURES as error:
        raise unavailable(path, error) from error


def schema_of(tx: Transaction) -> int:
    """Return the schema version of a copy."""
    return int(tx.one("pragma user_version").user_version)


def require_schema(tx: Transaction, path: Path, version: int) -> None:
    """Raise StoreUnavailable if a copy has other tables, indexes or triggers than its version has.

    Those of a newer program are unknown.
    """
    steps = migrations("sqlite")
    if version > len(steps):
        return
    with closing(apsw.Connection(":memory:")) as fresh:
        for step in steps[:version]:
            fresh.execute(step.sql).fetchall()
        expected = set(fresh.execute(_SCHEMA).fetchall())
    if others := {tuple(row) for row in tx.all(_SCHEMA)} ^ expected:
        names = ", ".join(sorted({str(name) for _, name, _, _ in others})[:5])
        raise StoreUnavailable(
            f"{path}: the schema differs from that of version {version}: {names}"
        )


def require_sound(tx: Transaction, path: Path) -> None:
    """Raise StoreUnavailable if pages or references of a copy are damaged."""
    faults = [row[0] for row in tx.all("pragma integrity_check(1)") if row[0] != "ok"]
    if not faults and tx.all("pragma foreign_key_check"):
        faults = ["rows refer to rows that are missing"]
    if faults:
        raise StoreUnavailable(f"{path}: {faults[0]}")
