"""The PostgreSQL server of `remembrancer.testing`, for our tests and for users' tests."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from engines import server

from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.store import open_store


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
