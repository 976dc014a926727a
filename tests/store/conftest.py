"""Fixtures of the store tests: an empty store on each supported engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from engines import ENGINES, empty_store

import remembrancer
from remembrancer import testing
from remembrancer.context import Context
from remembrancer.store import Store, open_store

if TYPE_CHECKING:
    from remembrancer.store.postgresql.dialect import BoundStatement


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Return each supported engine in turn."""
    return str(request.param)


@pytest.fixture
def url(engine: str, tmp_path: Path) -> str:
    """Return the address of an empty store of this engine."""
    return empty_store(engine, tmp_path)


@pytest.fixture
def opened(url: str) -> Iterator[Callable[[], Store]]:
    """Return a function that opens the store at `url`; close all stores at the end."""
    stores: list[Store] = []

    def open_one() -> Store:
        stores.append(open_store(url, durability="normal"))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    """Return an empty store."""
    return opened()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Context]:
    """Yield the components of a service on an empty PostgreSQL store."""
    store = open_store(empty_store("postgresql", tmp_path), durability="normal")
    with closing(testing.context(tmp_path, store=store)) as opened:
        yield opened


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return a list of the requests that PostgreSQL gets from now on: the statements of each.

    Each takes a round trip, except the commit of a read, whose result nobody awaits.
    """
    # imported here: other tests of this folder run without the driver
    from remembrancer.store.postgresql.connection import Connection

    executed: list[list[str]] = []
    request, rollback = Connection.request, Connection.rollback

    def recorded(connection: Connection, statements: Sequence[BoundStatement]) -> Any:
        executed.append([one.sql.decode() for one in statements])
        return request(connection, statements)

    def rolled_back(connection: Connection) -> None:
        executed.append(["rollback"])
        rollback(connection)

    monkeypatch.setattr(Connection, "request", recorded)
    monkeypatch.setattr(Connection, "rollback", rolled_back)
    return executed


@pytest.fixture(autouse=True)
def _processes_find_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let child processes import the package even when it is not installed."""
    monkeypatch.setenv("PYTHONPATH", str(Path(remembrancer.__file__).parents[1]))
