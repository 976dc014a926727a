"""Errors in the shape that OpenAI's clients read, for the paths under `/v1`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from .errors import Problem, TooManyRequests, Unauthorized

PREFIX = "/v1"
# Codes that clients compare with; the other codes are those of docs/reference/errors.md.
_CODES: dict[str, str] = {
    Unauthorized.error: "invalid_api_key",
    TooManyRequests.error: "rate_limit_exceeded",
}
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_INDEX = re.compile(r"/(\d+)(?=/|$)")
# Parts of a pointer that name the type of an alternative, not a field.
_TYPE = re.compile(
    r"/(?:(?:constrained-)?(?:str|int|float|bool|list|dict)(?=/|\[|$)|function-|nullable|"
    r"TextPart|MediaPart).*"
)


def is_openai_path(path: str) -> bool:
    """Return True if errors of this path have OpenAI's shape."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


class OpenAIError(BaseModel):
    """The error of a response."""

    message: Annotated[str, Field(description="Explanation, for people.")]
    type: Annotated[str, Field(description="Kind of error, such as `invalid_request_error`.")]
    param: Annotated[
        str | None, Field(description="The invalid field, such as `messages[0].content`, or null.")
    ]
    code: Annotated[
        str,
        Field(
            description="Stable error code: `invalid_api_key`, `rate_limit_exceeded`, "
            "`model_not_found`, or a code of the other endpoints."
        ),
    ]


class OpenAIErrorBody(BaseModel):
    """Body of every error response under `/v1`."""

    model_config = ConfigDict(title="OpenAIError")

    error: Annotated[OpenAIError, Field(description="The error.")]


def openai_body(problem: Problem) -> dict[str, Any]:
    """Return the response body of a problem in OpenAI's shape."""
    faults = problem.extra.get("errors") or []
    error = OpenAIError(
        message=problem.detail,
        type=_TYPES.get(
            problem.status, "server_error" if problem.status >= 500 else "invalid_request_error"
        ),
        param=_field_name(faults[0]["pointer"]) if faults else None,
        code=problem.extra.get("code") or _CODES.get(problem.error, problem.error),
    )
    return {"error": error.model_dump()}


def _field_name(pointer: str) -> str | None:
    """Return a JSON pointer as OpenAI writes it: /messages/0/content as messages[0].content."""
    return _INDEX.sub(r"[\1]", _TYPE.sub("", pointer)).lstrip("/").replace("/", ".") or None
