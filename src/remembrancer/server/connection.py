"""The HTTP parser's connection, with the bounds it does not have:

size of the head of a request, and time for it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ..protocol.errors import MEDIA_TYPE, MalformedRequest

HEAD_BYTES_MAX = 64 * 1024  # request line and headers together
HEAD_SECONDS_MAX = (
    20  # from opening a connection, or the first byte of a further request, to the end of the head
)

LINGER_SECONDS = 2  # a refused client may go on sending, to nobody


class HeadTooLarge(ValueError):
    """Raised into the parser, which then answers 400 and hangs up."""


class HttpConnection(HttpToolsProtocol):
    """One connection."""

    _head_bytes = 0
    _unparsed_bytes = 0
    _in_head = False
    _refused = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give a new connection its time."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._refused:
            return
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head and not self._refused:
            # the parser keeps a header to itself until it is whole: these bytes are in none of the
            # calls below
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > HEAD_BYTES_MAX:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """A new head begins."""
        self._head_bytes = self._unparsed_bytes = 0
        self._in_head = True
        self._start_timer()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Part of the request line."""
        self._grow(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._grow(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - what uvicorn would have said
        """What is not HTTP gets the same kind of answer as everything else, and the connection is
        closed.
        """
        body = json.dumps(MalformedRequest().body(secrets.token_hex(8))).encode()
        head: dict[str, Any] = {
            "content-type": MEDIA_TYPE,
            "content-length": len(body),
            "cache-control": "no-store",
            "connection": "close",
        }
        lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in head.items())
        self.transport.write(STATUS_LINE[400] + lines + b"\r\n" + body)
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()  # an answer under way would be written behind this one
            return
        self.transport.write_eof()
        self._stop_timer()
        # closing with bytes unread would reset the connection, and the answer might be lost
        self._head_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _grow(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES_MAX:
            raise HeadTooLarge

    def _start_timer(self) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(HEAD_SECONDS_MAX, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
