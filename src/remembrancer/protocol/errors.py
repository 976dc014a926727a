"""Every way a request can be answered with no: one class a thing a caller can act on.

    Problem
    ├── MalformedRequest      400  not even HTTP
    ├── InvalidJson           400  the body cannot be read
    ├── Unauthorized          401  no key, or not a good one
    ├── Forbidden             403  a good key, but it may not
    ├── NotFound              404  no such thing, or not yours
    ├── MethodNotAllowed      405
    ├── TooSlow               408  the body did not arrive in time
    ├── Conflict              409  it contradicts what is there
    ├── TooLarge              413
    ├── UnsupportedMediaType  415
    ├── RangeNotSatisfiable   416  a part that the file does not have
    ├── InvalidRequest        422  read, but wrong
    ├── TooManyRequests       429
    ├── Internal              500  our fault
    └── Unavailable           503  a needed part is missing

On the wire each is RFC 9457 `application/problem+json` with the extra member `error`
(docs/reference/errors.md).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

URN = "urn:remembrancer:error:"
MEDIA_TYPE = "application/problem+json"


def message_of(kind: type[BaseException]) -> str:
    """Return the docstring of an error class as one line: the message of an error without its own."""
    return " ".join((kind.__doc__ or "").split())


class Problem(Exception):
    """Something is wrong with the request."""

    error: ClassVar[str]  # the stable machine word
    status: ClassVar[int]
    title: ClassVar[str]

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        """`detail` is one sentence for people, by default the docstring; `extra` are members of the
        answer's body.

        Neither may hold what the caller sent.
        """
        self.detail = detail or message_of(type(self))
        self.extra = extra
        super().__init__(self.detail)

    def body(self, instance: str) -> dict[str, Any]:
        """The answer's body; `instance` is the id of the request."""
        said = {
            "type": URN + self.error,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return {**said, "instance": instance, "error": self.error, **self.extra}


class MalformedRequest(Problem):
    """This is not HTTP/1.1, or its request line and headers are too long."""

    error, status, title = "malformed_request", 400, "Malformed request"


class InvalidJson(Problem):
    """The body is not a JSON object."""

    error, status, title = "invalid_json", 400, "Not JSON"


class Unauthorized(Problem):
    """This needs a key: send the header `Authorization: Bearer <API_KEY>`."""

    error, status, title = "unauthorized", 401, "Key needed"


class Forbidden(Problem):
    """The key is good, but it may not do this."""

    error, status, title = "forbidden", 403, "Not allowed"


class NotFound(Problem):
    """There is no such thing here, or it is not yours."""

    error, status, title = "not_found", 404, "Not found"


class MethodNotAllowed(Problem):
    """This path does not take this method; the header `Allow` names those it takes."""

    error, status, title = "method_not_allowed", 405, "Method not allowed"


class TooSlow(Problem):
    """The body did not arrive in time."""

    error, status, title = "too_slow", 408, "Request too slow"


class Conflict(Problem):
    """The request contradicts what was done before."""

    error, status, title = "conflict", 409, "Conflict"


class TooLarge(Problem):
    """The body is too large."""

    error, status, title = "too_large", 413, "Body too large"


class UnsupportedMediaType(Problem):
    """The body must be JSON: send the header `Content-Type: application/json`."""

    error, status, title = "unsupported_media_type", 415, "Unsupported media type"


class RangeNotSatisfiable(Problem):
    """The file has no such part; the header `Content-Range` says how long it is."""

    error, status, title = "range_not_satisfiable", 416, "No such part"


class InvalidRequest(Problem):
    """The request was read, but is not what this endpoint takes; `errors` says where."""

    error, status, title = "invalid_request", 422, "Invalid request"


class TooManyRequests(Problem):
    """Too many requests with this key. Wait as many seconds as the header `Retry-After` says."""

    error, status, title = "too_many_requests", 429, "Too many requests"


class Internal(Problem):
    """Something went wrong on our side. The server's log has more under the id in `instance`."""

    error, status, title = "internal", 500, "Internal error"


class Unavailable(Problem):
    """A part that this needs is not available now."""

    error, status, title = "unavailable", 503, "Unavailable"


PROBLEMS: tuple[type[Problem], ...] = (
    MalformedRequest,
    InvalidJson,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    TooSlow,
    Conflict,
    TooLarge,
    UnsupportedMediaType,
    RangeNotSatisfiable,
    InvalidRequest,
    TooManyRequests,
    Internal,
    Unavailable,
)


class Fault(BaseModel):
    """One thing wrong and where:

    a JSON pointer (RFC 6901) into the body, empty for it as a whole, or `/` and a parameter's name.
    """

    pointer: Annotated[str, Field(description="Where, such as `/focus_words/1`.")]
    detail: Annotated[str, Field(description="What is wrong there.")]


class ProblemBody(BaseModel):
    """Every error answer (RFC 9457). Program against `error`; show people `detail`."""

    model_config = ConfigDict(
        title="Problem", json_schema_extra={"examples": [NotFound().body("01hzy4k6t7v2w")]}
    )

    type: Annotated[str, Field(description="`urn:remembrancer:error:` and the word of `error`.")]
    title: Annotated[str, Field(description="The kind of error, for people.")]
    status: Annotated[int, Field(description="The HTTP status again.")]
    detail: Annotated[str, Field(description="What is wrong, for people.")]
    instance: Annotated[
        str,
        Field(
            description="Id of this request, also in the header `X-Request-Id` and in the server's log."
        ),
    ]
    error: Annotated[
        str,
        Field(
            description="Stable machine word.",
            json_schema_extra={"enum": [kind.error for kind in PROBLEMS]},
        ),
    ]
    errors: Annotated[
        list[Fault],
        Field(description="For `invalid_request`: where in the body, or which parameter."),
    ] = []
