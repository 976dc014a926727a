"""Clients that speak HTTP to the real service, in process and over a socket."""

from __future__ import annotations

import socket
import threading
from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer.accounts import keys
from remembrancer.context import Context
from remembrancer.server import run as server
from remembrancer.store.transfer.copy import tables

# Accounts and keys of the tests themselves, counters, and what is derived from other tables.
UNCOUNTED = {"accounts", "keys", "usage", "secrets", "embedders", "audit_head"}


class Http:
    """A client with a key. It returns every response and raises for no status."""

    def __init__(self, client: TestClient, context: Context, key: str | None) -> None:
        self.client, self.context, self.key = client, context, key

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """Send a request; `options` go to the HTTP client.

        The key is added unless `headers` contains Authorization.
        """
        headers = {name.lower(): value for name, value in dict(options.pop("headers", {})).items()}
        if self.key is not None:
            headers.setdefault("authorization", f"Bearer {self.key}")
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> Any:
        """Send a GET request."""
        return self.ask("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> Any:
        """Send a POST request with a JSON body."""
        return self.ask("POST", path, json=body, **options)

    def patch(self, path: str, body: Any, **options: Any) -> Any:
        """Send a PATCH request with a JSON body."""
        return self.ask("PATCH", path, json=body, **options)

    def delete(self, path: str, **options: Any) -> Any:
        """Send a DELETE request."""
        return self.ask("DELETE", path, **options)

    def post_bytes(self, path: str, body: bytes, **headers: str) -> Any:
        """Send a POST request with these bytes as `application/json`."""
        return self.ask(
            "POST", path, content=body, headers={"content-type": "application/json", **headers}
        )

    def memory(self, query_text: str, user_id: str = "owner", **more: Any) -> Any:
        """Search memory; return the response body."""
        return body_of(
            self.post("/api/v7/memory", {"query_text": query_text, "user_id": user_id, **more})
        )

    def remember(self, query: str, response: str, **more: Any) -> Any:
        """Remember a turn; return the response body."""
        return body_of(
            self.post("/api/v7/remember", {"query": query, "response": response, **more})
        )

    def with_key(self, key: str | None) -> Http:
        """Return a client with another key, or without one."""
        return Http(self.client, self.context, key)

    def as_account(self, name: str, **key: Any) -> Http:
        """Return a client with a new key of this account; `key` holds its attributes."""
        return self.with_key(new_key(self.context, name, **key))

    def rows(self) -> dict[str, int]:
        """Return the number of rows of each table."""
        return rows(self.context)


def body_of(answer: Any) -> Any:
    """Return the body of a response, which must have status 200."""
    assert answer.status_code == 200, answer.text
    return answer.json()


def run_code(http: Http, code: str, **more: Any) -> Any:
    """Run a program in the sandbox of the service; return the response body."""
    return body_of(http.post("/api/execute/code", {"code": code, **more}))


def new_key(context: Context, account: str = "owner", **key: Any) -> str:
    """Create a key of this account; return its text."""
    return str(keys.create(context, account=account, label="for a test", **key).key.reveal())


def rows(context: Context) -> dict[str, int]:
    """Return the number of rows of each table with what requests store."""
    return context.store.read(
        lambda tx: {one.name: one.count(tx) for one in tables(tx) if one.name not in UNCOUNTED}
    )


class serving:  # noqa: N801 - read as a verb: `with serving(app) as port`
    """Serve an application from a thread, as `serve` does; yield the port."""

    def __init__(self, app: Starlette) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._server = server.uvicorn_server(app)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}
        )

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._listener.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)
        assert not self._thread.is_alive()
