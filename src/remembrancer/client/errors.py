"""Every way a call can end without its answer: one class a thing a caller can act on.

    ClientError
    ├── Unreachable    nothing came back
    ├── WrongAnswer    what came back is no answer of this service
    └── Refused        the service said no: one class for each of its words (docs/reference/errors.md)

None of them holds the key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

from pydantic import ValidationError

from ..protocol.errors import Fault

_TEXT_SHOWN_MAX = 200  # of an answer that is not the service's own; specification, Errors: 'the first part of the body text'


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came back: names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ClientError(Exception):
    """A call ended without its answer."""

    retry_after_s: float | None = None  # how long the service asked to wait


class Unreachable(ClientError):
    """No answer came: there was no connection, it was cut, or it took too long."""


class WrongAnswer(ClientError):
    """An answer came that is none of this service: is the address right, is a proxy in between?"""


class Refused(ClientError):
    """The service answered with an error. `error` is its stable word, `detail` is for people, `instance` is in the server's log."""

    word: ClassVar[str] = ""  # empty: a word that this version does not know

    def __init__(self, status: int, said: Mapping[str, Any], *, retry_after_s: float | None = None) -> None:
        """`said` is the problem (RFC 9457) that came."""
        self.status = status
        self.error = str(said.get("error") or self.word or "unknown")
        self.detail = str(said.get("detail") or said.get("title") or "no detail was given")
        self.instance = str(said.get("instance") or "")
        self.errors = _faults(said.get("errors"))
        self.extra = dict(said)
        self.retry_after_s = retry_after_s
        where = "".join(f"; {fault.pointer or 'the whole'}: {fault.detail}" for fault in self.errors)
        super().__init__(f"{status} {self.error}: {self.detail}{where}" + (f" (request {self.instance})" if self.instance else ""))


class MalformedRequest(Refused):
    """It was not even HTTP."""

    word = "malformed_request"


class InvalidJson(Refused):
    """The body could not be read."""

    word = "invalid_json"


class Unauthorized(Refused):
    """No key was given, or not a good one."""

    word = "unauthorized"


class Forbidden(Refused):
    """The key is good, but it may not do this."""

    word = "forbidden"


class NotFound(Refused):
    """There is no such thing, or it is not yours."""

    word = "not_found"


class MethodNotAllowed(Refused):
    """The path does not take this method."""

    word = "method_not_allowed"


class TooSlow(Refused):
    """The body did not arrive in time."""

    word = "too_slow"


class Conflict(Refused):
    """It contradicts what was done before."""

    word = "conflict"


class TooLarge(Refused):
    """The body is too large."""

    word = "too_large"


class UnsupportedMediaType(Refused):
    """The body must be JSON."""

    word = "unsupported_media_type"


class RangeNotSatisfiable(Refused):
    """The file has no such part."""

    word = "range_not_satisfiable"


class InvalidRequest(Refused):
    """It was read, but is not what the endpoint takes; `errors` says where."""

    word = "invalid_request"


class TooManyRequests(Refused):
    """Too many calls with this key; `retry_after_s` says how long to wait."""

    word = "too_many_requests"


class Internal(Refused):
    """Something went wrong in the service; its log has more under `instance`."""

    word = "internal"


class Unavailable(Refused):
    """A part that this needs is not available now."""

    word = "unavailable"


_BY_STATUS: dict[int, type[Refused]] = {  # for an error that somebody between us and the service answered
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    408: TooSlow,
    413: TooLarge,
    415: UnsupportedMediaType,
    429: TooManyRequests,
    503: Unavailable,
}


def refusal(answered: Answered, now: datetime | None = None) -> Refused:
    """The error that an answer is; `now` is what a Retry-After with a date is counted from."""
    said = _object(answered.body)
    if not isinstance(said.get("error"), str):
        text = " ".join(answered.body[: 4 * _TEXT_SHOWN_MAX].decode("utf-8", "replace").split())
        said = {"detail": text[:_TEXT_SHOWN_MAX]}
    kind = next((kind for kind in Refused.__subclasses__() if kind.word == said.get("error")), None)
    kind = kind or (Refused if "error" in said else _BY_STATUS.get(answered.status, Refused))
    return kind(answered.status, said, retry_after_s=_retry_after_s(answered.headers.get("retry-after", ""), now))


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except ValueError:  # UnicodeDecodeError is one, too
        return {}
    return said if isinstance(said, dict) else {}


def _faults(given: Any) -> list[Fault]:
    try:
        return [Fault.model_validate(fault) for fault in given or []]
    except (TypeError, ValidationError):
        return []


def _retry_after_s(text: str, now: datetime | None) -> float | None:
    """Seconds from a Retry-After header, which has a number of them or a date (RFC 9110, 10.2.3)."""
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
