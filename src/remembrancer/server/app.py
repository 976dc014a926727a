"""The whole application: the HTTP endpoints, the console and MCP over one dispatcher."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..console import routes as console
from ..context import Context
from ..http import openapi, problems
from ..http.dispatch import Dispatcher
from ..http.endpoint import Endpoint
from ..http.middleware import RequestMiddleware
from ..http.routes import ROUTES
from ..mcp.http_transport import PATH as MCP
from ..mcp.http_transport import McpTransport
from ..settings import Settings
from . import run as server


def make_app(context: Context, routes: Sequence[Endpoint] = ROUTES) -> Starlette:
    """The application over `context`, which stays the caller's to close after the application's
    lifespan.
    """
    dispatcher = Dispatcher(
        context, {(e.method, e.path): getattr(context.settings, e.body_bytes_max) for e in routes}
    )

    mcp = McpTransport(dispatcher)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await mcp.close()
        dispatcher.close()

    ours = [
        _route(dispatcher, path, [e for e in routes if e.path == path])
        for path in dict.fromkeys(e.path for e in routes)
    ]
    app = Starlette(
        lifespan=lifespan,
        routes=[*ours, *console.routes(dispatcher), Route(MCP, mcp, methods=["POST"])],
        exception_handlers={HTTPException: problems.handle},  # unknown paths and methods
    )
    app.router.redirect_slashes = False  # a POST that is sent elsewhere loses its body
    app.state.sandbox = dispatcher.sandbox
    app.state.document = openapi.document(routes)
    app.add_middleware(RequestMiddleware, dispatcher=dispatcher)
    mcp.inside = app
    return app


def serve(settings: Settings) -> None:
    """Serve over HTTP until told to stop.

    Raises DataFolderBusy, AddressUnusable, and what opening the parts raises.
    """
    server.run(settings, make_app)


def _route(dispatcher: Dispatcher, path: str, endpoints: Sequence[Endpoint]) -> Route:
    """One path with all its methods; HEAD is GET without the body (edge.py leaves it out)."""
    by_method = {e.method: e for e in endpoints}
    if "GET" in by_method:
        by_method["HEAD"] = by_method["GET"]

    async def endpoint(request: Request) -> Response:
        request.scope["endpoint_path"] = path
        return await dispatcher.answer(by_method[request.method], request)

    return Route(path, endpoint, methods=list(by_method), name=path)
