"""Fixtures of the store tests: an empty store on each supported engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engines import ENGINES, empty_store

import remembrancer
from remembrancer.store import Store, open_store


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


@pytest.fixture(autouse=True)
def _processes_find_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let child processes import the package even when it is not installed."""
    monkeypatch.setenv("PYTHONPATH", str(Path(remembrancer.__file__).parents[1]))
