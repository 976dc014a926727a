"""The real service on a real port, and clients of it; each test has an account of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from sandboxes import SharedSandbox
from service import new_key, serving

from remembrancer import testing
from remembrancer.client import Client
from remembrancer.context import Context
from remembrancer.server.app import make_app

NUMBERS = count(1)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Context, str]]:
    """The service of the tests of a file, and its address."""
    context = testing.context(tmp_path_factory.mktemp("service"), clock=testing.FrozenClock())
    new_key(context)  # the first account is the owner of the service
    with serving(make_app(context, sandbox=SharedSandbox(context.settings))) as port:
        yield context, f"http://127.0.0.1:{port}"
    context.close()


@pytest.fixture
def context(service: tuple[Context, str]) -> Context:
    """The parts of the service."""
    return service[0]


@pytest.fixture
def url(service: tuple[Context, str]) -> str:
    """The address of the service."""
    return service[1]


@pytest.fixture
def account() -> str:
    """The account of the test, which is its default user, too."""
    return f"person-{next(NUMBERS)}"


@pytest.fixture
def key(context: Context, account: str) -> str:
    """A key of the account."""
    return new_key(context, account)


@pytest.fixture
def client(url: str, key: str) -> Iterator[Client]:
    """A client with the key of the account."""
    with Client(url, key) as client:
        yield client
