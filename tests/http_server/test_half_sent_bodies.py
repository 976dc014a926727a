"""Bodies that never arrive: they hold no place among the requests in flight."""

from __future__ import annotations

import selectors
import socket
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from http_server.raw import Connect, bearer, post_turn, request, status_of
from service import new_key
from starlette.applications import Starlette

from remembrancer.context import Context
from remembrancer.http.dispatch import IN_FLIGHT_MAX, SLOW_BODIES_MAX

HALF = b" " * 32_768
FORM = "Content-Type: application/x-www-form-urlencoded"


def first_readable(connections: list[socket.socket]) -> socket.socket:
    """Wait for the first connection with a response and return it."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        [(key, _), *_] = selector.select(20)
        return next(one for one in connections if one is key.fileobj)


def is_alive(connect: Connect) -> bool:
    """Return True if the server answers the liveness probe."""
    connection = connect()
    connection.sendall(request("GET", "/healthz"))
    return status_of(connection) == 200


def remember(connect: Connect, key: str) -> int:
    """Store a turn; return the status."""
    connection = connect()
    connection.sendall(post_turn(key))
    return status_of(connection)


def head(path: str, *headers: str, size: int = 2 * len(HALF)) -> bytes:
    """Return the head of a request with a body of `size` bytes."""
    return request("POST", path, f"Content-Length: {size}", *headers)


@pytest.fixture
def traced() -> Iterator[None]:
    """Count the memory that the process allocates."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_half_sent_bodies_without_a_key_are_refused_at_once(
    connect: Connect, context: Context
) -> None:
    """A thousand of them block nobody and fill no memory (specification.md#limit-half-bodies)."""
    key = new_key(context)
    assert remember(connect, key) == 200
    before = tracemalloc.get_traced_memory()[0]
    half_sent = [connect() for _ in range(IN_FLIGHT_MAX + 50)]
    for connection in half_sent:
        connection.sendall(head("/api/v7/remember") + HALF)

    with ThreadPoolExecutor(8) as pool:
        # 503 if more than the maximum are waiting for the check of their key at the same time
        assert set(pool.map(status_of, half_sent)) <= {401, 503}
    assert is_alive(connect)
    assert remember(connect, key) == 200
    # A connection takes 12 KB, half of a body 32; other threads allocate, too.
    assert tracemalloc.get_traced_memory()[0] - before < 0.75 * IN_FLIGHT_MAX * len(HALF)


@pytest.mark.parametrize("kind", ["form", "keyed", "mcp"])
def test_half_sent_bodies_leave_room_for_other_requests(
    connect: Connect, context: Context, app: Starlette, kind: str
) -> None:
    """The oldest gives way when there are too many (specification.md#limit-half-bodies)."""
    key = new_key(context)
    start = {
        "form": head("/console/sign-in", FORM, size=100),
        "keyed": head("/api/v7/remember", bearer(key), size=100),
        "mcp": head("/mcp", bearer(key), size=100),
    }[kind]
    half_sent = [connect() for _ in range(SLOW_BODIES_MAX + 1)]
    for number, connection in enumerate(half_sent):
        connection.sendall(start + b"a")
        if number % 250 == 249:  # the keys before are checked when this request is answered
            assert remember(connect, key) == 200

    assert status_of(first_readable(half_sent)) == 408
    assert is_alive(connect)
    assert remember(connect, key) == 200
    assert app.state.dispatcher.in_flight >= SLOW_BODIES_MAX


def test_body_is_not_invited_before_the_key_is_checked(connect: Connect) -> None:
    """No `100 Continue` without a key (specification.md#limit-half-bodies)."""
    connection = connect()
    connection.sendall(head("/api/v7/remember", "Expect: 100-continue"))

    assert status_of(connection) == 401
