"""From an error to its answer: `application/problem+json` with the headers HTTP asks for."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

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
from ..search import EmbedderUnavailable
from ..store import OutcomeUnknown, StoreUnavailable

RETRY_AFTER_S = (
    1  # what is not available now may be back at any moment; clients wait longer each time
)
FORESEEN = (Problem, StoreUnavailable, EmbedderUnavailable)  # what an action may raise
_AWAY: tuple[tuple[type[Exception], str], ...] = (  # the first that fits
    (
        OutcomeUnknown,
        "The store went away while it kept this request: all of it is kept, or nothing. Send it again with the same Idempotency-Key.",
    ),
    (
        StoreUnavailable,
        "The store is not available now: the server's log says why. Nothing of this request was kept.",
    ),
    (
        EmbedderUnavailable,
        "The embedder is not available now: the server's log says why; `/readyz` says when it is back.",
    ),
)
log = logging.getLogger("remembrancer.http")


def problem_for(error: Exception) -> Problem | None:
    """What to answer for an error that can be foreseen; None for all others."""
    match error:
        case Problem():
            return error
        case StoreUnavailable() | EmbedderUnavailable():
            return Unavailable(
                next(said for kind, said in _AWAY if isinstance(error, kind)),
                retry_after=RETRY_AFTER_S,
            )
        case HTTPException(status_code=404):
            return NotFound(
                "There is no such path. `/docs` lists those that exist; they end without a slash."
            )
        case HTTPException(status_code=405):
            return MethodNotAllowed()
        case _:
            return None


def respond(
    error: Exception, request_id: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to `error`.

    What was not foreseen is logged with its trace and answered as Internal, without it.
    """
    problem = problem_for(error)
    if problem is None:
        log.error("request %s failed", request_id, exc_info=error)
        problem = Internal()
    elif not isinstance(error, Problem | HTTPException):
        log.error("request %s: %s: %s", request_id, type(error).__name__, error)
    asked_for = {
        Unauthorized: {"WWW-Authenticate": "Bearer"},
        MethodNotAllowed: dict(getattr(error, "headers", None) or {}),
    }
    own = next((values for kind, values in asked_for.items() if isinstance(problem, kind)), {})
    if "retry_after" in problem.extra or isinstance(problem, TooManyRequests):
        own["Retry-After"] = str(problem.extra.get("retry_after", RETRY_AFTER_S))
    body = json.dumps(problem.body(request_id), ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, problem.status, {**(headers or {}), **own}, MEDIA_TYPE)


async def handle(request: Request, error: Exception) -> Response:
    """The framework's hook for errors it raises itself, such as an unknown path."""
    return respond(error, request.scope["request_id"])
