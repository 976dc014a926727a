"""The real service in an empty folder, and HTTP clients for it."""

from __future__ import annotations

import os
import re
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import engines
import pytest
from hypothesis import is_hypothesis_test, settings
from rounds import LONG, rounds
from sandboxes import SharedSandbox
from service import Http, new_key, serving
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.server.app import make_app

# A flush takes 2 to 3 ms on a disk and 0.1 in memory, a tenth of the time of tests with a store, and
# no test depends on it. Where memory has room, temporary files are there; TMPDIR decides otherwise.
MEMORY, ROOM_BYTES_MIN = "/dev/shm", 2 << 30  # noqa: S108 - pytest makes a folder of its own there


def has_room(folder: str) -> bool:
    """Return True if the folder of a file system in memory can hold the files of all tests."""
    if not os.access(folder, os.W_OK):
        return False
    state = os.statvfs(folder)
    may_execute = not state.f_flag & os.ST_NOEXEC
    return may_execute and state.f_bavail * state.f_frsize >= ROOM_BYTES_MIN


if "TMPDIR" not in os.environ and has_room(MEMORY):
    tempfile.tempdir = MEMORY

# No deadline: bench/ measures time. The same inputs in every `make test`; the seed of order and of
# `random` is in pyproject.toml. `make test-long` draws new ones.
settings.register_profile(
    "rounds", deadline=None, max_examples=rounds(30, 200), derandomize=not LONG
)
settings.load_profile("rounds")

# Under `nohup` or `&` a shell ignores SIGINT, and so would every server and program that a test
# starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

if engines.KEPT_IN == "postgresql":
    testing.keep_stores_at(engines.of_folder)


WITHOUT_WORDS = pytest.StashKey[set[Path]]()


def pytest_configure(config: pytest.Config) -> None:
    """With `-k`, read only the test files whose path or text has a word of the expression.

    Importing all of them takes ten times as long as most tests. If the expression has a `not`, or
    no file has a word, all files are read.
    """
    words = re.findall(r"[\w./-]+", config.option.keyword.lower())
    words = [word for word in words if word not in {"and", "or"}]
    if words and "not" not in words:
        root = Path(__file__).parent
        files = set(root.rglob("test_*.py"))
        without = {
            path
            for path in files
            if not any(
                word in f"{path.relative_to(root.parent)}\n{path.read_text('utf-8')}".lower()
                for word in words
            )
        }
        config.stash[WITHOUT_WORDS] = without if without != files else set()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the files without a word of `-k`."""
    return collection_path in config.stash.get(WITHOUT_WORDS, set()) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of Hypothesis as `long`. Deselect those marked `agents` without `-m`."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("long")
    if "agents" not in config.option.markexpr:
        deselected = [item for item in items if item.get_closest_marker("agents")]
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if not item.get_closest_marker("agents")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty data folder."""
    return tmp_path


@pytest.fixture
def clock() -> testing.FrozenClock:
    """Return a clock that only the test moves."""
    return testing.FrozenClock()


@pytest.fixture
def changed(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the settings of a test, or of its class or file, that has the mark `settings`."""
    mark = request.node.get_closest_marker("settings")
    return dict(mark.kwargs) if mark else {}


@pytest.fixture
def context(folder: Path, clock: testing.FrozenClock, changed: dict[str, Any]) -> Iterator[Context]:
    """Open the real parts over an empty store, with that clock and these settings."""
    parts = testing.context(folder, clock=clock)
    yield replace(parts, settings=replace(parts.settings, **changed))
    parts.close()


@pytest.fixture
def app(context: Context) -> Starlette:
    """Return the application."""
    return make_app(context, sandbox=SharedSandbox(context.settings))


@pytest.fixture
def http(app: Starlette, context: Context) -> Iterator[Http]:
    """Return a client in the same process, with a key of the owner."""
    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        yield Http(client, context, new_key(context))


@pytest.fixture
def connect(app: Starlette) -> Iterator[Callable[[], socket.socket]]:
    """Start a real server on a real port and return a function that connects to it."""
    with serving(app) as port:
        opened: list[socket.socket] = []

        def one() -> socket.socket:
            opened.append(socket.create_connection(("127.0.0.1", port), timeout=20))
            return opened[-1]

        yield one
        for connection in opened:
            connection.close()
