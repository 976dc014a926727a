"""The real service on a real port, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from service import new_key, serving
from starlette.applications import Starlette

from remembrancer.client import Client
from remembrancer.context import Context


@pytest.fixture
def key(context: Context) -> str:
    """A key of the owner."""
    return new_key(context)


@pytest.fixture
def url(app: Starlette) -> Iterator[str]:
    """The address of the service."""
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def client(url: str, key: str) -> Iterator[Client]:
    """A client with the owner's key."""
    with Client(url, key) as client:
        yield client
