"""`store copy` and `store check`, as processes of their own."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from command import Cli
from engines import ENGINES, server
from filled import fill

from remembrancer import testing
from remembrancer.cli import store as cli_store
from remembrancer.settings import Settings
from remembrancer.store import open_store
from remembrancer.store.folder_lock import hold
from remembrancer.store.transfer.digest import store_digest


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
    """The SQLite file of a service that was used for everything."""
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
    """That store in the data folder of the command line."""
    (folder / "remembrancer.sqlite3").write_bytes(used)
    return f"sqlite:{folder / 'remembrancer.sqlite3'}"


@pytest.fixture
def cli(folder: Path) -> Cli:
    return Cli(folder)


def held_at(url: str) -> dict[str, str]:
    """The hash of each table of a store, without the one that PostgreSQL alone has."""
    with closing(open_store(url)) as store:
        return {one.table: one.hash for one in store_digest(store) if one.table != "cubes_made"}


def test_a_store_is_moved_to_another_engine_and_back(
    cli: Cli, source: str, target: str, tmp_path: Path
) -> None:
    there = cli("store", "copy", "--from", source, "--to", target, "--finish")
    back = cli(
        "store", "copy", "--from", target, "--to", f"sqlite:{tmp_path / 'back.sqlite3'}", "--finish"
    )

    assert (there.returncode, back.returncode) == (0, 0), there.stderr + back.stderr
    assert "The copy is finished" in back.stderr
    assert held_at(source) == held_at(target) == held_at(f"sqlite:{tmp_path / 'back.sqlite3'}")


def test_every_table_is_compared(cli: Cli, source: str, target: str) -> None:
    rows = cli.table("store", "copy", "--from", source, "--to", target)
    events = next(row for row in rows if row["table"] == "events")

    assert {row["state"] for row in rows} == {"same"}
    assert (events["rows"], events["copied"]) == ("1,203", "1,203")
    assert re.fullmatch(r"[0-9a-f]{16}", events["hash"])


def test_beside_a_server_it_is_copied_but_not_finished(
    cli: Cli, source: str, target: str, folder: Path
) -> None:
    """The last run needs the servers stopped, so that nothing is written that it does not see."""
    with hold(folder):
        first = cli("store", "copy", "--from", source, "--to", target)
        refused = cli("store", "copy", "--from", source, "--to", target, "--finish")
    served = cli("keys", "list", STORE=target)
    last = cli("store", "copy", "--from", source, "--to", target, "--finish")

    assert (first.returncode, "Stop its servers" in first.stderr) == (0, True)
    assert (refused.returncode, "another server" in refused.stderr) == (1, True)
    assert (served.returncode, "unfinished copy" in served.stderr) == (1, True)
    assert (last.returncode, cli("keys", "list", STORE=target).returncode) == (0, 0)


def test_a_copy_from_postgresql_is_not_finished_while_a_server_is_connected(
    cli: Cli, source: str, tmp_path: Path
) -> None:
    url, copied = server().database(), f"sqlite:{tmp_path / 'copied.sqlite3'}"
    moved = cli("store", "copy", "--from", source, "--to", url, "--finish")
    with closing(open_store(url)):
        refused = cli("store", "copy", "--from", url, "--to", copied, "--finish")

    assert (moved.returncode, refused.returncode) == (0, 1)
    assert re.search(
        r"1 connections of Remembrancer to postgresql://\S+/test_\d+ are open: stop its servers",
        refused.stderr,
    )
    assert cli("store", "copy", "--from", url, "--to", copied, "--finish").returncode == 0


def test_an_interrupted_copy_can_be_continued(cli: Cli, source: str, target: str) -> None:
    """A copy can be resumed after `kill -9` at any moment."""
    moments = random.Random(8460)
    words = [
        sys.executable,
        "-m",
        "remembrancer",
        "store",
        "copy",
        "--from",
        source,
        "--to",
        target,
    ]
    for _ in range(4):
        with subprocess.Popen(
            words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=cli.environment
        ) as running:
            assert running.stderr is not None
            for _ in range(moments.randrange(1, 8)):  # lines of progress
                running.stderr.readline()
            running.send_signal(signal.SIGKILL)
    process = cli(*words[3:], "--finish")

    assert process.returncode == 0, process.stderr
    assert held_at(source) == held_at(target)


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
        (
            (
                "--from",
                "{store}",
            ),
            2,
            "--to",
        ),
    ],
)
def test_a_copy_that_fails_is_reported_in_one_line(
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


def test_a_store_of_an_older_version_is_left_as_it_is(
    cli: Cli, source: str, folder: Path, target: str
) -> None:
    """Opening it would bring it forward, under a server that may have it open."""
    connection = apsw.Connection(str(folder / "remembrancer.sqlite3"))
    connection.pragma("user_version", 3)
    connection.close()
    process = cli("store", "copy", "--from", source, "--to", target)

    assert (process.returncode, process.stdout) == (1, "")
    assert re.search(
        r"has schema 3, this version has \d+: start a server of this version on it once",
        process.stderr,
    )


def test_interrupted_it_says_that_it_can_go_on(
    source: str, target: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_what: str, _total: int) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(cli_store, "progress", interrupted)

    with pytest.raises(cli_store.CopyStopped):
        cli_store.copy_store(Settings(data=folder), source, target, finish=False)


def test_a_store_is_checked_by_what_its_tables_hold(cli: Cli, source: str, target: str) -> None:
    """The same before a backup and after it was put back, on whatever engine."""
    cli("store", "copy", "--from", source, "--to", target, "--finish")
    here, there = (cli.table("store", "check", "--store", url) for url in (source, target))

    assert [row for row in there if row["table"] != "cubes_made"] == here
    assert {row["table"]: row["hash"] for row in here} == held_at(source)


def test_the_settings_say_which_store_is_checked(cli: Cli, source: str) -> None:
    process = cli("store", "check", STORE=source)

    assert (process.returncode, "events\t1,203\t" in process.stdout) == (0, True)


def test_a_store_in_use_is_backed_up_into_a_new_file(
    cli: Cli, source: str, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "backup.sqlite3"
    with hold(folder):
        process = cli("store", "backup", str(file), STORE=source)
    again = cli("store", "backup", str(file), STORE=source)

    assert (process.returncode, held_at(f"sqlite:{file}")) == (0, held_at(source))
    assert (again.returncode, "never overwrites" in again.stderr) == (1, True)


def test_a_postgresql_is_backed_up_with_its_own_means(cli: Cli, tmp_path: Path) -> None:
    process = cli("store", "backup", str(tmp_path / "backup"), STORE=server().schema())

    assert (process.returncode, "pg_dump" in process.stderr) == (1, True)
