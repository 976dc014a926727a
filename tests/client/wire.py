"""A server that says what it is told to say: for what a real service answers too seldom to wait for."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that came."""

    line: str
    headers: dict[str, str]
    body: bytes


def answer(status: int, body: Any = None, **headers: str) -> bytes:
    """The bytes of an answer; `body` is sent as JSON, or as it is when it is a text."""
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(raw)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + raw


def problem(status: int, error: str, **headers: str) -> bytes:
    """An error of the service."""
    return answer(status, {"status": status, "error": error, "detail": "said so", "instance": "r1"}, **headers)


@dataclass(slots=True)
class saying:  # noqa: N801 - read as a verb: `with saying([...]) as wire`
    """Answers one connection after another; b"" cuts it without an answer."""

    answers: Sequence[bytes]
    seen: list[Seen] = field(default_factory=list)
    _listener: socket.socket = field(init=False)
    _thread: threading.Thread = field(init=False)
    _over: threading.Event = field(init=False, default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=20)
        self._listener.close()  # whoever is still to come is refused

    def _serve(self) -> None:
        for said in self.answers:
            connection = self._next()
            if connection is None:
                return
            with connection, connection.makefile("rb") as stream:
                line = stream.readline().decode().strip()
                headers: dict[str, str] = {}
                while (text := stream.readline().decode().strip()) != "":
                    name, _, value = text.partition(":")
                    headers[name.lower()] = value.strip()
                self.seen.append(Seen(line, headers, stream.read(int(headers.get("content-length", "0")))))
                connection.sendall(said)

    def _next(self) -> socket.socket | None:
        """The next connection; None when nobody is awaited any more."""
        while not self._over.is_set():
            try:
                return self._listener.accept()[0]
            except TimeoutError:
                continue
        return None
