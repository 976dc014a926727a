"""A real server whose system calls fail while a test wants them to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from faults.service import Service
from faults.shim import Shim


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield a server that all tests of the folder share: every fault ends without a restart."""
    folder = tmp_path_factory.mktemp("faults")
    with Shim(folder) as shim, Service(folder / "data", shim) as service:
        yield service


@pytest.fixture
def service(shared: Service) -> Service:
    """Return the shared server, ready."""
    assert shared.server.get("/readyz").status == 200
    return shared


_NUMBERS = itertools.count()


@pytest.fixture
def word() -> str:
    """Return a word that no other test has."""
    return f"zq{next(_NUMBERS)}vx"
