"""SQLite keeps the plan of a statement whatever values are bound to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from remembrancer.store import open_store
from remembrancer.store.sqlite.connection import connect, open_reader, open_writer
from remembrancer.testing.queries import named_queries

VALUES = (None, 0, 1, "", "current", b"\x00")  # partial indexes and `like` would choose by them


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a store with the schema of this version."""
    file = tmp_path / "store.sqlite3"
    open_store(f"sqlite:{file}", durability="normal").close()
    return file


def statements() -> Iterator[tuple[str, str]]:
    """Yield every statement of the program for SQLite by its name."""
    for name, statement in named_queries().items():
        if not name.partition(" ")[0].endswith("postgresql.sql"):
            for part in statement.variants.get("sqlite", str(statement)).split(";\n"):
                yield name, part


def plans(connection: apsw.Connection) -> dict[tuple[str, str, object], list[str]]:
    """Return the plan of every statement with each of some values for all its parameters."""
    return {
        (name, text, value): [
            row[3]
            for row in connection.execute(
                f"explain query plan {text}",
                dict.fromkeys(re.findall(r":([a-z][a-z0-9_]*)", text), value),
            )
        ]
        for name, text in statements()
        for value in VALUES
    }


def test_the_guarantee_changes_the_plan_of_no_statement(path: Path) -> None:
    with closing(connect(str(path), apsw.SQLITE_OPEN_READWRITE)) as connection:
        with_guarantee = plans(connection)
    with closing(apsw.Connection(str(path))) as connection:
        without = plans(connection)

    assert len(with_guarantee) > 1_000
    assert {key for key, plan in with_guarantee.items() if plan != without[key]} == set()


def test_every_connection_has_the_guarantee(path: Path) -> None:
    with (
        closing(open_writer(path, durability="normal")) as writer,
        closing(open_reader(path)) as reader,
    ):
        assert [one.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) for one in (writer, reader)] == [
            1,
            1,
        ]
