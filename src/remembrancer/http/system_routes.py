"""What the service says of itself: health, its interface as documents, its tools, what a key is."""

from __future__ import annotations

import logging
from ipaddress import ip_address
from typing import Any, cast

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from .. import __version__, status
from ..accounts import default_user_id
from ..agent.compliance import service_compliance
from ..protocol.agent_tools import ToolsListed, ToolsQuery
from ..protocol.errors import Forbidden, Unavailable
from ..protocol.own_key import OwnKey
from ..protocol.status import Readiness, StatusRecord
from ..store import StoreUnavailable
from . import metrics, pages
from .endpoint import Call
from .problems import RETRY_AFTER_S

_log = logging.getLogger(__name__)


def status_record(call: Call) -> StatusRecord:
    """What the service is, what an agent should do, and how it is doing. Nothing private."""
    return status.record(
        call.context, connections=call.dispatcher.in_flight, sandbox=call.dispatcher.sandbox.state
    )


def home(call: Call) -> BaseModel | Response:
    """A page for people; the status record for those who accept `application/json` and no HTML."""
    record = status_record(call)
    if pages.wants_json(call.request):
        call.headers["Vary"] = "Accept"
        return record
    return pages.page("home.html", call.request, record=record)


def alive(_call: Call) -> Response:
    """Whether the process answers at all. Touches nothing."""
    return JSONResponse({"alive": True})


def ready(call: Call) -> Readiness:
    """Whether the store and the embedder work, tried now; 503 when one does not, naming it."""
    found = status.readiness(call.context)
    if not found.ready:
        wrong = " and ".join(said for said in (found.store, found.embedder) if said != "ok")
        raise Unavailable(
            f"Not ready: {wrong}. The server's log says why.",
            store=found.store,
            embedder=found.embedder,
            retry_after=RETRY_AFTER_S,
        )
    return found


def prometheus_metrics(call: Call) -> Response:
    """Counts and times by endpoint for Prometheus.

    Answers this machine, others with a key of the owner.
    """
    if not _is_local(call.request) and not call.dispatcher.caller(call.request.headers).is_owner:
        raise Forbidden("Only the owner may read this from another machine.")
    try:
        call.dispatcher.metrics.show_compliance(service_compliance(call.context))
    except StoreUnavailable as error:
        _log.warning(
            "the duties of agents are those of the reading before: %s", error
        )  # a broken store is what metrics are read for
    return Response(call.dispatcher.metrics.text(), headers={"Content-Type": metrics.MEDIA_TYPE})


def openapi_document(call: Call) -> Response:
    """This document: OpenAPI 3.1."""
    return JSONResponse(call.request.app.state.document)


def docs_page(call: Call) -> Response:
    """The documentation of every endpoint, for people. Needs nothing from outside."""
    document = call.request.app.state.document
    entries = pages.operations(document, pages.base_url(call.request))
    return pages.page(
        "docs.html", call.request, document=document, operations=entries, version=__version__
    )


def style_sheet(_call: Call) -> Response:
    """The style sheet of the pages."""
    return Response(pages.style(), headers={"Cache-Control": "max-age=3600"}, media_type="text/css")


def list_tools(call: Call) -> ToolsListed:
    """The tools of this memory as the APIs of language models want them described."""
    from ..client.tools import (
        schemas,
    )  # here: what it needs to speak HTTP is no need of the server's

    form = cast(ToolsQuery, call.parameters).format
    return ToolsListed(format=form, tools=schemas(form))


def llms_txt(call: Call) -> Response:
    """What this service is and how it is used, for language models that read it (llmstxt.org)."""
    from . import agent_instructions as agent_texts  # as above

    return PlainTextResponse(agent_texts.llms_text(pages.base_url(call.request)))


def own_key(call: Call) -> OwnKey:
    """What the key is told about itself:

    its account, whose memory is meant where a request names nobody, what it may do.
    """
    caller = call.caller
    return OwnKey(
        account=caller.account_name,
        user_id=default_user_id(caller),
        pinned=caller.pinned_user_id is not None,
        read_only=caller.read_only,
        is_owner=caller.is_owner,
    )


def _is_local(request: Request) -> bool:
    """Whether it comes from this machine, and not through a proxy on it."""
    forwarded: Any = request.headers.get("forwarded") or request.headers.get("x-forwarded-for")
    try:
        return (
            not forwarded
            and request.client is not None
            and ip_address(request.client.host).is_loopback
        )
    except ValueError:
        return False
