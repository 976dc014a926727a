"""From an error to its answer: `application/problem+json` with the headers HTTP asks for."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..protocol.errors import MEDIA_TYPE, Internal, MethodNotAllowed, NotFound, Problem, TooManyRequests, Unauthorized, Unavailable
from ..search import EmbedderUnavailable
from ..store import StoreUnavailable

FORESEEN = (Problem, StoreUnavailable, EmbedderUnavailable)  # what an action may raise
log = logging.getLogger("remembrancer.http")


def known(error: Exception) -> Problem | None:
    """What to answer for an error that can be foreseen; None for all others."""
    match error:
        case Problem():
            return error
        case StoreUnavailable():
            return Unavailable("The store is not available now: the server's log says why. Nothing of this request was kept.")
        case EmbedderUnavailable():
            return Unavailable("The embedder is not available now: the server's log says why; `/readyz` says when it is back.")
        case HTTPException(status_code=404):
            return NotFound("There is no such path. `/docs` lists those that exist; they end without a slash.")
        case HTTPException(status_code=405):
            return MethodNotAllowed()
        case _:
            return None


def respond(error: Exception, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to `error`. What was not foreseen is logged with its trace and answered as Internal, without it."""
    problem = known(error)
    if problem is None:
        log.error("request %s failed", request_id, exc_info=error)
        problem = Internal()
    elif not isinstance(error, Problem | HTTPException):
        log.error("request %s: %s: %s", request_id, type(error).__name__, error)
    asked_for = {
        Unauthorized: {"WWW-Authenticate": "Bearer"},
        TooManyRequests: {"Retry-After": str(problem.extra.get("retry_after", 1))},
        MethodNotAllowed: dict(getattr(error, "headers", None) or {}),
    }
    own = next((values for kind, values in asked_for.items() if isinstance(problem, kind)), {})
    body = json.dumps(problem.body(request_id), ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, problem.status, {**(headers or {}), **own}, MEDIA_TYPE)


async def handle(request: Request, error: Exception) -> Response:
    """The framework's hook for errors it raises itself, such as an unknown path."""
    return respond(error, request.scope["request_id"])
