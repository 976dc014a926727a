"""The server answers only to its own host names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from service import Http
from starlette.testclient import TestClient

from remembrancer.context import Context
from remembrancer.protocol.operations import OPERATIONS
from remembrancer.server.app import make_app

Start = Callable[..., TestClient]
LOOPBACK = ("127.0.0.1", 5000)


@pytest.fixture
def start(context: Context) -> Iterator[Start]:
    """Return a function that starts the application with settings, for a client on this machine."""
    clients = []

    def one(**settings: str) -> TestClient:
        own_settings = replace(context.settings, **settings)  # type: ignore[arg-type]
        changed = replace(context, settings=own_settings)
        client = TestClient(make_app(changed), client=LOOPBACK, base_url="http://127.0.0.1:8460")
        clients.append(client.__enter__())
        return client

    yield one
    for client in clients:
        client.__exit__()


def status(client: TestClient, host: str, path: str = "/metrics") -> int:
    """Return the status of a request with this Host header."""
    return client.get(path, headers={"Host": host}).status_code


NAMES = ["localhost", "LocalHost:8460", "localhost.", "memory.localhost:8460", "127.0.0.1",
         "127.0.0.1:8460", "127.9.9.9", "[::1]", "[::1]:8460", "host.docker.internal:8460"]  # fmt: skip


def test_names_of_this_machine_are_answered(start: Start) -> None:
    """See specification.md#api-hosts."""
    client = start()

    assert [host for host in NAMES if status(client, host) != 200] == []


def test_other_names_are_421(start: Start) -> None:
    """A page of another site reads nothing (specification.md#api-hosts)."""
    client = start()
    for host in (
        *("evil.example", "evil.example:8460", "localhost.evil.example"),
        *("127.0.0.1.evil.example", "evil.example.localhost.com", "192.168.1.5"),
        *("[2001:db8::1]", "localhost:8460:evil.example", "localhost@evil.example"),
        *("[evil.example]", "", ":8460", "[", "é"),
    ):
        answer = client.get("/metrics", headers={b"Host": host.encode("latin-1")})
        assert (answer.status_code, answer.json()["error"]) == (421, "misdirected_request"), host
        assert "REMEMBRANCER_HOSTS" in answer.json()["detail"]
        assert "evil" not in answer.text
    both = [("Host", "localhost"), ("Host", "evil.example")]
    assert client.get("/metrics", headers=both).status_code == 421


def test_every_path_is_guarded(shared: Http) -> None:
    """Before anything else is checked (specification.md#api-hosts)."""
    headers = {"Host": "evil.example", "Content-Length": "99999999999"}
    paths = {endpoint.path for endpoint in OPERATIONS} | {"/console"}

    assert {shared.get(path, headers=headers).status_code for path in paths} == {421}


def test_public_url_and_setting_add_names(start: Start) -> None:
    """See specification.md#api-hosts."""
    client = start(public_url="https://memory.example.org:8443/", hosts="nas.local, Server")

    allowed = ("memory.example.org", "MEMORY.example.org:443", "nas.local:8460", "server")
    assert [status(client, host) for host in allowed] == [200] * 4
    assert [status(client, host) for host in ("example.org", "local", "evil.example")] == [421] * 3


def test_server_on_the_network_is_reached_by_any_address(start: Start) -> None:
    """Names must be listed, addresses need not be (specification.md#api-hosts)."""
    for bound in ("0.0.0.0", "::", "192.168.1.5"):  # noqa: S104 - not bound
        client = start(host=bound)
        assert [status(client, host) for host in ("192.168.1.5:8460", "[fd00::5]")] == [200, 200]
        assert status(client, "evil.example") == 421
    assert status(start(hosts="*"), "evil.example") == 200
