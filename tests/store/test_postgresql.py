"""Behaviour specific to PostgreSQL: retries, broken connections, requests, schema, dumps."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from account_rows import ADD, execute, names
from command import captured
from engines import empty_store, server
from filled import fill
from service import new_key
from together import together

from remembrancer import testing
from remembrancer.accounts.keys import authenticate
from remembrancer.context import Context
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.memory.write.turns import write_batch
from remembrancer.protocol.memory import Turn, TurnBatch
from remembrancer.protocol.search import MemoryQuery
from remembrancer.settings import SettingInvalid
from remembrancer.store import OutcomeUnknown, Store, StoreUnavailable, Transaction, open_store
from remembrancer.store.postgresql.store import ATTEMPTS_MAX, PostgresqlStore
from remembrancer.store.transfer.copy import store_digest
from remembrancer.testing.postgres import Postgres, programs


@pytest.fixture
def url(tmp_path: Path) -> str:
    return empty_store("postgresql", tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PostgresqlStore]:
    with closing(PostgresqlStore(url, durability="normal")) as opened:
        yield opened


def test_conflicting_write_is_retried_on_the_new_state(store: PostgresqlStore, url: str) -> None:
    store.write(lambda tx: tx.run(ADD, name="ada"))
    values: list[int] = []

    def count(tx: Transaction) -> None:
        values.append(tx.one("select created_ms from accounts").created_ms)
        if len(values) == 1:
            execute(url, "update accounts set created_ms = 10")  # between its read and its write
        tx.run("update accounts set created_ms = :n", n=values[-1] + 1)

    store.write(count)

    assert values == [1, 10]
    assert store.read(lambda tx: tx.one("select created_ms from accounts")) == (11,)


def test_two_writes_that_read_each_others_rows_are_serialized(store: PostgresqlStore) -> None:
    """Neither changes a row of the other: only a retry keeps both from being the first."""
    both = threading.Barrier(2)
    tried: list[str] = []

    def add_if_alone(tx: Transaction, name: str) -> None:
        others = tx.one("select count(*) as n from accounts").n
        tried.append(name)
        if len(tried) <= 2:
            both.wait(10)
        if not others:
            tx.run(ADD, name=name)

    together(
        lambda: store.write(lambda tx: add_if_alone(tx, "ada")),
        lambda: store.write(lambda tx: add_if_alone(tx, "bob")),
    )

    assert len(names(store)) == 1
    assert len(tried) >= 3


def test_write_that_keeps_conflicting_fails_after_the_last_attempt(
    store: PostgresqlStore, url: str
) -> None:
    store.write(lambda tx: tx.run(ADD, name="ada"))
    tries: list[int] = []

    def unlucky(tx: Transaction) -> None:
        tries.append(tx.one("select created_ms from accounts").created_ms)
        execute(url, "update accounts set created_ms = created_ms + 1")
        tx.run("update accounts set role = 'owner'")

    with pytest.raises(StoreUnavailable, match="serialize"):
        store.write(unlucky)

    assert tries == list(range(1, ATTEMPTS_MAX + 1))
    assert store.read(lambda tx: tx.one("select role from accounts")).role == "member"


def test_action_that_swallows_a_conflict_is_still_retried(store: PostgresqlStore, url: str) -> None:
    store.write(lambda tx: tx.run(ADD, name="ada"))
    tries: list[None] = []

    def stubborn(tx: Transaction) -> str:
        tx.one_or_none("select created_ms from accounts")
        tries.append(None)
        if len(tries) == 1:
            execute(url, "update accounts set created_ms = 10")
        try:
            tx.run("update accounts set role = 'owner'")
        except StoreUnavailable:
            return "passed over"
        return "done"

    assert store.write(stubborn) == "done"


def test_write_is_retried_when_its_key_was_taken_concurrently(
    store: PostgresqlStore, url: str
) -> None:
    tries: list[int] = []

    def number_next(tx: Transaction) -> int:
        tries.append(int(tx.one("select coalesce(max(id), 0) as n from embedders").n))
        if len(tries) == 1:
            execute(url, "insert into embedders (id, name) values (1, 'other')")
        tx.run("insert into embedders (id, name) values (:id, 'mine')", id=tries[-1] + 1)
        return tries[-1] + 1

    assert store.write(number_next) == 2
    assert tries == [0, 1]


def test_action_that_swallows_a_failed_statement_is_rolled_back(store: PostgresqlStore) -> None:
    """PostgreSQL answers the commit of a failed transaction with a rollback, not an error."""

    def stubborn(tx: Transaction) -> None:
        tx.run(ADD, name="ada")
        with pytest.raises(psycopg.errors.UniqueViolation):
            tx.run(ADD, name="ada")

    with pytest.raises(psycopg.errors.UniqueViolation):
        store.write(stubborn)
    assert names(store) == []


def test_broken_idle_connections_are_replaced(store: PostgresqlStore, url: str) -> None:
    store.write(lambda tx: tx.run(ADD, name="ada"))
    ours = "select pid from pg_stat_activity where application_name = 'remembrancer'"
    execute(url, f"select pg_terminate_backend(pid, 10000) from ({ours}) as ours")

    store.write(lambda tx: tx.run(ADD, name="bob"))
    assert names(store) == ["ada", "bob"]


def test_connection_lost_during_a_write_raises_and_rolls_back(
    store: PostgresqlStore, url: str
) -> None:
    def cut_off(tx: Transaction) -> None:
        tx.run(ADD, name="ada")
        pid = tx.one("select pg_backend_pid() as pid").pid
        execute(url, f"select pg_terminate_backend({pid}, 10000)")
        tx.run(ADD, name="bob")

    with pytest.raises(StoreUnavailable, match="terminat"):
        store.write(cut_off)
    assert names(store) == []


def test_finished_writes_survive_a_killed_database() -> None:
    with (
        Postgres(fsync="on", full_page_writes="on") as database,
        closing(open_store(database.database())) as store,
    ):
        store.write(lambda tx: tx.run(ADD, name="ada"))
        database.kill()
        with pytest.raises(StoreUnavailable):
            store.write(lambda tx: tx.run(ADD, name="lost"))
        with pytest.raises(StoreUnavailable):
            names(store)
        database.start()

        assert names(store) == ["ada"]
        store.write(lambda tx: tx.run(ADD, name="bob"))
        assert names(store) == ["ada", "bob"]


@pytest.mark.parametrize(
    ("durability", "flush", "waits"),
    [("full", True, "on"), ("full", False, "off"), ("normal", True, "off")],
)
def test_synchronous_commit_follows_durability_and_flush(
    url: str, durability: str, flush: bool, waits: str
) -> None:
    setting = "select current_setting('synchronous_commit') as it"
    with closing(PostgresqlStore(url, durability=durability)) as store:
        within = store.write(lambda tx: tx.one(setting).it, flush=flush)
        after = store.write(lambda tx: tx.one(setting).it)

    assert (within, after) == (waits, "off" if durability == "normal" else "on")


def test_servers_starting_concurrently_create_the_schema_once() -> None:
    url = server().database()
    stores: list[Store] = []
    together(*(lambda: stores.append(open_store(url)) for _ in range(6)))
    versions = [store.schema_version() for store in stores]
    for store in stores:
        store.close()

    assert len(versions) == 6
    assert execute(url, "select number from store_schema") == [(versions[0],)]


def test_database_of_another_program_is_refused_unchanged() -> None:
    url = server().database()
    execute(url, "create table theirs (a text)")

    with pytest.raises(StoreUnavailable, match="another program"):
        open_store(url)
    tables = "select relname from pg_class where relnamespace = 'public'::regnamespace"
    assert execute(url, tables) == [("theirs",)]


def test_database_without_unicode_encoding_is_refused() -> None:
    execute(
        server().url,
        "drop database if exists latin",
        "create database latin encoding 'LATIN1' template template0",
    )

    with pytest.raises(StoreUnavailable, match="LATIN1"):
        open_store(server().url.replace("/postgres?", "/latin?"))


def test_unreachable_server_error_omits_the_password() -> None:
    with pytest.raises(StoreUnavailable, match="nowhere") as refused:
        open_store("postgresql://ada:opensesame@/nowhere?host=/nowhere")
    assert "opensesame" not in str(refused.value)


def test_malformed_url_is_an_invalid_setting() -> None:
    with pytest.raises(SettingInvalid, match="store"):
        open_store("postgresql://host/db?nosuch=1")


OURS = "pg_stat_activity where application_name = 'remembrancer'"


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


REQUESTS_MAX = 2  # of a turn: the second one commits it
TURNS = (
    ("I live in Hamburg, near the harbour.", "Noted: Hamburg."),
    ("My sister Eva moved to Lisbon in May 2024.", "Portugal is warm, give Eva my regards."),
    ("We planted garlic in the garden in Lisbon.", "In October, 5 cm deep."),
    ("The order QX7T2M costs 45 euros.", "QX7T2M arrives on 3 March 2026."),
)


def test_an_added_turn_takes_two_round_trips(database: Context, requests: list[list[str]]) -> None:
    """Its links with earlier turns are stored with it."""
    caller = authenticate(database, new_key(database))
    for session in ("first", "second"):
        for query, response in TURNS:
            requests.clear()
            turn = Turn(query=query, response=response, user_id="ada", session_id=session)
            remember(database, caller, turn)

            if (session, query) != ("first", TURNS[0][0]):  # which numbers the embedder
                assert len(requests) <= REQUESTS_MAX, requests
                assert requests[-1][-1] == "commit"


def test_a_turn_of_a_batch_takes_one_round_trip(
    database: Context, requests: list[list[str]]
) -> None:
    """Its rows are sent with the request for the next turn."""
    caller = authenticate(database, new_key(database))
    turns = [{"query": query, "response": response} for query, response in TURNS]
    batch = TurnBatch.model_validate({"turns": turns, "user_id": "ada"})
    write_batch(database, caller, batch)
    requests.clear()

    write_batch(database, caller, batch)

    assert len(requests) <= len(TURNS) + 2, requests


def test_a_counted_search_takes_three_round_trips(
    database: Context, requests: list[list[str]]
) -> None:
    """Space and session, texts, and the step together with its commit."""
    caller = authenticate(database, new_key(database))
    for query, response in TURNS[2:]:
        remember(database, caller, Turn(query=query, response=response, user_id="ada"))
    search = MemoryQuery(query_text="What did we plant?", user_id="ada")
    first = recall(database, caller, search)
    requests.clear()

    second = recall(database, caller, search)

    assert [hit.event_id for hit in second.hits] == [hit.event_id for hit in first.hits]
    assert second.step == first.step + 1
    assert second.shared_cubes == []
    assert len(requests) == 3, requests
    assert requests[-1][-1] == "commit"


# Row-level security: a transaction of the whole store.
SEES_ALL_ROWS = {"PGOPTIONS": "-c remembrancer.account_id=0"}


def dump_tool(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return captured([programs() / program, *words], env={**os.environ, **SEES_ALL_ROWS}, timeout=60)


def test_restored_dump_has_the_same_content(tmp_path: Path) -> None:
    """docs/guides/deploy.md: dump and restore as the ordinary role that owns the store."""
    used, restored, file = server().database(), server().database(), str(tmp_path / "dump")
    with closing(testing.context(tmp_path, store=open_store(used, durability="normal"))) as context:
        fill(context)
        before = store_digest(context.store)
        dumped = dump_tool(
            "pg_dump", "--enable-row-security", "--format=custom", f"--file={file}", used
        )
    words = ("--exit-on-error", "--no-owner", "--no-comments", f"--dbname={restored}")
    back = dump_tool("pg_restore", *words, file)

    assert (dumped.returncode, back.returncode) == (0, 0), dumped.stderr + back.stderr
    with closing(open_store(restored)) as store:
        assert store_digest(store) == before


def test_pg_dump_refuses_an_incomplete_dump(tmp_path: Path) -> None:
    """Without --enable-row-security, pg_dump itself refuses: policies would hide rows."""
    url = server().database()
    open_store(url).close()

    assert "row-level security" in dump_tool("pg_dump", url).stderr
