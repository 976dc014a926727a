"""The HTTP connection, with limits on the size of a request's head and on slow clients."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from ..http.problems import problem_for
from ..protocol.errors import MEDIA_TYPE, MalformedRequest, TooManyHeaders

HEAD_BYTES_MAX = 64 * 1024  # request line and headers together
HEADERS_MAX = 100
HEADER_BYTES = 32  # memory that a header takes beside its bytes
# Sizes, extensions and trailers of chunks: the bytes that do not become body. A chunk of one byte
# needs 6 of them.
FRAMING_BYTES_MAX, FRAMING_BYTES_EACH = 16 * 1024, 16  # in all, and more for each byte of body
# From opening the connection, or the first byte of a further request, to the end of the head.
HEAD_SECONDS_MAX = 20

# Before closing the connection of a client that still sends: without data, and in all.
LINGER_SECONDS, LINGER_SECONDS_MAX = 2, 30
# A client that reads less of a response than this in this time has left or is hostile.
READ_SECONDS, READ_BYTES_MIN = 20, 8 * 1024


class HeadTooLarge(ValueError):
    """The head of a request is too large. The parser answers 400 and closes the connection."""


class HeadersExceeded(ValueError):
    """A request has more than HEADERS_MAX headers. The parser answers 431."""


class AmbiguousRequest(ValueError):
    """A proxy may read this request in another way. The parser answers 400."""


class HttpConnection(HttpToolsProtocol):
    """One connection, with limits. Refuses requests that proxies read in different ways."""

    _head_bytes = 0
    _unparsed_bytes = 0
    _messages = 0  # that began
    _in_head = _in_body = False
    _headers = 0  # trailers included
    _body_bytes = _framing_bytes = 0  # of the body that is received
    _has_upgrade = False
    _is_ending = False  # what the client still sends is discarded
    _refusal = b""  # of what followed a request; sent after the response to that
    _end_at = 0.0
    _unread_bytes = 0  # of responses, when this was last looked at
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None
    _rest_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first head."""
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        for timer in (self._head_timer, self._read_timer, self._rest_timer):
            _cancel(timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; count those of an unfinished header, and those between chunks."""
        if self._is_ending:
            self._close_later()
            return
        if self._refusal:
            return
        was_in_head, was_in_body = self._in_head, self._in_body
        messages, body_bytes = self._messages, self._body_bytes
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.send_400_response("")
        if self._is_ending or self._refusal or messages != self._messages:
            return
        if was_in_head and self._in_head:
            # The parser reports a header only when it is complete, so count its bytes here.
            self._unparsed_bytes += len(data)
        if was_in_body and self._in_body:
            self._framing_bytes += len(data) - (self._body_bytes - body_bytes)
        framing_bytes_max = FRAMING_BYTES_MAX + FRAMING_BYTES_EACH * self._body_bytes
        if self._unparsed_bytes > HEAD_BYTES_MAX or self._framing_bytes > framing_bytes_max:
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start counting and timing a new head."""
        self._head_bytes = self._unparsed_bytes = self._headers = 0
        self._body_bytes = self._framing_bytes = 0
        self._messages += 1
        self._in_head = True
        self._start_head_timer()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the request line."""
        self._grow(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header or trailer and its bytes."""
        self._headers += 1
        if self._headers > HEADERS_MAX:
            raise HeadersExceeded
        self._grow(len(name) + len(value) + HEADER_BYTES)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the timer at the end of the head."""
        self._in_head = False
        _cancel(self._head_timer)
        if self.parser.should_upgrade():
            return  # it is parsed again, without that header
        self._check_head()
        self._in_body = True
        super().on_headers_complete()
        self.cycle.transport = _ClosedLater(self, self.cycle)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        """Count the bytes of the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the timer of the rest of a body."""
        self._in_body = False
        if self.parser.should_upgrade():
            return
        _cancel(self._rest_timer)
        self.cycle.more_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Limit the time for the rest of a body that nobody waits for."""
        if self._is_ending:
            return
        if not self.pipeline and self.cycle.more_body:
            _cancel(self._rest_timer)
            self._rest_timer = self.loop.call_later(LINGER_SECONDS_MAX, self.transport.close)
        super().on_response_complete()
        if self._refusal and self.cycle.response_complete and not self.transport.is_closing():
            self.transport.write(self._refusal)
            self._linger()

    def end(self, cycle: RequestResponseCycle) -> None:
        """Close the connection after a response; wait for a client that still sends.

        Closing with unread bytes would reset the connection, and the client could lose the
        response (RFC 9112, 9.6).
        """
        has_unread = cycle.more_body or self.pipeline or self.flow.read_paused
        if not has_unread or self.transport.is_closing():
            self.transport.close()
            return
        self.flow.resume_reading()
        self._linger()

    def pause_writing(self) -> None:
        """Begin to look whether the client reads the response."""
        super().pause_writing()
        self._look_at_reader()

    def resume_writing(self) -> None:
        """Stop looking."""
        _cancel(self._read_timer)
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own text
        """Answer invalid HTTP with a problem document and close the connection.

        What follows a whole request is answered after that one, whose write may be under way.
        The parser reports a lack of memory as invalid HTTP, too.
        """
        cause = getattr(sys.exception(), "__context__", None)
        problem = (isinstance(cause, MemoryError) and problem_for(cause)) or MalformedRequest()
        if isinstance(cause, HeadersExceeded):
            problem = TooManyHeaders()
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
        answer = STATUS_LINE[problem.status] + lines + b"\r\n" + body
        has_response_to_come = self.cycle is not None and not self.cycle.response_complete
        if has_response_to_come and not self.cycle.more_body:
            self._refusal = answer
            _cancel(self._head_timer)
            return
        self.transport.write(answer)
        if has_response_to_come:
            self._is_ending = True
            self.transport.close()  # a response in progress would follow this one
            return
        self._linger()

    def _check_head(self) -> None:
        """Raise AmbiguousRequest for what RFC 9112 (3.2, 6.1) leaves no server to guess."""
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        if codings and [value.strip().lower() for value in codings] != [b"chunked"]:
            raise AmbiguousRequest
        version = self.parser.get_http_version()
        hosts = [value for name, value in self.headers if name == b"host"]
        if version not in {"1.0", "1.1"} or len(hosts) > 1 or (version == "1.1" and not hosts):
            raise AmbiguousRequest
        if not self.url.startswith((b"/", b"*")):  # a whole URL: its host replaces that header
            authority = self.url.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0]
            if [authority.lower()] != [host.lower() for host in hosts]:
                raise AmbiguousRequest

    def _parse(self, data: bytes) -> None:
        """Parse received bytes. Raises HttpParserError.

        An upgrade is ignored, as RFC 9110 (7.8) permits. The parser would take the body of such a
        request, which Java's client sends to ask for HTTP/2, for another protocol.
        """
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            method, rest = self.parser.get_method(), data[upgrade.args[0] :]
            if self._has_upgrade:
                return  # the connection ends after the response to the first
            if method == b"CONNECT":
                raise httptools.HttpParserInvalidMethodError from None
            self._has_upgrade = True
            head = [method + b" " + self.url + b" HTTP/1.1"]
            names = {b"upgrade", b"connection"}
            head += [name + b": " + value for name, value in self.headers if name not in names]
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            self.parser.feed_data(b"\r\n".join([*head, b"connection: close", b"", b""]))
            self._parse(rest)

    def _grow(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES_MAX:
            raise HeadTooLarge

    def _start_head_timer(self) -> None:
        _cancel(self._head_timer)
        self._head_timer = self.loop.call_later(HEAD_SECONDS_MAX, self._head_is_late)

    def _head_is_late(self) -> None:
        if self.flow.read_paused:  # it waits for the responses before it
            self._start_head_timer()
        else:
            self.transport.close()

    def _linger(self) -> None:
        """Send no more, and close once the client sends no more, or after LINGER_SECONDS_MAX."""
        self._is_ending = True
        self._end_at = self.loop.time() + LINGER_SECONDS_MAX
        self.transport.write_eof()
        self._close_later()

    def _close_later(self) -> None:
        _cancel(self._head_timer)
        seconds = min(LINGER_SECONDS, self._end_at - self.loop.time())
        self._head_timer = self.loop.call_later(max(seconds, 0), self.transport.close)

    def _look_at_reader(self) -> None:
        _cancel(self._read_timer)
        self._unread_bytes = self.transport.get_write_buffer_size()
        self._read_timer = self.loop.call_later(READ_SECONDS, self._drop_slow_reader)

    def _drop_slow_reader(self) -> None:
        if self.transport.get_write_buffer_size() > self._unread_bytes - READ_BYTES_MIN:
            self.transport.abort()
        else:
            self._look_at_reader()


class _ClosedLater:
    """The transport of a response, whose closing waits for the rest of the request."""

    def __init__(self, connection: HttpConnection, cycle: RequestResponseCycle) -> None:
        self._connection, self._cycle = connection, cycle
        self._transport = connection.transport
        self.is_closing = self._transport.is_closing

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():  # else uvloop raises
            self._transport.write(data)

    def close(self) -> None:
        self._connection.end(self._cycle)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
