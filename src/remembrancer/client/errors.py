"""Errors of the client: one class for each problem a caller can act on.

    ClientError
    ├── UnreachableError      no response arrived
    ├── InvalidResponseError  the response is not one of this service
    └── ServiceError          the service returned an error: one subclass for each error code

`docs/reference/errors.md` lists the error codes. No error contains the API key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

from pydantic import ValidationError

from ..protocol.errors import Fault

# Characters quoted of a body that is not a problem document
# (docs/reference/specification.md#error-early).
_BODY_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """One HTTP response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ClientError(Exception):
    """Base class of all errors of the client."""

    retry_after_s: float | None = None  # seconds the service asked the client to wait


class UnreachableError(ClientError):
    """No response arrived: the connection failed, was cut or timed out."""


class InvalidResponseError(ClientError):
    """The response is not one of this service. Check the base URL and any proxy in between."""


class ServiceError(ClientError):
    """The service returned an error.

    `status` is the HTTP status, `error` the stable error code, `detail` a sentence for people,
    `instance` the request id in the server's log, `errors` the invalid fields, and `extra` the
    whole problem document.
    """

    code: ClassVar[str] = ""  # empty: an error code that this version does not know

    def __init_subclass__(cls) -> None:
        """Name the code of a subclass: that of `TooLargeError` is `too_large`."""
        words = re.findall("[A-Z][a-z]+", cls.__name__.removesuffix("Error"))
        cls.code = "_".join(words).lower()

    def __init__(
        self, status: int, problem: Mapping[str, Any], *, retry_after_s: float | None = None
    ) -> None:
        """Read a problem document (RFC 9457)."""
        self.status = status
        self.error = str(problem.get("error") or self.code or "unknown")
        self.detail = str(problem.get("detail") or problem.get("title") or "no detail was given")
        self.instance = str(problem.get("instance") or "")
        self.errors = _faults(problem.get("errors"))
        self.extra = dict(problem)
        self.retry_after_s = retry_after_s
        fields = "".join(
            f"; {fault.pointer or 'the request'}: {fault.detail}"
            for fault in self.errors
            if not self._is_named(fault)
        )
        request = f" (request {self.instance})" if self.instance else ""
        super().__init__(f"{status} {self.error}: {self.detail}{fields}{request}")

    def _is_named(self, fault: Fault) -> bool:
        """Return True if the detail already names an invalid field, with what is wrong."""
        return f"{fault.pointer[1:]}: {fault.detail.rstrip('.')}" in self.detail


class MalformedRequestError(ServiceError):
    """The request is not valid HTTP."""


class InvalidJsonError(ServiceError):
    """The request body is not a JSON object."""


class UnauthorizedError(ServiceError):
    """The API key is missing or invalid."""


class ForbiddenError(ServiceError):
    """The API key is valid but does not permit this request."""


class NotFoundError(ServiceError):
    """The resource does not exist or belongs to another account."""


class MethodNotAllowedError(ServiceError):
    """The path does not accept this HTTP method."""


class TooSlowError(ServiceError):
    """The request body did not arrive in time."""


class ConflictError(ServiceError):
    """The request conflicts with an earlier one."""


class TooLargeError(ServiceError):
    """The request body is too large."""


class UnsupportedMediaTypeError(ServiceError):
    """The request body must be JSON."""


class RangeNotSatisfiableError(ServiceError):
    """The requested range lies outside the file."""


class InvalidRequestError(ServiceError):
    """The request is invalid; `errors` lists the fields."""


class MisdirectedRequestError(ServiceError):
    """The service does not answer to the host name in its address."""


class TooManyRequestsError(ServiceError):
    """The rate limit of this API key is exceeded; `retry_after_s` says how long to wait."""


class TooManyHeadersError(ServiceError):
    """The request has too many headers."""


class InternalError(ServiceError):
    """The service failed; its log has more under `instance`."""


class UnavailableError(ServiceError):
    """A component that this request needs is unavailable."""


# For errors returned by something in front of the service, such as a proxy.
_BY_STATUS: dict[int, type[ServiceError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    408: TooSlowError,
    413: TooLargeError,
    415: UnsupportedMediaTypeError,
    421: MisdirectedRequestError,
    429: TooManyRequestsError,
    431: TooManyHeadersError,
    503: UnavailableError,
}


# Codes under `/v1` that differ from those of the other paths.
_OPENAI_CODES = {
    "invalid_api_key": "unauthorized",
    "rate_limit_exceeded": "too_many_requests",
    "model_not_found": "not_found",
}


def error_from_response(response: HttpResponse, now: datetime | None = None) -> ServiceError:
    """Return the error that a response describes.

    `now` is the time from which a Retry-After date is counted. Default: the current time.
    """
    by_code = {kind.code: kind for kind in ServiceError.__subclasses__()}
    problem = _json_object(response.body)
    if isinstance(problem.get("error"), dict):
        problem = _from_openai(problem["error"], by_code)
    elif not isinstance(problem.get("error"), str):
        head = response.body[: 4 * _BODY_CHARACTERS_MAX].decode("utf-8", "replace")
        problem = {"detail": " ".join(head.split())[:_BODY_CHARACTERS_MAX]}
    if "error" in problem:
        kind = by_code.get(problem["error"], ServiceError)
    else:
        kind = _BY_STATUS.get(response.status, ServiceError)
    retry_after_s = _retry_after_s(response.headers.get("retry-after", ""), now)
    return kind(response.status, problem, retry_after_s=retry_after_s)


def _from_openai(error: dict[str, Any], codes: Container[str]) -> dict[str, Any]:
    """Return an error of a path under `/v1` as those of the other paths."""
    code = _OPENAI_CODES.get(str(error.get("code")), str(error.get("code")))
    detail = str(error.get("message") or "")[:_BODY_CHARACTERS_MAX]
    return {"detail": detail, **({"error": code} if code in codes else {})}


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:  # includes UnicodeDecodeError
        return {}
    return document if isinstance(document, dict) else {}


def _faults(items: Any) -> list[Fault]:
    try:
        return [Fault.model_validate(item) for item in items or []]
    except (TypeError, ValidationError):
        return []


def _retry_after_s(text: str, now: datetime | None) -> float | None:
    """Return the seconds of a Retry-After header: a number or a date (RFC 9110, 10.2.3)."""
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
