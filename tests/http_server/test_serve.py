"""`serve`, from an empty folder to the end:

another process, real sockets, the lines it prints pasted into a shell.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remembrancer import status, testing
from remembrancer.accounts import caller_for, keys
from remembrancer.memory.write.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.server.run import AddressUnusable, run, welcome
from remembrancer.settings import Settings
from remembrancer.store import DataFolderBusy
from remembrancer.store.folder_lock import hold

SERVE = (
    "from remembrancer.server.app import serve; from remembrancer.settings import "
    "read; serve(read())"
)
Start = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts a server on the folder, on a free port."""
    started: list[subprocess.Popen[str]] = []
    settings = {"DATA": str(folder), "PORT": "0", "EMBEDDER": "none", "DURABILITY": "normal"}
    environment = {
        **os.environ,
        **{f"REMEMBRANCER_{name}": value for name, value in settings.items()},
    }

    def one() -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", SERVE],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.communicate()


def said_until(process: subprocess.Popen[str], last: str) -> str:
    """Return the output of the server, up to the line that contains `last`."""
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if last in line:
            return text
    pytest.fail(
        f"it ended without saying {last!r}: {text} "
        f"{process.stderr.read() if process.stderr else ''}"
    )


def stop(process: subprocess.Popen[str], how: int) -> tuple[int, str]:
    """Ask it to stop; its exit status and what it logged."""
    process.send_signal(how)
    _, log = process.communicate(timeout=30)
    return process.returncode, log


def test_a_new_folder_gets_an_owner_whose_key_and_lines_work_when_pasted(start: Start) -> None:
    """A first start prints the address, the owner's first key (once), and a working curl line."""
    text = said_until(start(), "/api/v7/memory")

    page = set(re.findall(r"sk_[0-9a-f]{64}", text))
    answers = [
        json.loads(subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout)
        for line in text.splitlines()
        if line.startswith("curl")
    ]
    assert len(page) == 1
    assert "will not be shown again" in text
    assert answers[0]["saved"] is True
    assert answers[1]["hits"][0]["event_id"] == answers[0]["event_id"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_and_says_no_key_the_second_time(start: Start, how: int) -> None:
    first = start()
    key = re.findall(r"sk_[0-9a-f]{64}", said_until(first, "/api/v7/memory"))[0]
    ended, log = stop(first, how)
    again = start()
    text = said_until(again, "keys create")

    assert (ended, key in log) == (0, False)
    assert "sk_" not in text
    assert stop(again, how)[0] == 0


def test_it_derives_anew_what_another_embedder_left_and_says_how_much_is_pending(
    folder: Path, start: Start
) -> None:
    """Search goes on meanwhile (specification.md#status-embedding-pending)."""
    context = testing.context(folder)
    keys.create(context, account="owner")
    caller = caller_for(context)
    for n in range(50):
        remember(
            context, caller, Turn(query=f"What opens locker {n}?", response=f"The word zx{n}qv.")
        )
    before = status.readiness(context).embedding
    context.close()
    server = start()
    address = re.findall(r"http://\S+", said_until(server, "keys create"))[0]
    body: list[int] = []
    while not body or body[-1]:  # the tests' own time limit ends it if it never comes to that
        with urllib.request.urlopen(f"{address}/readyz") as answer:  # noqa: S310 - our own address
            body.append(json.load(answer)["embedding"]["pending"])

    assert before is not None
    assert before.pending == 0
    assert body == sorted(body, reverse=True)
    assert stop(server, signal.SIGTERM)[0] == 0
    with sqlite3.connect(folder / "remembrancer.sqlite3") as rows:
        derived_by = rows.execute(
            "select distinct name from event_index join embedders on embedders.id = embedder"
        ).fetchall()
    assert [name.split(" ")[0] for (name,) in derived_by] == ["none"]


def test_a_second_server_on_the_folder_is_refused(folder: Path) -> None:
    """A lock protects the data folder from a second server."""
    with hold(folder), pytest.raises(DataFolderBusy):
        run(Settings(data=folder, port=0, embedder="none"), lambda _: pytest.fail("it was started"))


def test_a_port_in_use_is_refused_before_a_key_is_made(folder: Path) -> None:
    busy = socket.create_server(("127.0.0.1", 0))
    port = busy.getsockname()[1]

    with busy, pytest.raises(AddressUnusable, match=f"port {port}"):
        run(
            Settings(data=folder, port=port, embedder="none"),
            lambda _: pytest.fail("it was started"),
        )
    assert not (folder / "remembrancer.sqlite3").exists()


def test_the_first_key_is_made_once(folder: Path) -> None:
    context = testing.context(folder)

    first, second = welcome(context, "http://a"), welcome(context, "http://a")

    assert "sk_" in first
    assert "sk_" not in second
    context.close()
