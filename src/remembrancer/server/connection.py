"""The HTTP connection, with limits on the size of a request's head and the time to receive it."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ..http.problems import problem_for
from ..protocol.errors import MEDIA_TYPE, MalformedRequest

HEAD_BYTES_MAX = 64 * 1024  # request line and headers together
# From opening the connection, or the first byte of a further request, to the end of the head.
HEAD_SECONDS_MAX = 20

LINGER_SECONDS = 2  # before closing the connection of a client that is still sending


class HeadTooLarge(ValueError):
    """The head of a request is too large. The parser answers 400 and closes the connection."""


class HttpConnection(HttpToolsProtocol):
    """One connection, with limits."""

    _head_bytes = 0
    _unparsed_bytes = 0
    _in_head = False
    _is_rejected = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first head."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes and count those of an unfinished header."""
        if self._is_rejected:
            return
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head and not self._is_rejected:
            # The parser reports a header only when it is complete, so count its bytes here.
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > HEAD_BYTES_MAX:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start counting and timing a new head."""
        self._head_bytes = self._unparsed_bytes = 0
        self._in_head = True
        self._start_timer()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the request line."""
        self._grow(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header."""
        self._grow(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the timer at the end of the head."""
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own text
        """Answer invalid HTTP with a problem document and close the connection.

        The parser reports a lack of memory as invalid HTTP, too.
        """
        cause = getattr(sys.exception(), "__context__", None)
        problem = (isinstance(cause, MemoryError) and problem_for(cause)) or MalformedRequest()
        body = json.dumps(problem.body(secrets.token_hex(8))).encode()
        head: dict[str, Any] = {
            "content-type": MEDIA_TYPE,
            "content-length": len(body),
            "cache-control": "no-store",
            "connection": "close",
        }
        if "retry_after" in problem.extra:
            head["retry-after"] = problem.extra["retry_after"]
        lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in head.items())
        self.transport.write(STATUS_LINE[problem.status] + lines + b"\r\n" + body)
        self._is_rejected = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()  # a response in progress would follow this one
            return
        self.transport.write_eof()
        self._stop_timer()
        # Closing with unread bytes would reset the connection and could lose the response.
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
