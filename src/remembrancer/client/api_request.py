"""The request of an operation, the parser of its response, and when it is sent again."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar, TypeVarTuple, cast
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ValidationError

from ..protocol.operation import AnyOperation, Operation
from ..protocol.search import MemoryAnswer
from ..protocol.teams import TeamQuery
from .errors import (
    ClientError,
    HttpResponse,
    InvalidResponseError,
    UnreachableError,
    error_from_response,
)

# --- Validation of base URLs and API keys before anything is sent ----------------------------


def normalize_base_url(text: str, name: str, example: str) -> str:
    """Return the URL without a trailing slash.

    `name` and `example` appear in the message of the ValueError raised for an invalid URL.
    """
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        raise ValueError(f"{name} is not a valid URL; expected something like {example}") from None
    if (
        url.scheme not in ("http", "https")
        or not url.host
        or url.userinfo
        or url.query
        or url.fragment
    ):
        raise ValueError(
            f"{name} must be an http:// or https:// URL with a host and, optionally, a port and a "
            f"path, such as {example}"
        )
    return str(url).rstrip("/")


def is_valid_key(key: str) -> bool:
    """Return True if the key can be sent in a header: printable ASCII without spaces."""
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


# --- The request of an operation, with the parser of its response ----------------------------

JSON = "application/json"
A = TypeVar("A")
S = TypeVar("S")
Inputs = TypeVarTuple("Inputs")
_PLACE = re.compile(r"\{\w+\}")  # of the id in a path


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest(Generic[A]):
    """One request and the parser of its response.

    `is_retry_safe`: sending the request twice has the same effect as sending it once.
    """

    method: str
    path: str
    parse: Callable[[HttpResponse], A]
    is_retry_safe: bool
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


def request_of(
    operation: Operation[Any, Any, A, *Inputs],
    message: BaseModel | None = None,
    *,
    item_id: str | None = None,
    idempotency_key: str | None = None,
) -> ApiRequest[A]:
    """Return the request of an operation. `message` is its body or its query.

    The Idempotency-Key of a write is random unless given. Raises TypeError or ValueError, before
    anything is sent, for an id or a message that is none.
    """
    _check_message(operation, message)
    headers = {}
    if operation.answer is not None:
        headers["Accept"] = JSON
    body, query = None, {}
    if operation.body is not None:
        assert message is not None
        body = message.model_dump_json(exclude_none=True, exclude_unset=True).encode("utf-8")
        headers["Content-Type"] = JSON
    elif message is not None:
        query = _query_parameters(message)
    if operation.takes_idempotency_key:
        key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
        headers["Idempotency-Key"] = key
    # A search that counts as a step would count twice. Its message may be of the other package.
    is_step = operation.answer is MemoryAnswer and getattr(message, "interact", True)
    return ApiRequest(
        method=operation.method,
        path=_PLACE.sub(lambda _: path_segment(item_id), operation.path),
        parse=partial(_parsed, operation.answer),
        is_retry_safe=operation.is_retry_safe and not is_step,
        query=query,
        body=body,
        headers=headers,
    )


def _check_message(operation: AnyOperation, message: Any) -> None:
    """Raise TypeError, with the call to write, for a message that is something else."""
    # a message of the other package (`remembrancer`, `remembrancer_client`) will do
    if isinstance(message, BaseModel):
        return
    model = operation.body or operation.query or TeamQuery
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    if message is None and operation.body is None and not required:
        return
    fields = ", ".join(f"{name}=…" for name in required) or "…"
    raise TypeError(
        f"{operation.operation_id}() takes a {model.__name__} of {model.__module__}, not a "
        f"{type(message).__name__}: {operation.operation_id}({model.__name__}({fields}))"
    )


def path_segment(text: Any) -> str:
    """Percent-encode a path parameter. Raises TypeError or ValueError if it names nothing."""
    if not isinstance(text, str):
        raise TypeError(f"An id or a name must be a text, not {type(text).__name__}.")
    if not text:
        raise ValueError("An id or a name must not be empty.")
    return quote(text, safe="", errors="replace")


def _query_parameters(model: BaseModel) -> dict[str, str]:
    values = model.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }


def _parsed(model: Any, response: HttpResponse) -> Any:
    """Return the message in a response; without a model, the bytes of a file.

    Raises InvalidResponseError, and ServiceError for a search that failed.
    """
    if model is None:
        return response.body
    # A search can fail with status 200 (docs/reference/specification.md#error-search).
    if model is MemoryAnswer and parse_object(response).get("error"):
        raise error_from_response(response)
    try:
        return model.model_validate_json(response.body)
    except ValidationError as error:
        fields = "; ".join(
            f"{'/'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}"
            for fault in error.errors()[:3]
        )
        raise InvalidResponseError(
            f"The response is not a valid {model.__name__} ({fields})."
        ) from None


def parse_object(response: HttpResponse) -> dict[str, Any]:
    """Return the body as a JSON object. Raises InvalidResponseError."""
    try:
        document = json.loads(response.body)
    except ValueError:
        raise InvalidResponseError("The response is not JSON.") from None
    if not isinstance(document, dict):
        raise InvalidResponseError("The response is not a JSON object.")
    return document


def other(
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    idempotency_key: str | None = None,
) -> ApiRequest[dict[str, Any]]:
    """Send any request that this version has no method for: JSON in, JSON out."""
    raw = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8")
    headers = {} if body is None else {"Content-Type": JSON}
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    is_safe = method == "GET" or idempotency_key is not None
    return ApiRequest(
        method=method,
        path=path,
        parse=parse_object,
        body=raw,
        headers=headers,
        is_retry_safe=is_safe,
    )


# --- Retry policy: when a request is sent again, decided without any I/O ---------------------
# A request is sent again when the service did not process it (429, 503), when the service was not
# reached, and, if sending it twice is harmless, when the response was lost. Writes are harmless
# because their Idempotency-Key makes the service process them once.

_UNPROCESSED = (429, 503)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Retry limits: exponential backoff with jitter.

    `times` is the number of retries after the first attempt; 0 disables them. If the service asks
    for a longer wait than `retry_after_s_max`, the error is raised at once.
    """

    times: int = 3
    first_wait_s: float = 0.25
    wait_s_max: float = 8.0
    retry_after_s_max: float = 60.0

    def wait_s(self, attempt: int, retry_after_s: float | None, jitter: float) -> float | None:
        """Return the seconds to wait after an attempt, counted from 1; None to give up.

        `retry_after_s` is the wait the service asked for. `jitter` is random, in [0, 1).
        """
        if attempt > self.times or (retry_after_s or 0.0) > self.retry_after_s_max:
            return None
        backoff_s = min(self.wait_s_max, self.first_wait_s * 2.0 ** min(attempt - 1, 30))
        backoff_s *= 0.5 + jitter / 2
        return backoff_s if retry_after_s is None else retry_after_s + backoff_s * 0.1


@dataclass(frozen=True, slots=True)
class NoResponse:
    """A request without a response. If `was_sent`, the service may have processed it."""

    reason: str
    was_sent: bool


def run_attempts(
    request: ApiRequest[A], retry: Retry, jitter: Callable[[], float]
) -> Generator[float, HttpResponse | NoResponse, A]:
    """Yield the seconds to wait before each attempt; return the parsed response.

    The caller waits, sends the request, and sends the result into the generator. Raises
    ClientError when the request failed for good.
    """
    attempt, wait_s = 0, 0.0
    while True:
        attempt += 1
        result = yield wait_s
        error: ClientError
        if isinstance(result, NoResponse):
            error = UnreachableError(result.reason)
            can_retry = request.is_retry_safe or not result.was_sent
        elif result.status < 300:
            return request.parse(result)
        elif result.status < 400:
            # Redirects are not followed: the key would be sent to an unknown server.
            raise InvalidResponseError(
                f"The service redirected the request (status {result.status}): check the base URL."
            )
        else:
            error, can_retry = error_from_response(result), result.status in _UNPROCESSED
        next_wait_s = retry.wait_s(attempt, error.retry_after_s, jitter()) if can_retry else None
        if next_wait_s is None:
            raise error
        wait_s = next_wait_s


# --- Generators that ask for what needs I/O: requests of a tool, attempts, steps of a turn --------


def drive(steps: Generator[S, Any, A], answer: Callable[[S], Any]) -> A:
    """Return the result of a generator; `answer` gives what it yields for."""
    result: Any = None
    while True:
        try:
            step = steps.send(result)
        except StopIteration as finished:
            return cast(A, finished.value)
        result = answer(step)


async def drive_async(steps: Generator[S, Any, A], answer: Callable[[S], Awaitable[Any]]) -> A:
    """Return the result of a generator like `drive`, with asyncio."""
    result: Any = None
    while True:
        try:
            step = steps.send(result)
        except StopIteration as finished:
            return cast(A, finished.value)
        result = await answer(step)
