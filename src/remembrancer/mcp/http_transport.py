"""`/mcp`: MCP over HTTP, with the service's keys. Tools call the application's own endpoints.

The SDK takes a second or two to import, so the first request loads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..http import pages, problems
from ..http.dispatch import Dispatcher
from ..protocol.constitution import ClientKind
from ..protocol.errors import Forbidden, InvalidRequest

if TYPE_CHECKING:
    from ..client.tools import Tool
    from .server import McpSession

PATH = "/mcp"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
SECONDS_MAX = 900.0  # for a tool; the endpoints have their own, lower limits


class McpTransport:
    """The ASGI application of `/mcp`. Stateless: POST only, no streams and no sessions."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.dispatcher = dispatcher
        self.application: ASGIApp | None = None  # set later: the application contains this object
        self._managers: Any = None
        self._starting = asyncio.Lock()
        self._serving: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate a request and pass it to the SDK."""
        # The parser of HTTP keeps spaces behind values, and the SDK compares values with the body
        # (RFC 9110, 5.5: not a part of the value).
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope["endpoint_path"] = PATH
        request = Request(scope, receive)
        bytes_max = self.dispatcher.context.settings.body_bytes_max
        kind = "hooks" if request.query_params.get("client") == "hooks" else "mcp"
        choice = request.query_params.get("tools") or ("memory" if kind == "hooks" else "all")
        try:
            self._check_origin(request)
            scope["tools"] = _tools(choice, beside_hooks=kind == "hooks")
            scope["caller"] = await self.dispatcher.check_key(request.headers)
            raw = await self.dispatcher.receive(request, bytes_max, needs_key=True)
        except problems.FORESEEN as error:
            await problems.respond(error, scope)(scope, receive, send)
            return
        managers = await self._start()
        departure = asyncio.ensure_future(receive())
        scope["departure"] = departure
        try:
            few = kind == "mcp" and choice != "all"
            await managers["few" if few else kind].handle_request(
                scope, _until(departure, partial(_replay, raw)), send
            )
        finally:
            departure.cancel()

    def _check_origin(self, request: Request) -> None:
        """Raise Forbidden for web pages of other sites, as MCP requires.

        Only browsers send Origin.
        """
        if "origin" not in request.headers:
            return
        host = pages.origin_of(request.headers).hostname or ""
        public_host = urlsplit(self.dispatcher.context.settings.public_url).hostname
        if host not in {*_LOOPBACK, public_host}:
            raise Forbidden("Web pages of other sites must not use this server.")

    async def _start(self) -> Any:
        async with self._starting:
            if self._managers is None:
                ready = asyncio.Event()
                managers = await asyncio.get_running_loop().run_in_executor(
                    None, self._create_managers
                )
                self._serving = asyncio.create_task(self._serve(managers, ready))
                await ready.wait()
                self._managers = managers
        return self._managers

    def _create_managers(self) -> dict[str, Any]:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from .server import mcp_server

        bytes_max = self.dispatcher.context.settings.body_bytes_max
        # `/mcp`, with `?tools=` and with `?client=hooks`
        servers: dict[str, tuple[ClientKind, bool]] = {
            "mcp": ("mcp", True),
            "few": ("mcp", False),
            "hooks": ("hooks", False),
        }
        return {
            name: StreamableHTTPSessionManager(
                mcp_server(self._open_session, _tools_of, kind, has_all=has_all),
                json_response=True,
                stateless=True,
                max_request_body_size=bytes_max,
            )
            for name, (kind, has_all) in servers.items()
        }

    async def _serve(self, managers: Any, ready: asyncio.Event) -> None:
        async with AsyncExitStack() as running:
            for manager in managers.values():
                await running.enter_async_context(manager.run())
            ready.set()
            await self._stop.wait()

    @asynccontextmanager
    async def _open_session(self, mcp_request: Any) -> AsyncIterator[McpSession]:
        """Open a client to this application with the key of the request."""
        import httpx2

        from ..client import AsyncClient, Retry
        from .server import McpSession

        request: Request = mcp_request.request
        departure = request.scope["departure"]

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            assert self.application is not None
            # programs of the tool stop when the client of `/mcp` is gone
            await self.application(scope, _until(departure, receive), send)
            if departure.done():
                raise ClientDisconnect

        key = request.headers["authorization"].partition(" ")[2].strip()
        transport = httpx2.ASGITransport(app=application, raise_app_exceptions=False)
        base = self.dispatcher.context.settings.public_url.rstrip("/") or pages.base_url(request)
        async with AsyncClient(
            "http://localhost",
            key,
            transport=transport,
            timeout_s=SECONDS_MAX,
            retry=Retry(times=0),
        ) as client:
            yield McpSession(
                client=client, base=base, user_id=request.scope["caller"].pinned_user_id
            )

    async def close(self) -> None:
        """Stop the SDK's session manager."""
        if self._serving is not None:
            self._stop.set()
            await self._serving


def _tools(choice: str, *, beside_hooks: bool) -> Sequence[Tool]:
    """Return the tools that a request lists. Raises InvalidRequest for an unknown name."""
    from ..client.tools import ToolArgumentsError, chosen_tools

    try:
        return chosen_tools(choice, beside_hooks=beside_hooks)
    except ToolArgumentsError as error:
        raise InvalidRequest(f"tools: {error}") from error


def _tools_of(mcp_request: Any) -> Sequence[Tool]:
    """Return the tools that an MCP request lists."""
    tools: Sequence[Tool] = mcp_request.request.scope["tools"]
    return tools


async def _replay(raw: bytes) -> Message:
    return {"type": "http.request", "body": raw, "more_body": False}


def _until(departure: asyncio.Future[Message], receive: Receive) -> Receive:
    """Return a `receive` that passes the body on, then waits until the client is gone."""
    is_complete = False

    async def receive_body() -> Message:
        nonlocal is_complete
        if not is_complete:
            message = await receive()
            is_complete = not message.get("more_body", False)
            return message
        await asyncio.wait({departure})
        return {"type": "http.disconnect"}

    return receive_body
