"""Requests and responses as bytes, on real sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

Connect = Callable[[], socket.socket]
MIB = 1 << 20
CHUNKED = "Transfer-Encoding: chunked"
JSON = "Content-Type: application/json"
TURN = json.dumps({"query": "When?", "response": "At 9:40."}).encode()


def bearer(key: str) -> str:
    """Return the header with a key."""
    return f"Authorization: Bearer {key}"


def request(method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    """Return a request whose headers are these."""
    lines = (f"{method} {path} HTTP/1.1", "Host: localhost", *headers)
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def post_turn(key: str, *headers: str, turn: bytes = TURN) -> bytes:
    """Return a request to store a turn."""
    length = f"Content-Length: {len(turn)}"
    return request("POST", "/api/v7/remember", bearer(key), JSON, length, *headers, body=turn)


def read_answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read the next response: status, headers and body."""
    stream = connection.makefile("rb")
    status = int(stream.readline().split()[1])
    headers = {}
    while line := stream.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return status, headers, stream.read(int(headers.get("content-length", 0)))


def status_of(connection: socket.socket) -> int:
    """Read the next response; return its status."""
    return read_answer(connection)[0]
