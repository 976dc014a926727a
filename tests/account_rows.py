"""Rows of accounts, for tests of transactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from remembrancer.store import Store

ADD = "insert into accounts (name, role, created_ms) values (:name, 'member', 1)"


def names(store: Store) -> list[str]:
    """Return the names of all accounts, sorted."""
    sql = "select name from accounts order by name"
    return [row.name for row in store.read(lambda tx: tx.all(sql))]


def log_reader(path: Path) -> apsw.Connection:
    """Open a connection that reads the log of a SQLite store; nobody empties it until its close."""
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("begin; select count(*) from accounts").fetchall()
    return reader


def execute(url: str, *statements: str) -> list[Any]:
    """Run statements on a separate connection to PostgreSQL; return the rows of the last one."""
    import psycopg  # tests of SQLite run without the driver

    with psycopg.connect(url, autocommit=True) as other:
        for statement in statements:
            cursor = other.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []
