"""Stores begin with the baseline and reach the newest schema, the same on every engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest
from account_rows import names
from command import captured
from engines import ENGINES, empty_store
from next_version import NEXT_NUMBER, next_version
from rounds import rounds

from remembrancer.store import Store, StoreTooNew, open_store
from remembrancer.store.schema import migrations
from remembrancer.store.sqlite.store import SqliteStore

ACCOUNT = "insert into accounts (name, role, created_ms) values (:name, 'owner', 1)"
OPEN = """
import json, sys
from remembrancer.store import open_store
store = open_store(sys.argv[1])
rows = store.read(lambda tx: tx.all("select name, colour from accounts"))
print(json.dumps([store.schema_version(), rows]))
store.close()
"""


def opened_by(version: Path, url: str) -> subprocess.CompletedProcess[str]:
    """Open a store with the later version at a path; print its schema and accounts."""
    return captured(
        [sys.executable, "-c", OPEN, url], env={**os.environ, "PYTHONPATH": str(version)}
    )


def test_store_of_this_version_is_migrated_by_the_next_and_keeps_its_rows(
    url: str, tmp_path: Path
) -> None:
    with closing(open_store(url, durability="normal")) as store:
        before = store.schema_version()
        store.write(lambda tx: tx.run(ACCOUNT, name="ada"))
    later = opened_by(next_version(tmp_path), url)

    assert later.returncode == 0, later.stderr
    assert json.loads(later.stdout) == [before + 1, [["ada", "blue"]]]
    with pytest.raises(StoreTooNew, match=rf"schema {before + 1}\b.*\bup to {before}\b"):
        open_store(url)


def test_migration_that_breaks_references_changes_nothing(tmp_path: Path) -> None:
    """SQLite alone: in PostgreSQL a migration cannot leave such rows."""
    path = tmp_path / "store.sqlite3"
    with closing(SqliteStore(path)) as store:
        space = "insert into spaces (account_id, user_id, created_ms) values (1, 'ada', 1)"
        store.write(lambda tx: [tx.run(ACCOUNT, name="ada"), tx.run(space)])
    later = opened_by(next_version(tmp_path, {"sqlite": "delete from accounts;"}), f"sqlite:{path}")

    problem = f"schema {NEXT_NUMBER} would leave 1 rows with broken references; nothing was changed"
    assert problem in later.stderr
    with closing(SqliteStore(path)) as store:
        assert store.schema_version() == NEXT_NUMBER - 1
        assert store.read(lambda tx: tx.all("select name from accounts")) == [("ada",)]


def test_failed_migration_leaves_the_previous_schema(tmp_path: Path) -> None:
    """The file already has a table that the first step creates, so the step fails."""
    path = tmp_path / "half"
    SqliteStore(path).close()
    with closing(apsw.Connection(str(path))) as db:
        marked = db.pragma("application_id")
    path.unlink()
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("application_id", marked)
        db.execute("create table events (a)").fetchall()

    with pytest.raises(apsw.SQLError, match="already exists"):
        SqliteStore(path)
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("select name from sqlite_schema").fetchall() == [("events",)]
        assert db.pragma("user_version") == 0


def test_every_engine_has_the_same_migrations_from_one_without_gaps() -> None:
    steps = [[(step.number, step.name) for step in migrations(engine)] for engine in ENGINES]

    assert steps[0] == steps[1]
    assert steps[0][0] == (1, "baseline")
    assert [number for number, _ in steps[0]] == list(range(1, len(steps[0]) + 1))


RACER = """
import sys
from remembrancer.store.sqlite.store import SqliteStore
add = "insert into accounts (name, role, created_ms) values (:name, 'member', 1)"
for file in range(int(sys.argv[3])):
    print("ready", flush=True)
    sys.stdin.readline()
    store = SqliteStore(f"{sys.argv[1]}/{file}")
    store.write(lambda tx: tx.run(add, name=sys.argv[2]))
    store.close()
"""


@pytest.mark.long
def test_processes_can_create_the_same_file_concurrently(tmp_path: Path) -> None:
    """Race on many new files, because a race does not fail every time."""
    races = rounds(15, 100)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path), f"{n}", f"{races}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    for _ in range(races):
        for racer in racers:
            assert racer.stdout
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin
            racer.stdin.write("go\n")
            racer.stdin.flush()
    for racer in racers:
        racer.communicate(timeout=60)

    assert [racer.returncode for racer in racers] == [0, 0, 0]
    for file in range(races):
        with closing(SqliteStore(tmp_path / str(file))) as store:
            assert names(store) == ["0", "1", "2"]


# Only in PostgreSQL: docs/contribute/postgresql.md.
_OWN = {"store_schema", "turnstile", "cubes_made"}
_OWN |= {"search_spaces", "search_words", "search_terms", "search_vectors"}
_SQLITE = """
select tables.name as "table", columns.name as "column", columns."notnull" or (columns.pk and tables.wr) as required
from pragma_table_list as tables join pragma_table_xinfo(tables.name) as columns
where tables.schema = 'main' and tables.type = 'table' and tables.name not like 'sqlite_%'
"""
_POSTGRESQL = """
select table_name as "table", column_name as "column", is_nullable = 'NO' as required
from information_schema.columns where table_schema = current_schema()
"""


def columns(store: Store, sql: str) -> dict[tuple[str, str], bool]:
    """Return every column of every table, with True if it is not null."""
    rows = store.read(lambda tx: tx.all(sql))
    return {(row.table, row.column): bool(row.required) for row in rows if row.table not in _OWN}


def test_every_engine_has_the_same_tables_with_the_same_columns(tmp_path: Path) -> None:
    with (
        closing(open_store(empty_store("sqlite", tmp_path))) as one,
        closing(open_store(empty_store("postgresql", tmp_path))) as other,
    ):
        here, there = columns(one, _SQLITE), columns(other, _POSTGRESQL)

    assert sorted(here) == sorted(there)
    assert [column for column, required in here.items() if required and not there[column]] == []


def test_postgresql_protects_the_audit_trail_from_changes(tmp_path: Path) -> None:
    add = "insert into audit (seq, entry, hash) values (:seq, 'x', 'x')"
    with closing(open_store(empty_store("postgresql", tmp_path))) as store:
        store.write(lambda tx: tx.run(add, seq=1))
        for change in (
            add.replace(":seq", "3"),
            "update audit set entry = 'x'",
            "delete from audit",
            "truncate audit",
            "update audit_head set seq = 7",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="audit trail"):
                store.write(lambda tx, change=change: tx.run(change))  # type: ignore[misc]

        assert store.read(lambda tx: tx.all("select seq, hash from audit_head")) == [(1, "x")]
