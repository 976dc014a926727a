"""The storage engines under test, and one PostgreSQL server for all tests of a process."""

from __future__ import annotations

import atexit
import os
from functools import cache
from pathlib import Path

import pytest

from remembrancer.store import Store
from remembrancer.testing.postgres import NoPostgres, Postgres, programs

ENGINES = ("sqlite", "postgresql")
KEPT_IN = os.environ.get(
    "TEST_STORE", "sqlite"
)  # the engine of testing.context: docs/contribute/postgresql.md


def empty_store(engine: str, folder: Path) -> str:
    """Return the URL of an empty store.

    Without PostgreSQL the test is skipped; with CI=true it fails.
    """
    if engine == "sqlite":
        return f"sqlite:{folder / 'store.sqlite3'}"
    return server().schema()


def only_sqlite() -> None:
    """Skip a test of SQLite's file, query planner or pragmas if the tests run on PostgreSQL."""
    if KEPT_IN == "postgresql":
        pytest.skip("tests SQLite only")


def let_go_of_guards(store: Store) -> None:
    """Disable the triggers that protect the audit trail, as a database administrator could."""
    if KEPT_IN == "postgresql":
        store.write(
            lambda tx: [
                tx.run(f"alter table {table} disable trigger user")
                for table in ("audit", "audit_head")
            ]
        )
        return
    triggers = "select name from sqlite_schema where type = 'trigger' and name like 'audit%'"
    store.write(lambda tx: [tx.run(f"drop trigger {row.name}") for row in tx.all(triggers)])


def server() -> Postgres:
    """Return the PostgreSQL server of this process, started on first use."""
    try:
        programs()
        import psycopg  # noqa: F401  some tests need no driver
    except (NoPostgres, ImportError) as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    return _started()


@cache
def _started() -> Postgres:
    started = Postgres()
    atexit.register(started.close)
    return started


@cache
def of_folder(folder: Path) -> str:
    """Return the database that replaces the SQLite file of a data folder, always the same one."""
    return empty_store("postgresql", folder)
