"""Connections to PostgreSQL: pool size, timeouts, PgBouncer, lost connections."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest
from account_rows import ADD
from engines import server
from needed import program
from together import together

from remembrancer.store import (
    OutcomeUnknown,
    Pool,
    Store,
    StoreUnavailable,
    StoreUnreachable,
    Transaction,
    open_store,
)
from remembrancer.store.postgresql.pool import LOCKS_MAX
from remembrancer.testing.postgres import Postgres

NAMES = "select name from accounts order by name"


@pytest.fixture
def url() -> str:
    return server().schema()


def test_pool_never_exceeds_its_size(url: str) -> None:
    counts: list[int] = []
    count = (
        "select count(distinct pid) as n from pg_stat_activity "
        "where application_name = 'remembrancer' and query like '%of this test%'"
    )
    with closing(open_store(url, pool=Pool(connections=3))) as store:
        work = f"{count} -- of this test"

        def ask() -> None:
            counts.extend(store.read(lambda tx: tx.one(work)).n for _ in range(10))

        together(*[ask] * 8)

    assert len(counts) == 80
    assert max(counts) <= 3


def test_statement_timeout_raises_and_the_store_stays_usable(url: str) -> None:
    with closing(open_store(url, pool=Pool(statement_seconds=1))) as store:
        with pytest.raises(StoreUnavailable, match="timeout"):
            store.read(lambda tx: tx.one_or_none("select pg_sleep(60)"))

        assert store.read(lambda tx: tx.one("select 1 as one")).one == 1


def test_connection_timeout_error_names_the_pool_size(url: str) -> None:
    with closing(open_store(url, pool=Pool(connections=2, statement_seconds=1))) as store:
        started, finish = threading.Barrier(3), threading.Event()

        def keep(tx: Transaction) -> None:
            tx.one("select 1 as one")  # which takes a connection
            started.wait(20)
            finish.wait(20)

        threads = [threading.Thread(target=store.read, args=(keep,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        started.wait(20)
        with pytest.raises(StoreUnavailable, match="none of 2 connections"):
            store.read(lambda tx: tx.one_or_none("select 1"))
        finish.set()
        for thread in threads:
            thread.join()


def test_locks_leave_connections_for_their_holders(url: str) -> None:
    """More threads than connections take a lock, and each needs a second connection."""
    finished: list[int] = []
    with closing(open_store(url, pool=Pool(connections=4))) as store:

        def work(number: int) -> None:
            with store.lock(f"blob {number}"):
                store.write(lambda tx: tx.run(ADD, name=str(number)))
            finished.append(number)

        together(*(partial(work, number) for number in range(12)))

    assert sorted(finished) == list(range(12))


def test_connection_lost_during_commit_raises_outcome_unknown(url: str) -> None:
    def cut_off(tx: Transaction) -> None:
        tx.run(ADD, name="ada")
        pid = tx.one("select pg_backend_pid() as pid").pid
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("select pg_terminate_backend(%s, 10000)", [pid])

    with closing(open_store(url)) as store, pytest.raises(OutcomeUnknown, match="during a commit"):
        store.write(cut_off)


def test_stopped_database_raises_store_unreachable() -> None:
    with Postgres() as database:
        url = database.database()
        database.kill()
        with pytest.raises(StoreUnreachable):
            open_store(url)
        database.start()
        with closing(open_store(url)) as store:
            assert store.read(lambda tx: tx.all(NAMES)) == []


def test_reads_fail_while_the_database_is_down_and_succeed_afterwards() -> None:
    """Reconnection attempts back off with jitter, for a short time."""
    errors: list[str] = []
    with (
        Postgres() as database,
        closing(open_store(database.database(), pool=Pool(connections=8))) as store,
    ):
        database.kill()

        def ask() -> None:
            for _ in range(5):
                try:
                    store.read(lambda tx: tx.all(NAMES))
                except StoreUnavailable as error:
                    errors.append(str(error))

        together(*[ask] * 16)
        database.start()

        assert len(errors) == 80
        assert store.read(lambda tx: tx.all(NAMES)) == []


@pytest.fixture
def pooled(tmp_path: Path) -> Iterator[str]:
    """Yield the URL of an empty database behind a small PgBouncer pool in transaction mode."""
    program("pgbouncer", "pgbouncer")
    with Postgres() as database:
        url = database.database()
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        folder = database.folder / "pooler"  # accessible to other users than root
        folder.mkdir()
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n{name} = host={database.folder} user=postgres\n"
            f"[pgbouncer]\nauth_type = any\nlisten_port = 6432\nlisten_addr =\nunix_socket_dir = {folder}\n"
            f"pool_mode = transaction\ndefault_pool_size = {LOCKS_MAX + 2}\nmax_client_conn = 100\npidfile = {folder / 'pid'}\n"
        )
        user = ["-u", _unprivileged(folder)] if os.geteuid() == 0 else []
        with subprocess.Popen(
            ["pgbouncer", *user, str(folder / "pgbouncer.ini")], stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if "process up" in line:
                    break
            yield f"postgresql://postgres@/{name}?host={folder}&port=6432"
            process.terminate()
            process.stderr.read()


def _unprivileged(folder: Path) -> str:
    users = {entry.pw_name for entry in pwd.getpwall()}
    name = "postgres" if "postgres" in users else "nobody"
    for path in (folder, folder / "pgbouncer.ini"):
        shutil.chown(path, name)
    return name


def test_transaction_pooler_keeps_settings_and_locks_correct(pooled: str) -> None:
    """Each transaction may get another connection, so settings and prepared statements must not
    outlive it.
    """
    pool = replace(Pool(), prepares=False, connections=8, statement_seconds=7)
    setting = (
        "select current_setting('statement_timeout') as timeout, "
        "current_setting('synchronous_commit') as waits"
    )
    with closing(open_store(pooled, pool=pool)) as store:
        together(*(partial(_use, store, number) for number in range(8)))
        names = store.read(lambda tx: tx.all(NAMES))
        within = store.read(lambda tx: tx.one(setting))
    with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as other:
        after = other.execute(setting.encode()).fetchone()

    assert len(names) == 80
    assert within == ("7s", "on")
    assert after == ("0", "on")


def _use(store: Store, number: int) -> None:
    for turn in range(10):
        store.write(lambda tx: tx.run(ADD, name=f"{number} {turn}"), flush=turn % 2 == 0)  # noqa: B023  it is run at once
        with store.lock("shared"):
            assert store.count("select 1 as one") == (1,)
