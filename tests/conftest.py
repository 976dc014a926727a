"""The real service in a fresh folder, and clients that speak HTTP to it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import engines
import pytest
from hypothesis import settings
from service import Http, new_key, serving
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.server.app import make_app

settings.register_profile("steady", deadline=None)  # how long a case takes is for bench/ to say
settings.load_profile("steady")

if engines.KEPT_IN == "postgresql":
    testing.keep_stores_at(engines.of_folder)


ONE_AFTER_THE_OTHER = (
    "tests/servers/",
)  # folders whose tests share what is slow to start: one process of a run has them all


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each test to any process, but those of such a folder to one.

    The plugin's own marks for that have no effect under pytest 9.2.
    """
    from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

    class ByFolder(LoadGroupScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            together = next(
                (folder for folder in ONE_AFTER_THE_OTHER if nodeid.startswith(folder)), None
            )
            return together or str(super()._split_scope(nodeid))

    return ByFolder(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty data folder."""
    return tmp_path


@pytest.fixture
def clock() -> testing.FrozenClock:
    """A time that stands still until the test moves it."""
    return testing.FrozenClock()


@pytest.fixture
def context(folder: Path, clock: testing.FrozenClock) -> Iterator[Context]:
    """The real parts over an empty store, with that clock."""
    made = testing.context(folder, clock=clock)
    yield made
    made.close()


@pytest.fixture
def app(context: Context) -> Starlette:
    """The application."""
    return make_app(context)


@pytest.fixture
def http(app: Starlette, context: Context) -> Iterator[Http]:
    """A client in the same process, with a key of the owner."""
    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        yield Http(client, context, new_key(context))


@pytest.fixture
def connect(app: Starlette) -> Iterator[Callable[[], socket.socket]]:
    """A real server on a real port: opens connections to it."""
    with serving(app) as port:
        opened: list[socket.socket] = []

        def one() -> socket.socket:
            opened.append(socket.create_connection(("127.0.0.1", port), timeout=20))
            return opened[-1]

        yield one
        for connection in opened:
            connection.close()
