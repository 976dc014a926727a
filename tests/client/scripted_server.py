"""A server that sends scripted responses, for cases that the real service rarely produces."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request that arrived."""

    line: str
    headers: dict[str, str]
    body: bytes


def answer(status: int, body: Any = None, **headers: str) -> bytes:
    """Return the bytes of a response; a `body` that is not a string is sent as JSON."""
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(raw)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + raw


def problem(status: int, error: str, **headers: str) -> bytes:
    """Return an error response of the service."""
    document = {"status": status, "error": error, "detail": "said so", "instance": "r1"}
    return answer(status, document, **headers)


@dataclass(slots=True)
class ScriptedServer:
    """Send one response per connection; b"" closes the connection without a response."""

    responses: Iterable[bytes]
    requests: list[ReceivedRequest] = field(default_factory=list)
    _listener: socket.socket = field(init=False)
    _thread: threading.Thread = field(init=False)
    _stop: threading.Event = field(init=False, default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=20)
        self._listener.close()  # later connections are refused

    def _serve(self) -> None:
        for response in self.responses:
            connection = self._accept()
            if connection is None:
                return
            with connection, connection.makefile("rb") as stream:
                line = stream.readline().decode().strip()
                headers: dict[str, str] = {}
                while (text := stream.readline().decode().strip()) != "":
                    name, _, value = text.partition(":")
                    headers[name.lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", "0")))
                self.requests.append(ReceivedRequest(line, headers, body))
                connection.sendall(response)

    def _accept(self) -> socket.socket | None:
        """Return the next connection; None after the server was stopped."""
        while not self._stop.is_set():
            try:
                return self._listener.accept()[0]
            except TimeoutError:
                continue
        return None
