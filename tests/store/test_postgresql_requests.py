"""Requests to PostgreSQL: statements sent together, their errors, and lost connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from account_rows import ADD, execute, names
from engines import empty_store

from remembrancer.store import OutcomeUnknown, Transaction
from remembrancer.store.postgresql.store import PostgresqlStore

OURS = "pg_stat_activity where application_name = 'remembrancer'"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return empty_store("postgresql", tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PostgresqlStore]:
    with closing(PostgresqlStore(url, durability="normal")) as opened:
        yield opened


def test_statements_that_wait_are_sent_with_the_commit(store: PostgresqlStore) -> None:
    def add_two(tx: Transaction) -> Any:
        tx.later(ADD, name="ada")
        rows = tx.later("select name from accounts")
        tx.later(ADD, name="bob")
        return rows()

    assert store.write(add_two) == [("ada",)]
    assert names(store) == ["ada", "bob"]


def test_a_conflict_of_a_statement_sent_with_the_commit_is_retried(
    store: PostgresqlStore, url: str
) -> None:
    store.write(lambda tx: tx.run(ADD, name="ada"))
    tries: list[int] = []

    def add_one(tx: Transaction) -> None:
        tries.append(tx.one("select created_ms from accounts").created_ms)
        if len(tries) == 1:
            execute(url, "update accounts set created_ms = 10")
        tx.later("update accounts set created_ms = :n", n=tries[-1] + 1)

    store.write(add_one)

    assert tries == [1, 10]
    assert execute(url, "select created_ms from accounts") == [(11,)]


def test_an_error_of_a_statement_sent_with_the_commit_undoes_all(store: PostgresqlStore) -> None:
    def twice(tx: Transaction) -> None:
        tx.later(ADD, name="ada")
        tx.later("insert into nowhere values (1)")
        tx.later(ADD, name="bob")

    with pytest.raises(psycopg.errors.UndefinedTable, match="nowhere"):
        store.write(twice)
    assert names(store) == []


def test_an_error_of_the_commit_itself_is_raised(store: PostgresqlStore, url: str) -> None:
    """A write returns only after the database has answered its commit."""
    execute(
        url,
        "create function refuse() returns trigger language plpgsql as "
        "$$ begin raise 'refused at the commit'; end $$",
        "create constraint trigger late after insert on accounts deferrable initially deferred "
        "for each row execute function refuse()",
    )

    with pytest.raises(psycopg.errors.RaiseException, match="refused at the commit"):
        store.write(lambda tx: tx.run(ADD, name="ada"))
    with pytest.raises(psycopg.errors.RaiseException, match="refused at the commit"):
        store.write(lambda tx: tx.later(ADD, name="ada"))
    assert names(store) == []


def test_a_connection_lost_with_the_only_request_leaves_the_outcome_unknown(
    store: PostgresqlStore,
) -> None:
    """It may have been committed, so it is not sent again."""
    tries: list[None] = []

    def cut_off(tx: Transaction) -> None:
        tries.append(None)
        tx.later(ADD, name="ada")
        tx.later("select pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(OutcomeUnknown, match="during a commit"):
        store.write(cut_off)
    assert len(tries) == 1
    assert names(store) == []


def test_a_write_of_one_request_replaces_a_connection_that_broke_while_idle(
    store: PostgresqlStore, url: str
) -> None:
    for name in ("ada", "bob"):
        store.write(lambda tx, name=name: tx.later(ADD, name=name))  # type: ignore[misc]
        names(store)  # whose commit is not awaited
        execute(url, f"select pg_terminate_backend(pid, 10000) from {OURS}")

    assert names(store) == ["ada", "bob"]


def test_a_text_larger_than_the_socket_buffers_is_exchanged(store: PostgresqlStore) -> None:
    text = "word " * 4_000_000

    def exchange(tx: Transaction) -> str:
        rows = tx.later("select cast(:text as text) as it", text=text)
        tx.later("select cast(:text as text) as it", text=text)
        return str(rows()[0].it)

    assert store.read(exchange) == text
