"""The outermost layer, for every request alike: id, size, headers, count, log, and the wall nothing
falls over.

Pure ASGI: the framework's own `@app.middleware` costs eight times as much (docs/decisions/).
"""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..protocol.errors import Problem, Unavailable
from . import problems
from .bodies import too_large
from .dispatch import Dispatcher

IN_FLIGHT_MAX = 1000  # requests; more would only wait in line and time out there
CLIENT_GONE = 499  # in metrics and log only: nobody is there to be answered

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

log = logging.getLogger("remembrancer.access")


class RequestMiddleware:
    """Wraps the whole application."""

    def __init__(
        self, app: ASGIApp, dispatcher: Dispatcher, in_flight_max: int = IN_FLIGHT_MAX
    ) -> None:
        self.app, self.dispatcher, self.in_flight_max = app, dispatcher, in_flight_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope["request_id"] = _request_id(headers.get("x-request-id", ""))
        started, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _complete(MutableHeaders(scope=message), scope["request_id"])
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        self.dispatcher.in_flight += 1
        try:
            refused = self._refusal(scope, headers)
            await (problems.respond(refused, scope["request_id"]) if refused else self.app)(
                scope, receive, answer
            )
        except ClientDisconnect:
            status = CLIENT_GONE
        except Exception as error:
            if status:
                raise  # half an answer is out: only cutting the connection tells the client
            await problems.respond(error, scope["request_id"])(scope, receive, answer)
        finally:
            self.dispatcher.in_flight -= 1
            seconds = time.perf_counter() - started
            self._count(scope, status, seconds)
            log.info(
                "%s %s %s %d %.1f ms",
                scope["request_id"],
                scope["method"],
                _path(scope),
                status,
                seconds * 1000,
            )

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        # a path template, not the path: a caller must not be able to create new label values
        route = scope.get("endpoint_path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.dispatcher.metrics.requests.labels(method, route, str(status)).inc()
        self.dispatcher.metrics.request_seconds.labels(method, route).observe(seconds)

    def _refusal(self, scope: Scope, headers: Headers) -> Problem | None:
        bytes_max = self.dispatcher.body_bytes_max(scope["method"], scope["path"])
        announced = headers.get("content-length", "")
        if announced.isdecimal() and (len(announced) > 18 or int(announced) > bytes_max):
            return too_large(bytes_max)
        if self.dispatcher.in_flight > self.in_flight_max:
            return Unavailable(
                "The server answers as many requests as it can. Try again in a moment.",
                retry_after=problems.RETRY_AFTER_S,
            )
        return None


def _request_id(given: str) -> str:
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _complete(headers: MutableHeaders, request_id: str) -> None:
    for name, value in _HEADERS.items():
        headers.setdefault(name, value)
    headers["X-Request-Id"] = request_id


def _path(scope: Scope) -> str:
    # as it came, percent-encoded: a decoded line break would forge a line of the log
    raw: bytes = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
    return raw.decode("ascii", "backslashreplace")
