"""`remembrancer store copy` and `store check`."""

from __future__ import annotations

import random
import re
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from command import PROGRAM, Cli
from engines import ENGINES, server
from filled import fill
from rounds import rounds

from remembrancer import testing
from remembrancer.store import open_store
from remembrancer.store.locations import hold
from remembrancer.store.transfer.copy import store_digest


@pytest.fixture(params=ENGINES)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a store that does not exist yet, on each engine.

    On PostgreSQL it is a database of its own with no other connections.
    """
    return (
        f"sqlite:{tmp_path / 'moved.sqlite3'}" if request.param == "sqlite" else server().database()
    )


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the SQLite file of a store with rows in every table."""
    folder = tmp_path_factory.mktemp("used")
    with closing(
        testing.context(
            folder, store=open_store(f"sqlite:{folder / 'used.sqlite3'}", durability="normal")
        )
    ) as context:
        fill(context)
    return (folder / "used.sqlite3").read_bytes()


@pytest.fixture
def source(used: bytes, folder: Path) -> str:
    """Return the URL of that store, in the data folder of the command line."""
    (folder / "remembrancer.sqlite3").write_bytes(used)
    return f"sqlite:{folder / 'remembrancer.sqlite3'}"


def table_hashes(url: str) -> dict[str, str]:
    """Return the hash of each table of a store, without the table that only PostgreSQL has."""
    with closing(open_store(url)) as store:
        tables = store_digest(store).items()
    return {name: digest.hash for name, digest in tables if name != "cubes_made"}


def test_store_is_copied_to_another_engine_and_back(
    cli: Cli, source: str, target: str, tmp_path: Path
) -> None:
    there = cli("store copy --from", source, "--to", target, "--finish")
    back = cli(
        "store", "copy", "--from", target, "--to", f"sqlite:{tmp_path / 'back.sqlite3'}", "--finish"
    )

    assert (there.returncode, back.returncode) == (0, 0), there.stderr + back.stderr
    assert "The copy is finished" in back.stderr
    assert (
        table_hashes(source)
        == table_hashes(target)
        == table_hashes(f"sqlite:{tmp_path / 'back.sqlite3'}")
    )


def test_copy_beside_a_server_cannot_be_finished(
    cli: Cli, source: str, target: str, folder: Path
) -> None:
    """The last run needs the servers stopped, so that it sees every write."""
    with hold(folder):
        first = cli("store copy --from", source, "--to", target)
        refused = cli("store copy --from", source, "--to", target, "--finish")
    served = cli("keys list", STORE=target)
    last = cli("store copy --from", source, "--to", target, "--finish")

    assert (first.returncode, "Stop its servers" in first.stderr) == (0, True)
    assert (refused.returncode, "another server" in refused.stderr) == (1, True)
    assert (served.returncode, "unfinished copy" in served.stderr) == (1, True)
    assert (last.returncode, cli("keys list", STORE=target).returncode) == (0, 0)


def test_copy_from_postgresql_cannot_finish_with_open_connections(
    cli: Cli, source: str, tmp_path: Path
) -> None:
    url, copied = server().database(), f"sqlite:{tmp_path / 'copied.sqlite3'}"
    moved = cli("store copy --from", source, "--to", url, "--finish")
    with closing(open_store(url)):
        refused = cli("store copy --from", url, "--to", copied, "--finish")

    assert (moved.returncode, refused.returncode) == (0, 1)
    assert re.search(
        r"1 connections of Remembrancer to postgresql://\S+/test_\d+ are open: stop its servers",
        refused.stderr,
    )
    assert cli("store copy --from", url, "--to", copied, "--finish").returncode == 0


@pytest.mark.long
def test_copy_continues_after_kill_9(cli: Cli, source: str, target: str) -> None:
    """A copy can be resumed after `kill -9` at any moment."""
    moments = random.Random(8460)
    words = ("store", "copy", "--from", source, "--to", target)
    for _ in range(rounds(2, 8)):
        with subprocess.Popen(
            [*PROGRAM, *words],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=cli.environment,
        ) as running:
            assert running.stderr is not None
            for _ in range(moments.randrange(1, 8)):  # lines of progress
                running.stderr.readline()
            running.send_signal(signal.SIGKILL)
    process = cli(*words, "--finish")

    assert process.returncode == 0, process.stderr
    assert table_hashes(source) == table_hashes(target)


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (("--from", "{store}", "--to", "{store}"), 2, "are the same store"),
        (
            ("--from", "{store}", "--to", "sqlite:{folder}/../{name}/remembrancer.sqlite3"),
            2,
            "are the same store",
        ),
        (("--from", "{store}", "--to", "mysql://there/x"), 2, "no storage engine 'mysql'"),
        (("--from", "oracle:x", "--to", "{store}"), 2, "no storage engine 'oracle'"),
        (("--from", "sqlite:{folder}/none", "--to", "{store}"), 1, "there is no store at"),
        (("--from", "{store}", "--to", "postgresql://nobody@127.0.0.1:1/x"), 1, "127.0.0.1"),
        (("--from", "{store}", "--to", "sqlite:{folder}/no/such/folder"), 1, "No such file"),
        (("--from", "{store}"), 2, "--to"),
    ],
)
def test_failed_copy_is_reported_in_one_line(
    cli: Cli, source: str, folder: Path, words: tuple[str, ...], status: int, why: str
) -> None:
    process = cli(
        "store",
        "copy",
        *(word.format(store=source, folder=folder, name=folder.name) for word in words),
    )

    assert process.returncode == status, process.stderr
    assert why in process.stderr
    assert (process.stdout, "Traceback" in process.stderr, (folder / "none").exists()) == (
        "",
        False,
        False,
    )


def test_check_prints_the_same_hashes_on_every_engine(cli: Cli, source: str, target: str) -> None:
    """The hashes are the same before a backup and after its restore, on any engine."""
    cli("store copy --from", source, "--to", target, "--finish")
    here, there = (cli.table("store check --store", url) for url in (source, target))

    assert [row for row in there if row["table"] != "cubes_made"] == here
    assert {row["table"]: row["hash"] for row in here} == table_hashes(source)
