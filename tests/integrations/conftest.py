"""A running service, an unused address, and agents with their own homes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from integrations.agent import Agent
from service import Http, new_key, serving
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer.context import Context


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty home folder."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def service_url(app: Starlette) -> Iterator[str]:
    """The real service on a real port."""
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def agent(home: Path, service_url: str, context: Context) -> Agent:
    """Claude Code with a key of the owner."""
    return Agent(home, service_url, new_key(context))


@pytest.fixture
def owner(service_url: str, context: Context, app: Starlette) -> Http:
    """An HTTP client of the owner."""
    return Http(TestClient(app, base_url=service_url), context, new_key(context))


@pytest.fixture
def dead_url() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return f"http://127.0.0.1:{port}"
