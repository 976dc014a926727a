"""The whole application: the HTTP endpoints, the console and MCP over one dispatcher."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from ..console import routes as console
from ..context import Context
from ..http import problems
from ..http.dispatch import Dispatcher, Endpoint
from ..http.middleware import RequestMiddleware
from ..http.routes import ROUTES
from ..http.telemetry import Telemetry
from ..mcp.http_transport import PATH as MCP
from ..mcp.http_transport import McpTransport
from ..sandbox.port import SandboxPort
from ..settings import Settings
from . import run as server


def make_app(
    context: Context,
    routes: Sequence[Endpoint] = ROUTES,
    *,
    sandbox: SandboxPort | None = None,
    exports_metrics: bool = True,
) -> Starlette:
    """Return the application over `context`; close the context after the application's lifespan.

    `sandbox` runs programs and is closed with the application. Default: one of its own.
    `exports_metrics`: a collector gets the metrics, of all processes, from this one.
    """
    body_limits: dict[tuple[str, str], int] = {
        (e.operation.method, e.operation.path): getattr(
            context.settings, e.operation.body_bytes_max
        )
        for e in routes
    }
    body_limits |= {
        ("POST", path): page.form_bytes_max
        for path, page in console.PAGES.items()
        if page.takes_file
    }
    dispatcher = Dispatcher(context, body_limits, sandbox=sandbox)

    mcp = McpTransport(dispatcher)
    telemetry = None
    if context.settings.otlp_endpoint:
        metrics = dispatcher.metrics if exports_metrics else None
        telemetry = Telemetry(context.settings, metrics)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        dispatcher.watch_process()
        yield
        await mcp.close()
        dispatcher.close()
        if telemetry is not None:
            await to_thread(telemetry.close)

    endpoints = [
        dispatcher.route(path, [e for e in routes if e.operation.path == path])
        for path in dict.fromkeys(e.operation.path for e in routes)
    ]
    app = Starlette(
        lifespan=lifespan,
        routes=[*endpoints, *console.routes(dispatcher), Route(MCP, mcp, methods=["POST"])],
        exception_handlers={HTTPException: problems.handle},  # unknown paths and methods
    )
    app.router.redirect_slashes = False  # a redirected POST loses its body
    app.state.sandbox = dispatcher.sandbox
    app.state.dispatcher = dispatcher
    app.state.operations = tuple(e.operation for e in routes)
    app.add_middleware(RequestMiddleware, dispatcher=dispatcher, telemetry=telemetry)
    mcp.application = app
    return app


def serve(settings: Settings) -> None:
    """Serve over HTTP until stopped.

    Raises DataFolderBusy, DataFolderReadable, AddressUnusable, WorkersFail, and what opening store
    and embedder raises.
    """
    server.run(settings, make_app)
