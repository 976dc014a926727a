"""Command lines: on the data folder of the test, and of a user who has a key of a service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Cli
from service import new_key, serving
from starlette.applications import Starlette

from remembrancer.client import Client
from remembrancer.context import Context


@pytest.fixture
def cli(folder: Path) -> Cli:
    """The command line on the data folder."""
    return Cli(folder)


@pytest.fixture
def client(app: Starlette, context: Context) -> Iterator[Client]:
    """A client of the service, with the owner's key."""
    with serving(app) as port, Client(f"http://127.0.0.1:{port}", new_key(context)) as client:
        yield client


@pytest.fixture
def user_cli(client: Client, context: Context, folder: Path) -> Cli:
    """The command line of another user of the machine, who has a key."""
    cli = Cli(folder / "nothing")
    cli.environment |= {
        "HOME": str(folder),
        "REMEMBRANCER_URL": client.base_url,
        "REMEMBRANCER_KEY": new_key(context),
    }
    return cli
