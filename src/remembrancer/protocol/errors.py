"""All error responses: one class for each kind of error that a caller can act on.

    Problem
    ├── MalformedRequest      400  not valid HTTP
    ├── InvalidJson           400  the body is not JSON
    ├── Unauthorized          401  no key, or an invalid one
    ├── Forbidden             403  the key does not permit this
    ├── NotFound              404  unknown, or of another account
    ├── MethodNotAllowed      405
    ├── TooSlow               408  the body did not arrive in time
    ├── Conflict              409  conflicts with an earlier request
    ├── TooLarge              413
    ├── UnsupportedMediaType  415
    ├── RangeNotSatisfiable   416  the file has no such range
    ├── MisdirectedRequest    421  a host name that is not this service
    ├── InvalidRequest        422  well-formed but invalid
    ├── TooManyRequests       429
    ├── TooManyHeaders        431
    ├── Internal              500  a bug of the service
    └── Unavailable           503  a component is unavailable

Each is sent as RFC 9457 `application/problem+json` with the extra field `error`
(docs/reference/errors.md).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from .message import Described

URN = "urn:remembrancer:error:"
MEDIA_TYPE = "application/problem+json"


def message_of(kind: type[BaseException]) -> str:
    """Return the docstring of an error class in one line: its default message."""
    return " ".join((kind.__doc__ or "").split())


class Problem(Exception):
    """The request failed."""

    error: ClassVar[str]  # stable error code
    status: ClassVar[int]
    title: ClassVar[str]

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        """Create the error.

        `detail` is one sentence for people; default: the docstring. `extra` are further fields of
        the body. Neither may contain input of the caller.
        """
        self.detail = detail or message_of(type(self))
        self.extra = extra
        super().__init__(self.detail)

    def body(self, instance: str) -> dict[str, Any]:
        """Return the response body; `instance` is the id of the request."""

        fields = {
            "type": URN + self.error,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return {**fields, "instance": instance, "error": self.error, **self.extra}


class MalformedRequest(Problem):
    """The request is not valid HTTP/1.1, or its request line and headers are too long."""

    error, status, title = "malformed_request", 400, "Malformed request"


class InvalidJson(Problem):
    """The body is not a JSON object."""

    error, status, title = "invalid_json", 400, "Not JSON"


class Unauthorized(Problem):
    """An API key is required: send the header `Authorization: Bearer <API_KEY>`."""

    error, status, title = "unauthorized", 401, "Key needed"


class Forbidden(Problem):
    """The key is valid but does not permit this."""

    error, status, title = "forbidden", 403, "Not allowed"


class NotFound(Problem):
    """There is no such resource, or it belongs to another account."""

    error, status, title = "not_found", 404, "Not found"


class MethodNotAllowed(Problem):
    """The path does not accept this method. The header `Allow` lists those it accepts."""

    error, status, title = "method_not_allowed", 405, "Method not allowed"


class TooSlow(Problem):
    """The body did not arrive in time."""

    error, status, title = "too_slow", 408, "Request too slow"


class Conflict(Problem):
    """The request conflicts with an earlier one."""

    error, status, title = "conflict", 409, "Conflict"


class TooLarge(Problem):
    """The body is too large."""

    error, status, title = "too_large", 413, "Body too large"


class UnsupportedMediaType(Problem):
    """The body must be JSON: send the header `Content-Type: application/json`."""

    error, status, title = "unsupported_media_type", 415, "Unsupported media type"


class RangeNotSatisfiable(Problem):
    """The file has no such range. The header `Content-Range` has its length."""

    error, status, title = "range_not_satisfiable", 416, "No such part"


class MisdirectedRequest(Problem):
    """The header `Host` is none of the names of this service. Add it to `REMEMBRANCER_HOSTS`."""

    error, status, title = "misdirected_request", 421, "Misdirected request"


class InvalidRequest(Problem):
    """The request is invalid; `errors` lists the fields."""

    error, status, title = "invalid_request", 422, "Invalid request"


class TooManyRequests(Problem):
    """The rate limit of this key is exceeded. Wait for the seconds in the header `Retry-After`."""

    error, status, title = "too_many_requests", 429, "Too many requests"


class TooManyHeaders(Problem):
    """The request has more than 100 headers."""

    error, status, title = "too_many_headers", 431, "Too many headers"


class Internal(Problem):
    """The service failed. Its log has more under the id in `instance`."""

    error, status, title = "internal", 500, "Internal error"


class Unavailable(Problem):
    """A component that this request needs is unavailable."""

    error, status, title = "unavailable", 503, "Unavailable"


PROBLEMS: tuple[type[Problem], ...] = tuple(Problem.__subclasses__())  # by status


class Fault(Described):
    """One invalid field: a JSON pointer (RFC 6901) into the body, or `/` and a parameter's name.

    The pointer is empty for the body as a whole.
    """

    pointer: str
    """JSON pointer, such as `/focus_words/1`."""
    detail: str
    """What is wrong."""


class ProblemBody(Described):
    """Body of every error response (RFC 9457). Programs use `error`, people read `detail`."""

    model_config = ConfigDict(
        title="Problem", json_schema_extra={"examples": [NotFound().body("01hzy4k6t7v2w")]}
    )

    type: str
    """`urn:remembrancer:error:` followed by the value of `error`."""
    title: str
    """Kind of error, for people."""
    status: int
    """The HTTP status."""
    detail: str
    """Explanation, for people."""
    instance: str
    """Request id, also in the header `X-Request-Id` and in the server's log."""
    error: Annotated[str, Field(json_schema_extra={"enum": [kind.error for kind in PROBLEMS]})]
    """Stable error code."""
    errors: list[Fault] = []  # noqa: RUF012 - pydantic copies it
    """For `invalid_request`: each invalid field or parameter."""
