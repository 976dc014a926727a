"""Those who read the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from console.reader import ORIGIN, Reader
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer.context import Context


@pytest.fixture
def read_as(app: Starlette, context: Context) -> Iterator[Callable[[str], Reader]]:
    """Signs somebody in to an account by its name; the first of all is the owner."""
    with TestClient(app, base_url=ORIGIN) as client:
        yield lambda account: Reader(client, context, account)


@pytest.fixture
def owner(read_as: Callable[[str], Reader]) -> Reader:
    """The owner, signed in."""
    return read_as("owner")


@pytest.fixture
def ada(owner: Reader, read_as: Callable[[str], Reader]) -> Reader:
    """A member, signed in."""
    return read_as("ada")
