"""Handlers about the service: status, health, metrics, its documents, its tools, the key."""

from __future__ import annotations

import logging
from ipaddress import ip_address

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from .. import status
from ..accounts import default_user_id, user_of_session
from ..agent.compliance import service_compliance
from ..context import Caller, Context
from ..permissions.owner import require_unpinned_reader
from ..protocol.agent_tools import ToolsListed, ToolsQuery
from ..protocol.errors import Unavailable
from ..protocol.status import OwnKey, OwnKeyQuery, Readiness, StatusRecord
from ..protocol.text import rfc3339
from ..store import StoreUnavailable
from . import metrics, openapi, pages
from .dispatch import Call
from .problems import RETRY_AFTER_S

# Besides `X-Forwarded-*`: a proxy on this machine connects from its loopback address.
_PROXY_HEADERS = ("forwarded", "via", "x-real-ip")
_log = logging.getLogger(__name__)


def status_record(call: Call[None]) -> StatusRecord:
    """Return the status record of this server."""
    connections = call.dispatcher.metrics.requests_in_flight()
    sandbox = call.dispatcher.sandbox.state
    return status.record(call.context, connections=connections, sandbox=sandbox)


def home(call: Call[None]) -> BaseModel | Response:
    """Return the home page, or the status record to clients that accept JSON and no HTML."""
    record = status_record(call)
    if pages.wants_json(call.request):
        call.headers["Vary"] = "Accept"
        return record
    return pages.page("home.html", call.request, record=record)


def alive(_call: Call[None]) -> Response:
    """Return a constant."""
    return JSONResponse({"alive": True})


def ready(call: Call[None]) -> Readiness:
    """Test store and embedder. Raises Unavailable, naming the component that fails."""
    readiness = status.readiness(call.context)
    if not readiness.ready:
        states = (readiness.store, readiness.embedder)
        failures = [state for state in states if state != "ok"]
        raise Unavailable(
            f"Not ready: {' and '.join(failures)}. The server's log has the cause.",
            store=readiness.store,
            embedder=readiness.embedder,
            files=readiness.files,
            retry_after=RETRY_AFTER_S,
        )
    return readiness


def prometheus_metrics(call: Call[None]) -> Response:
    """Return the metrics. Raises NotOwner, OwnerKeyPinned for other machines without such a key."""
    if not _is_open(call.request, call.context.settings.open_metrics):
        require_unpinned_reader(call.dispatcher.caller(call.request.headers))
    series = call.dispatcher.metrics
    call.dispatcher.look_at_process()
    series.server.set_sandbox(call.dispatcher.sandbox.state)
    try:
        series.refresh_store(lambda: _store_figures(call.context))
    except StoreUnavailable as error:  # metrics matter most when the store is down
        _log.warning("metrics of the store not refreshed; serving the previous values: %s", error)
    return Response(series.text(), headers={"Content-Type": metrics.MEDIA_TYPE})


def _store_figures(context: Context) -> metrics.StoreFigures:
    return metrics.StoreFigures(
        duties=service_compliance(context),
        records=status.store_counts(context, None)._asdict(),
        store_bytes=status.store_bytes(context),
    )


def openapi_document(call: Call[None]) -> Response:
    """Return the OpenAPI document of the application."""
    return JSONResponse(openapi.document(call.request.app.state.operations))


def style_sheet(_call: Call[None]) -> Response:
    """Return the style sheet of the pages."""
    headers = {"Cache-Control": "max-age=3600"}
    return Response(pages.asset_files()["style.css"], headers=headers, media_type="text/css")


def list_tools(_context: Context, _caller: Caller, query: ToolsQuery) -> ToolsListed:
    """Return the tools in the format of one model API."""
    from ..client.tools import schemas

    return ToolsListed(format=query.format, tools=schemas(query.format))


def llms_txt(call: Call[None]) -> Response:
    """Return `/llms.txt`."""
    from . import agent_instructions  # as in list_tools

    return PlainTextResponse(agent_instructions.llms_text(pages.base_url(call.request)))


def own_key(context: Context, caller: Caller, query: OwnKeyQuery) -> OwnKey:
    """Describe the key of the request. Raises StoreUnavailable."""
    user_id = default_user_id(caller)
    if query.session_id is not None:
        user_id = user_of_session(context, caller, None, query.session_id)
    return OwnKey(
        account=caller.account_name,
        user_id=user_id,
        pinned=caller.pinned_user_id is not None,
        read_only=caller.read_only,
        protocol=caller.has_protocol,
        is_owner=caller.is_owner,
        expires_at=None if caller.key_expires_ms is None else rfc3339(caller.key_expires_ms),
    )


def _is_open(request: Request, open_metrics: str) -> bool:
    """Return True if the setting `open_metrics` lets this request read metrics without a key."""
    has_proxy = any(
        name in _PROXY_HEADERS or name.startswith("x-forwarded-") for name in request.headers
    )
    if open_metrics == "none" or (has_proxy and open_metrics == "direct"):
        return False
    try:
        return ip_address(request.client.host if request.client is not None else "").is_loopback
    except ValueError:
        return False
