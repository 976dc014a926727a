"""The storage engines that tests ask the same questions, and one PostgreSQL for all tests of a
process.
"""

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
)  # what testing.context keeps its rows in: docs/contribute/postgresql.md


def empty_store(engine: str, folder: Path) -> str:
    """The URL of an empty store of an engine.

    Skips the test where there is no PostgreSQL, and fails it with CI=true.
    """
    if engine == "sqlite":
        return f"sqlite:{folder / 'store.sqlite3'}"
    return server().schema()


def only_sqlite() -> None:
    """Skip a test that asks SQLite itself, its file, its planner or its pragmas, when the rows are
    PostgreSQL's.
    """
    if KEPT_IN == "postgresql":
        pytest.skip("asks SQLite itself")


def let_go_of_guards(store: Store) -> None:
    """Let the audit trail of a store be changed, as whoever has the database could."""
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
    """The PostgreSQL of this process, started with its first use."""
    try:
        programs()
        import psycopg  # noqa: F401  there are tests that need no driver
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
    """The database that stands for the SQLite file of a data folder:

    the same one each time it is asked for.
    """
    return empty_store("postgresql", folder)
