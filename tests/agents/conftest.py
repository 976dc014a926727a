"""The service and the real clients of `make test-agents`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from agents import clients
from agents.claude_code import ClaudeCode
from agents.codex import Codex
from agents.network import is_loopback_only
from service import Http, new_key, serving
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from remembrancer.context import Context, assemble
from remembrancer.install.agents import plan_changes
from remembrancer.install.config_files import InstallOptions, write
from remembrancer.server.app import make_app
from remembrancer.settings import Settings

KEYED = "/keyed"  # prefix of paths that need no key
SHELL_SERVER = Path(__file__).with_name("shell_server.py")
REMEDY = "run the tests with real clients by: make test-agents"


class KeyAddition:
    """Add a key to the requests below KEYED, for clients that cannot send one."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self.app, self.authorization = app, (b"authorization", f"Bearer {key}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and scope["path"].startswith(KEYED):
            path = scope["path"].removeprefix(KEYED)
            headers = [*scope["headers"], self.authorization]
            scope = {**scope, "path": path, "raw_path": path.encode(), "headers": headers}
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class RunningService:
    """The service on a real port, and the context to create keys with."""

    url: str
    context: Context
    client: TestClient

    def as_key(self, key: str) -> Http:
        """Return an HTTP client with a key."""
        return Http(self.client, self.context, key)

    def as_owner(self) -> Http:
        """Return an HTTP client of the owner."""
        return self.as_key(new_key(self.context))


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """The service with its default parts, as `remembrancer serve` runs it."""
    if not is_loopback_only():
        pytest.fail(f"these tests run without a network: {REMEDY}")
    context = assemble(Settings(data=tmp_path_factory.mktemp("service")))
    key = new_key(context)  # the first account is the owner's
    app = make_app(context)
    app.add_middleware(KeyAddition, key=key)
    with serving(app) as port:
        url = f"http://127.0.0.1:{port}"
        # The first MCP request imports the SDK; Claude Code does not wait for it.
        httpx2.post(f"{url}{KEYED}/mcp", json={}, timeout=60)
        yield RunningService(url, context, TestClient(app, base_url=url))
    context.close()


def program(client: str) -> Path:
    """Return the program of a client; skip the test if it is not installed."""
    path = clients.program(client)
    if path is None:
        pytest.skip(f"{client} is not installed from npm; {REMEDY}")
    return path


@contextmanager
def new_home() -> Iterator[Path]:
    """A home folder. Not in /tmp: Codex accepts no programs from there."""
    folder = clients.cache() / "homes"
    folder.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=folder))
    try:
        yield path
    finally:
        shutil.rmtree(path)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A home folder of the tests of a module."""
    with new_home() as path:
        yield path


@pytest.fixture
def target(home: Path) -> Iterator[Path]:
    """The path of a system file that does not exist."""
    path = Path(f"/srv/remembrancer-{home.name}")
    yield path
    path.unlink(missing_ok=True)


def stored(owned: Http, query: str) -> list[dict[str, str]]:
    """Return the events whose prompt is exactly this."""
    hits = owned.memory(query, user_id=owned.get("/api/v7/key").json()["user_id"], top_k=20)["hits"]
    return [hit for hit in hits if hit["query"] == query]


@pytest.fixture(scope="module")
def account(home: Path) -> str:
    """An account that no other module uses."""
    return f"agent-{home.name.lower().replace('_', '-')}"


@pytest.fixture(scope="module")
def owned(service: RunningService, account: str) -> Http:
    """An HTTP client of the agent's own account."""
    return service.as_key(new_key(service.context, account))


@pytest.fixture(scope="module")
def installed(service: RunningService, home: Path) -> Callable[[str], None]:
    """A function that installs the setup of an agent in the home."""

    def install(agent: str) -> None:
        options = InstallOptions(home=home, is_project=False, url=service.url, remove=False)
        write(plan_changes(agent, options))

    return install


@pytest.fixture(scope="module")
def claude(
    service: RunningService, home: Path, account: str, installed: Callable[[str], None]
) -> ClaudeCode:
    """Claude Code with the hooks, the tools and a key file."""
    agent = ClaudeCode(program("claude-code"), home, new_key(service.context, account))
    installed("claude-code")
    return agent


@pytest.fixture(scope="module")
def codex(
    service: RunningService, home: Path, account: str, installed: Callable[[str], None]
) -> Codex:
    """Codex with the hooks, the tools and a key file."""
    agent = Codex(program("codex"), home, new_key(service.context, account))
    installed("codex")
    return agent
