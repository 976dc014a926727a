"""Middleware for every request: host, id, size limit, headers, metrics, log, error responses."""

from __future__ import annotations

import logging
import re
import secrets
import time
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..protocol.errors import (
    MisdirectedRequest,
    Problem,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from ..settings import Settings
from . import problems
from .bodies import too_large
from .dispatch import Dispatcher
from .telemetry import Telemetry

# --- Host names that the server answers to ---------------------------------------------------
# A web page of another site can let its own name resolve to this machine and then read answers as
# if they were its own (DNS rebinding). Its requests carry that name in the header `Host`.

# This machine, as a container on it calls it: such names never resolve for a web page.
_THIS_MACHINE = ("localhost", "host.docker.internal", "host.containers.internal")
_ANY = "*"
_PORT = re.compile(r":[0-9]{0,5}\Z")


def check_host(headers: Headers, settings: Settings) -> None:
    """Raise MisdirectedRequest if the request names a host that is not this service.

    A request without the header is not from a browser.
    """
    for value in headers.getlist("host"):
        if not _is_allowed(value, settings.host, settings.public_url, settings.hosts):
            raise MisdirectedRequest


@lru_cache(maxsize=256)
def _is_allowed(value: str, bound: str, public_url: str, hosts: str) -> bool:
    name = _PORT.sub("", value.strip()).lower().rstrip(".").strip("[]")
    public = (urlsplit(public_url).hostname or "").rstrip(".")
    listed = {host.strip().lower().rstrip(".") for host in hosts.split(",")}
    if _ANY in listed or name in {*_THIS_MACHINE, bound.lower(), public, *listed} - {""}:
        return True
    if name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    # Pages of other sites have names. A server that only listens on loopback has no other address.
    return address.is_loopback or not _is_loopback(bound)


def _is_loopback(bound: str) -> bool:
    try:
        return ip_address(bound).is_loopback
    except ValueError:
        return bound.lower() == "localhost"


# --- Middleware for every request: id, size limit, headers, metrics, access log, error responses
# Pure ASGI, because Starlette's `@app.middleware` costs eight times as much (docs/decisions/).

CLIENT_CLOSED_REQUEST = 499  # in metrics and log only

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_REFUSALS = {Unauthorized.status, TooManyRequests.status}
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = (  # unless the response has its own
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)

log = logging.getLogger("remembrancer.access")


class RequestMiddleware:
    """Wraps the whole application."""

    def __init__(
        self, app: ASGIApp, dispatcher: Dispatcher, telemetry: Telemetry | None = None
    ) -> None:
        self.app, self.dispatcher, self.telemetry = app, dispatcher, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: limits before, headers and the log after."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = headers.get("x-request-id", "")
        is_id = _REQUEST_ID.fullmatch(request_id)
        scope["request_id"] = request_id if is_id else secrets.token_hex(8)
        start, status = time.perf_counter(), 0

        async def send_complete(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status in _REFUSALS:
                    await self._delay(status, scope)
                _add_headers(message, scope["request_id"])
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        in_flight = scope["in_flight"] = self.dispatcher.enter(headers)
        try:
            problem = self._admission_problem(scope, headers)
            app = problems.respond(problem, scope) if problem else self.app
            await app(scope, receive, send_complete)
        except ClientDisconnect:
            status = CLIENT_CLOSED_REQUEST
        except Exception as error:
            if status:
                raise  # the response has started: only closing the connection tells the client
            await problems.respond(error, scope)(scope, receive, send_complete)
        finally:
            self.dispatcher.leave(in_flight)
            self._record(scope, headers, status, time.perf_counter() - start)

    async def _delay(self, status: int, scope: Scope) -> None:
        """Delay a refusal for a caller that does not heed them."""
        caller = scope["in_flight"].entered_as
        if status == Unauthorized.status or caller is None:
            caller = scope["client"][0] if scope.get("client") else ""
        await self.dispatcher.refusals.delay(caller)

    def _record(self, scope: Scope, headers: Headers, status: int, seconds: float) -> None:
        """Count a request, write its line of the access log, and report its span."""
        # A path template, not the path: a caller must not be able to create new label values.
        route = scope.get("endpoint_path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.dispatcher.metrics.requests.labels(method, route, str(status)).inc()
        self.dispatcher.metrics.request_seconds.labels(method, route).observe(seconds)
        fields = {
            "request_id": scope["request_id"],
            "method": scope["method"],
            "path": _path(scope),
            "status": status,
            "duration_ms": round(seconds * 1000, 1),
        }
        log.info("%s %s %s %d %.1f ms", *fields.values(), extra={"fields": fields})
        if self.telemetry is not None:
            self.telemetry.report(fields, route, seconds, headers.get("traceparent", ""))

    def _admission_problem(self, scope: Scope, headers: Headers) -> Problem | None:
        bytes_max = self.dispatcher.body_bytes_max(scope["method"], scope["path"])
        length = headers.get("content-length", "")
        try:
            check_host(headers, self.dispatcher.context.settings)
            if length.isdecimal() and (len(length) > 18 or int(length) > bytes_max):
                return too_large(bytes_max)
            self.dispatcher.check_capacity(scope["in_flight"].account_id)
        except (MisdirectedRequest, Unavailable) as problem:
            return problem
        return None


def _add_headers(message: Message, request_id: str) -> None:
    own = [(name.lower(), value) for name, value in message.get("headers", ())]
    names = {name for name, _ in own} | {b"x-request-id"}
    message["headers"] = [
        *(header for header in own if header[0] != b"x-request-id"),
        *(header for header in _HEADERS if header[0] not in names),
        (b"x-request-id", request_id.encode("ascii")),
    ]


def _path(scope: Scope) -> str:
    """Return the path for logs: without the name of a file, which would outlive the file."""
    if "{filename}" in scope.get("endpoint_path", ""):
        return str(scope["endpoint_path"])
    # percent-encoded as received: a decoded line break could forge a log line
    raw: bytes = scope.get("raw_path") or scope["path"].encode("ascii", "backslashreplace")
    return raw.decode("ascii", "backslashreplace")
