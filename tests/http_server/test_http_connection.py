"""Raw HTTP on a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from service import new_key, rows
from starlette.requests import Request
from starlette.types import Message

from remembrancer.context import Context
from remembrancer.http import bodies
from remembrancer.protocol.errors import TooSlow
from remembrancer.server import connection as wire

Connect = Callable[[], socket.socket]
MIB = 1 << 20
TURN = json.dumps({"query": "When?", "response": "At 9:40."}).encode()


def head(method: str, path: str, *headers: str) -> bytes:
    """Return the head of a request."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode(
        "latin-1"
    )


def read_answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read the next response: status, headers and body."""
    stream = connection.makefile("rb")
    status = int(stream.readline().split()[1])
    headers = {}
    while line := stream.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return status, headers, stream.read(int(headers.get("content-length", 0)))


def chunks(total: int, size: int = 64 * 1024) -> Iterator[bytes]:
    """Yield `total` bytes in chunked coding, without the final chunk."""
    for _ in range(total // size):
        yield f"{size:x}\r\n".encode() + b" " * size + b"\r\n"


def post_turn(*headers: str, key: str | None = None) -> bytes:
    """Return the head of a request to store a turn."""
    own = ("Content-Type: application/json", *headers)
    return head(
        "POST", "/api/v7/remember", *([f"Authorization: Bearer {key}"] if key else []), *own
    )


CHUNKED = "Transfer-Encoding: chunked"


@pytest.fixture
def key(context: Context) -> str:
    """A key of the owner."""
    return new_key(context)


def test_oversized_chunked_body_is_413(connect: Connect, context: Context, key: str) -> None:
    """An unannounced size counts, too (specification.md#limit-body)."""
    connection, before = connect(), rows(context)
    connection.sendall(post_turn(CHUNKED, key=key))
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
    connection.sendall(post_turn(CHUNKED))
    for chunk in chunks(2 * MIB):
        connection.sendall(chunk)

    assert read_answer(connection)[0] == 401


def test_oversized_content_length_is_413_before_the_body(connect: Connect, key: str) -> None:
    """The connection stays open after a refused body."""
    waiting, sending = connect(), connect()
    waiting.sendall(post_turn(f"Content-Length: {10 * MIB}", "Expect: 100-continue", key=key))
    sending.sendall(post_turn(f"Content-Length: {2 * MIB}") + b" " * (2 * MIB))
    statuses = [read_answer(one)[0] for one in (waiting, sending)]
    sending.sendall(head("GET", "/healthz"))

    assert [*statuses, read_answer(sending)[0]] == [413, 413, 200]


def test_two_authorization_headers_are_401(connect: Connect, key: str) -> None:
    """A second key header is a 401 (specification.md#auth-bearer)."""
    for second in ("Bearer sk_00", "Basic YTpi", ""):
        both = [f"Authorization: Bearer {key}", f"Authorization: {second}"]
        for order in (both, both[::-1]):
            connection = connect()
            connection.sendall(head("GET", "/api/v7/event/ev_1", *order))
            status, headers, _ = read_answer(connection)

            assert (status, headers["www-authenticate"]) == (401, "Bearer")


def test_invalid_http_is_400_and_closes_the_connection(connect: Connect) -> None:
    memory, host = b"POST /api/v7/memory HTTP/1.1\r\n", b"Host: x\r\n"
    for data in (
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        memory + host + b"Content-Length: -1\r\n\r\n",
        memory + host + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        memory + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
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
    allowed.sendall(head("GET", "/healthz", *tiny[1:]))
    refused.sendall(head("GET", "/healthz", *tiny))

    status, _, body = read_answer(refused)

    assert (status, json.loads(body)["error"]) == (431, "too_many_headers")
    assert refused.recv(1) == b""
    assert read_answer(allowed)[0] == 200


def test_bytes_between_chunks_are_bounded(connect: Connect, key: str) -> None:
    """They never become body, so no other limit counts them (specification.md#api-body-time)."""
    own = (f"Authorization: Bearer {key}", CHUNKED, "Content-Type: application/json")
    for begin, more in (
        (b"1;", b"a" * 4096),  # an extension
        (b"0\r\nX: ", b"a" * 4096),  # a trailer
        (b"", b"1;" + b"a" * 4096 + b"\r\nb\r\n"),  # extensions
    ):
        connection = connect()
        connection.sendall(head("POST", "/api/v7/memory", *own) + begin)
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
    further.sendall(head("GET", "/healthz"))
    status = read_answer(further)[0]
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
    length = f"Content-Length: {len(TURN)}"
    request = post_turn("Idempotency-Key: turn-17", length, key=key) + TURN

    def send(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
        connection.sendall(request)
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
    connection.sendall(post_turn("Content-Length: 500", key=key) + TURN)
    connection.close()
    other.sendall(head("GET", "/healthz"))

    assert read_answer(other)[0] == 200
    assert rows(context) == before
