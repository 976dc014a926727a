"""Deterministic test doubles of `remembrancer.testing`, for our tests and for users' tests."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from engines import only_sqlite, server

from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.context import new_id
from remembrancer.store import open_store
from remembrancer.testing import CountingIds


def test_counting_ids_have_the_format_of_real_ids() -> None:
    ids = CountingIds()

    assert [ids("evt_"), ids("evt_"), ids("req_")] == [
        "evt_0000000000001",
        "evt_0000000000002",
        "req_0000000000003",
    ]
    assert len(ids("evt_")) == len(new_id("evt_"))


def test_context_stores_rows_on_disk(tmp_path: Path) -> None:
    only_sqlite()
    with closing(testing.context(tmp_path)) as context:
        key = keys.create(context, account="ada").key.reveal()
    with closing(testing.context(tmp_path)) as context:
        assert keys.authenticate(context, key).account_name == "ada"

    assert [file.name for file in tmp_path.iterdir()] == ["remembrancer.sqlite3"]


def test_two_contexts_on_one_folder_never_create_the_same_id(tmp_path: Path) -> None:
    with closing(testing.context(tmp_path)) as one, closing(testing.context(tmp_path)) as two:
        assert one.ids("evt_") != two.ids("evt_")


def test_command_prints_the_url_and_removes_everything_on_sigterm() -> None:
    server()  # skips the test without PostgreSQL
    started = subprocess.Popen(
        [sys.executable, "-m", "remembrancer.testing", "postgres"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    url = started.stdout.readline().strip()
    folder = Path(url.partition("host=")[2])
    with closing(open_store(url)) as store:
        assert store.read(lambda tx: tx.all("select * from accounts")) == []
    started.send_signal(signal.SIGTERM)
    started.communicate(timeout=60)

    assert started.returncode == 0
    assert not folder.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def test_database_stops_when_its_process_is_killed() -> None:
    server()
    program = """
from remembrancer.testing import postgres

server = postgres.Postgres()
print(server.url, flush=True)
input()
"""
    started = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    url = started.stdout.readline().strip()
    with psycopg.connect(url) as connection:
        started.kill()
        started.communicate(timeout=60)

        with pytest.raises(psycopg.OperationalError):
            connection.execute("select pg_sleep(60)")  # fails at once instead of after 60 s


def test_context_can_use_another_store_per_folder(tmp_path: Path) -> None:
    url = server().schema()
    before = list(testing._stores)
    testing.keep_stores_at(lambda _: url)
    try:
        with closing(testing.context(tmp_path)) as context:
            key = keys.create(context, account="ada").key.reveal()
        with closing(testing.context(tmp_path)) as context:
            assert keys.authenticate(context, key).account_name == "ada"
    finally:
        testing._stores[:] = before

    assert list(tmp_path.iterdir()) == []
