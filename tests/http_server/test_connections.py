"""Clients that idle, crawl, pipeline or send what proxies misread, on real sockets."""

from __future__ import annotations

import json
import resource
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from threading import Thread

import pytest
from http_server.raw import CHUNKED, MIB, TURN, Connect, post_turn, request
from rounds import rounds
from servers.started import SETTINGS
from service import new_key, rows

from remembrancer.context import Context
from remembrancer.server import connection as wire
from remembrancer.testing.servers import Server

IDLE = rounds(200, 5_000)  # connections
LIVE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def statuses(connection: socket.socket) -> list[int]:
    """Read until the server closes the connection; return the status of each response."""
    data = b""
    while chunk := connection.recv(1 << 16):
        data += chunk
    return [int(part[:3]) for part in data.split(b"HTTP/1.1 ")[1:]]


def send_until_cut_off(connection: socket.socket, data: bytes) -> None:
    """Send the same again and again. Raises OSError once the server has closed the connection."""
    while True:
        connection.sendall(data)


post = partial(request, "POST", "/api/v7/remember")
LAST = LIVE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
# Request smuggling: what one server reads as the end of a request, another does not. From the
# lists of PortSwigger, of "HTTP Garden" (Kallus et al.) and of RFC 9112, section 11.2.
AMBIGUOUS = {
    "both lengths": post("Content-Length: 6", CHUNKED, body=b"0\r\n\r\nG"),
    "both lengths, the other order": post(CHUNKED, "Content-Length: 4", body=b"5c\r\n"),
    "two lengths": post("Content-Length: 5", "Content-Length: 6", body=b"abcdef"),
    "two equal lengths": post("Content-Length: 1", "Content-Length: 1", body=b"x"),
    "a list of lengths": post("Content-Length: 1, 1", body=b"x"),
    "a signed length": post("Content-Length: +1", body=b"x"),
    "a hexadecimal length": post("Content-Length: 0x1", body=b"x"),
    "a length with a gap": post("Content-Length: 1 0", body=b"x"),
    "a length with an underscore": post("Content-Length: 1_0", body=b"x"),
    "no length in the header": post("Content-Length: ", body=b"x"),
    "a length before the name's end": post("Content-Length : 1", body=b"x"),
    "an unknown coding": post("Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
    "chunked, then identity": post("Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"),
    "identity, then chunked": post("Transfer-Encoding: identity", CHUNKED, body=b"0\r\n\r\n"),
    "chunked twice": post(CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "a vertical tab": post("Transfer-Encoding:\x0bchunked", body=b"0\r\n\r\n"),
    "a quoted coding": post('Transfer-Encoding: "chunked"', body=b"0\r\n\r\n"),
    "a folded header": post("Transfer-Encoding:\r\n chunked", body=b"0\r\n\r\n"),
    "a folded first header": b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "line feeds alone": b"GET / HTTP/1.1\nHost: localhost\n\n",
    "a carriage return alone": b"GET / HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n",
    "NUL in a value": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
    "NUL in a name": b"GET / HTTP/1.1\r\nHost: localhost\r\nX\0: a\r\n\r\n",
    "an extension that ends with a line feed": post(CHUNKED, body=b"1;a\nx\r\n0\r\n\r\n"),
    "chunks with line feeds alone": post(CHUNKED, body=b"1\nx\n0\n\n"),
    "a chunk longer than it says": post(CHUNKED, body=b"1\r\nxx\r\n0\r\n\r\n"),
    "a negative chunk": post(CHUNKED, body=b"-1\r\nx\r\n0\r\n\r\n"),
    "a prefixed chunk": post(CHUNKED, body=b"0x1\r\nx\r\n0\r\n\r\n"),
    "a chunk that overflows": post(CHUNKED, body=b"10000000000000001\r\nx\r\n0\r\n\r\n"),
    "a length in the trailer": post(CHUNKED, body=b"0\r\nContent-Length: 5\r\n\r\n"),
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "another host in the URL": b"GET http://evil/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": bytes.fromhex("1603010200010001fc0303") + b"a" * 40,
    "CONNECT": b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


def test_request_that_proxies_misread_ends_the_connection(connect: Connect) -> None:
    """Nothing after it is read as a request (specification.md#http-ambiguous)."""
    for name, data in AMBIGUOUS.items():
        connection = connect()
        connection.sendall(data + LIVE)
        assert (name, statuses(connection)) == (name, [400])


def test_upgrade_is_refused_and_the_request_is_answered(connect: Connect, context: Context) -> None:
    """A server may ignore it (RFC 9110, 7.8). Java's client asks for h2c with every first POST."""
    before, key = rows(context)["events"], new_key(context)
    for number, upgrade in enumerate(("websocket", "h2c", "TLS/1.0"), 1):
        turn = TURN.replace(b"9:40", b"9:4%d" % number)
        headers = ("Connection: Upgrade", f"Upgrade: {upgrade}")
        connection = connect()
        connection.sendall(post_turn(key, *headers, turn=turn) + LIVE)

        assert statuses(connection) == [200]
        assert rows(context)["events"] == before + number


def test_many_requests_at_once_are_answered_in_order(connect: Connect) -> None:
    """400 KB of heads on one connection: none of them is too large (RFC 9112, 9.3.2)."""
    connection, count = connect(), 4_000
    requests = [
        f"GET /{n} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {n}\r\nX-Padding: {'p' * 40}\r\n\r\n"
        for n in range(count)
    ]
    sender = Thread(target=connection.sendall, args=("".join(requests).encode() + LAST,))
    sender.start()
    stream = connection.makefile("rb")
    ids = [line.split()[1].decode() for line in stream if line.lower().startswith(b"x-request-id:")]
    sender.join()

    assert ids[:-1] == [str(n) for n in range(count)]


def test_writes_are_answered_before_the_refusal_of_what_follows(
    connect: Connect, context: Context
) -> None:
    """Else a client would take the refusal for the answer to a write that was stored."""
    key, stored = new_key(context), 0
    for count, rest in product((1, 3), (b"GARBAGE\r\n\r\n", AMBIGUOUS["two lengths"])):
        turns = [TURN.replace(b"9:40", b"9:%02d" % (stored + number)) for number in range(count)]
        writes = [post_turn(key, turn=turn) for turn in turns]
        connection = connect()
        connection.sendall(b"".join(writes) + rest)
        stored += count

        assert statuses(connection) == [200] * count + [400]
        assert rows(context)["events"] == stored


def test_refusal_of_a_large_body_arrives_before_the_end(connect: Connect) -> None:
    """A client that reads only after it has sent 9 MB, then closes, sees why it was refused."""
    address = f"http://127.0.0.1:{connect().getpeername()[1]}/api/v7/remember"
    for _ in range(20):
        with pytest.raises(urllib.error.HTTPError) as refused:
            # it sends `Connection: close`
            urllib.request.urlopen(address, data=bytes(9 * MIB))
        assert json.load(refused.value)["error"] == "too_large"


def test_client_that_sends_without_end_is_cut_off(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "LINGER_SECONDS_MAX", 0.2)
    connection = connect()
    connection.sendall(post(f"Content-Length: {10**15}"))

    with pytest.raises(ConnectionError):
        send_until_cut_off(connection, bytes(1 << 16))


def test_client_that_does_not_read_is_cut_off(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its responses would stay in memory for as long as it likes."""
    monkeypatch.setattr(wire, "READ_SECONDS", 0.2)
    connection = connect()
    document = LIVE.replace(b"/healthz", b"/openapi.json") * 1_000
    with pytest.raises(ConnectionError):
        send_until_cut_off(connection, document)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that is a process of its own."""
    with Server(tmp_path / "data", **SETTINGS) as one:
        yield one


@pytest.mark.long
def test_thousands_of_idle_connections_hold_nobody_up(server: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < IDLE + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(IDLE + 200, hard), hard))
    with ExitStack() as stack:

        def answered() -> bytes:
            one = stack.enter_context(
                socket.create_connection(("127.0.0.1", server.port), timeout=20)
            )
            one.sendall(LIVE)
            return one.recv(4_096)

        assert all(b" 200 OK" in answered() for _ in range(IDLE))
        assert b" 200 OK" in answered()
