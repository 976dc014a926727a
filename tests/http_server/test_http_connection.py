"""Raw HTTP on a real socket, and bodies that never arrive."""

from __future__ import annotations

import asyncio
import json
import selectors
import socket
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from http_server.raw import (
    CHUNKED,
    JSON,
    MIB,
    TURN,
    Connect,
    bearer,
    post_turn,
    read_answer,
    request,
    status_of,
)
from service import new_key, rows
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import Message

from remembrancer.context import Context
from remembrancer.http import bodies
from remembrancer.http.dispatch import IN_FLIGHT_MAX, SLOW_BODIES_MAX
from remembrancer.protocol.errors import TooSlow
from remembrancer.server import connection as wire

post = partial(request, "POST", "/api/v7/remember")


def chunks(total: int, size: int = 64 * 1024) -> Iterator[bytes]:
    """Yield `total` bytes in chunked coding, without the final chunk."""
    for _ in range(total // size):
        yield f"{size:x}\r\n".encode() + b" " * size + b"\r\n"


@pytest.fixture
def key(context: Context) -> str:
    """A key of the owner."""
    return new_key(context)


def test_oversized_chunked_body_is_413(connect: Connect, context: Context, key: str) -> None:
    """An unannounced size counts, too (specification.md#limit-body)."""
    connection, before = connect(), rows(context)
    connection.sendall(post(CHUNKED, bearer(key)))
    for chunk in chunks(10 * MIB):
        connection.sendall(chunk)
    connection.sendall(b"0\r\n\r\n")

    status, headers, body = read_answer(connection)

    assert (status, json.loads(body)["error"]) == (413, "too_large")
    assert headers["content-type"] == "application/problem+json"
    assert rows(context) == before


def test_body_of_unannounced_size_without_a_key_is_401(connect: Connect) -> None:
    """Nobody waits for a body without a key (specification.md#limit-413-first)."""
    connection = connect()
    connection.sendall(post(CHUNKED))
    for chunk in chunks(2 * MIB):
        connection.sendall(chunk)

    assert status_of(connection) == 401


def test_oversized_content_length_is_413_before_the_body(connect: Connect, key: str) -> None:
    """The connection stays open after a refused body."""
    waiting, sending = connect(), connect()
    waiting.sendall(post(f"Content-Length: {10 * MIB}", "Expect: 100-continue", bearer(key)))
    sending.sendall(post(f"Content-Length: {2 * MIB}") + b" " * (2 * MIB))
    statuses = [status_of(one) for one in (waiting, sending)]
    sending.sendall(request("GET", "/healthz"))

    assert [*statuses, status_of(sending)] == [413, 413, 200]


def test_two_authorization_headers_are_401(connect: Connect, key: str) -> None:
    """A second key header is a 401 (specification.md#auth-bearer)."""
    for second in ("Bearer sk_00", "Basic YTpi", ""):
        both = [bearer(key), f"Authorization: {second}"]
        for order in (both, both[::-1]):
            connection = connect()
            connection.sendall(request("GET", "/api/v7/event/ev_1", *order))
            status, headers, _ = read_answer(connection)

            assert (status, headers["www-authenticate"]) == (401, "Bearer")


def test_invalid_http_is_400_and_closes_the_connection(connect: Connect) -> None:
    for data in (
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        post("Content-Length: -1"),
        post(CHUNKED, body=b"zz\r\n"),
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * wire.HEAD_BYTES_MAX * 8,
        b"GET /" + b"a" * wire.HEAD_BYTES_MAX,
        b"GET / HTTP/1.1\r\n" + (b"X: " + b"a" * 4096 + b"\r\n") * 17,
    ):
        connection = connect()
        connection.sendall(data)
        status, headers, body = read_answer(connection)

        assert (status, json.loads(body)["error"]) == (400, "malformed_request"), data[:80]
        assert headers["content-type"] == "application/problem+json"
        assert connection.recv(1) == b""


def test_headers_are_counted(connect: Connect) -> None:
    """Tiny headers take memory before the key is read (specification.md#api-body-time)."""
    allowed, refused = connect(), connect()
    tiny = [f"X-{number}: a" for number in range(wire.HEADERS_MAX)]
    allowed.sendall(request("GET", "/healthz", *tiny[1:]))
    refused.sendall(request("GET", "/healthz", *tiny))

    status, _, body = read_answer(refused)

    assert (status, json.loads(body)["error"]) == (431, "too_many_headers")
    assert refused.recv(1) == b""
    assert status_of(allowed) == 200


def test_bytes_between_chunks_are_bounded(connect: Connect, key: str) -> None:
    """They never become body, so no other limit counts them (specification.md#api-body-time)."""
    own = (bearer(key), CHUNKED, JSON)
    for begin, more in (
        (b"1;", b"a" * 4096),  # an extension
        (b"0\r\nX: ", b"a" * 4096),  # a trailer
        (b"", b"1;" + b"a" * 4096 + b"\r\nb\r\n"),  # extensions
    ):
        connection = connect()
        connection.sendall(request("POST", "/api/v7/memory", *own) + begin)
        assert is_closed_within(connection, more, 16 * MIB), begin


def is_closed_within(connection: socket.socket, more: bytes, total: int) -> bool:
    """Send `more` again and again; return True if the server closes before this many bytes."""
    try:
        for _ in range(total // len(more)):
            connection.sendall(more)
    except OSError:
        return True
    return False


def test_slow_request_head_times_out(monkeypatch: pytest.MonkeyPatch, connect: Connect) -> None:
    """The first of a connection, and each further one."""
    further = connect()
    further.sendall(request("GET", "/healthz"))
    status = status_of(further)
    monkeypatch.setattr(wire, "HEAD_SECONDS_MAX", 0.05)
    slow, idle = connect(), connect()
    slow.sendall(b"GET / HTTP/1.1\r\nHost:")
    further.sendall(b"GET / HTTP")

    assert status == 200
    assert [one.recv(1) for one in (slow, idle, further)] == [b""] * 3


def test_slow_body_times_out() -> None:
    async def receive_nothing() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(TooSlow):
        asyncio.run(
            bodies.SlowBodies(1, seconds_max=0.01).read(
                bodies.PartialBody(Request({"type": "http", "headers": []}, receive_nothing), 100)
            )
        )


def test_concurrent_identical_writes_are_stored_once(
    connect: Connect, context: Context, key: str
) -> None:
    """Concurrent repeats return the first response (specification.md#idempotency-replay)."""
    turn = post_turn(key, "Idempotency-Key: turn-17")

    def send(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
        connection.sendall(turn)
        return read_answer(connection)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, [connect() for _ in range(8)]))

    assert {status for status, _, _ in answers} == {200}
    assert len({body for _, _, body in answers}) == 1
    assert sum("idempotent-replayed" in headers for _, headers, _ in answers) == 7
    assert rows(context)["events"] == 1


def test_disconnect_during_the_body_stores_nothing(
    connect: Connect, context: Context, key: str
) -> None:
    before, connection, other = rows(context), connect(), connect()
    connection.sendall(post(bearer(key), JSON, "Content-Length: 500", body=TURN))
    connection.close()
    other.sendall(request("GET", "/healthz"))

    assert status_of(other) == 200
    assert rows(context) == before


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
