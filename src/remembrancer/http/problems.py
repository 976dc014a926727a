"""Error responses: `application/problem+json`, or OpenAI's shape, with the required headers."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ..files.blobs import BlobsUnavailable
from ..protocol.errors import (
    MEDIA_TYPE,
    Internal,
    MethodNotAllowed,
    NotFound,
    Problem,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from ..protocol.openai_api import is_openai_path, openai_body
from ..search import EmbedderUnavailable
from ..store import OutcomeUnknown, StoreUnavailable

RETRY_AFTER_S = 1  # the component may be back at any moment; clients back off exponentially
# what an action may raise
FORESEEN = (Problem, StoreUnavailable, EmbedderUnavailable, MemoryError)
_UNAVAILABLE_DETAILS: tuple[tuple[type[Exception], str], ...] = (  # the first match counts
    (
        OutcomeUnknown,
        (
            "The store failed at the end of a write{reason}. The write was stored completely or "
            "not at all. Send the request again with the same Idempotency-Key."
        ),
    ),
    (
        BlobsUnavailable,
        (
            "The storage for files is unavailable{reason}. Nothing was stored. The server's log "
            "has the cause."
        ),
    ),
    (
        StoreUnavailable,
        "The store is unavailable{reason}. Nothing was stored. The server's log has the cause.",
    ),
    (
        EmbedderUnavailable,
        (
            "The embedder is unavailable. The server's log has the cause; `/readyz` shows when "
            "it is back."
        ),
    ),
    (
        MemoryError,
        (
            "The server's memory is used up. Send the request again in a moment, a write with the "
            "same Idempotency-Key."
        ),
    ),
)
log = logging.getLogger("remembrancer.http")


def problem_for(error: Exception) -> Problem | None:
    """Return the problem for a foreseen error, or None."""
    match error:
        case Problem():
            return error
        case StoreUnavailable() | EmbedderUnavailable() | MemoryError():
            detail = next(text for kind, text in _UNAVAILABLE_DETAILS if isinstance(error, kind))
            reason = getattr(error, "reason", "")
            return Unavailable(
                detail.replace("{reason}", f": {reason}" if reason else ""),
                retry_after=RETRY_AFTER_S,
            )
        case HTTPException(status_code=404):
            return NotFound(
                "There is no such path. `/docs` lists all paths; none ends with a slash."
            )
        case HTTPException(status_code=405):
            return MethodNotAllowed()
        case _:
            return None


def body_of(problem: Problem, scope: Scope) -> dict[str, Any]:
    """Return the response body of a problem, in the shape of the request's path."""
    if is_openai_path(scope["path"]):
        return openai_body(problem)
    return problem.body(scope["request_id"])


def respond(error: Exception, scope: Scope, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response to an error of the request in `scope`.

    Unforeseen errors are logged with their traceback and answered as Internal.
    """
    request_id = scope["request_id"]
    problem = problem_for(error)
    if problem is None:
        log.error("request %s failed", request_id, exc_info=error)
        problem = Internal()
    elif not isinstance(error, Problem | HTTPException):
        log.error("request %s: %s: %s", request_id, type(error).__name__, error)
    own = {"WWW-Authenticate": "Bearer"} if isinstance(problem, Unauthorized) else {}
    if isinstance(problem, MethodNotAllowed):
        own = dict(getattr(error, "headers", None) or {})
    if "retry_after" in problem.extra or isinstance(problem, TooManyRequests):
        own["Retry-After"] = str(problem.extra.get("retry_after", RETRY_AFTER_S))
    body = json.dumps(body_of(problem, scope), ensure_ascii=False).encode("utf-8", "replace")
    media_type = "application/json" if is_openai_path(scope["path"]) else MEDIA_TYPE
    return Response(body, problem.status, {**(headers or {}), **own}, media_type)


async def handle(request: Request, error: Exception) -> Response:
    """Handle errors that Starlette raises, such as an unknown path."""
    return respond(error, request.scope)
