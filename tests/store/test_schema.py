"""The schema is the same on every engine: migrations, tables and columns."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from engines import empty_store

from remembrancer.store import Store, open_store

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
