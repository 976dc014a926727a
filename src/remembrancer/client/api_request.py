"""Building blocks of requests: a request with its response parser, one function for each kind."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from .errors import HttpResponse, InvalidResponseError

JSON = "application/json"
A = TypeVar("A")
M = TypeVar("M", bound=BaseModel)


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


def get(model: type[M], path: str, query: BaseModel | None = None) -> ApiRequest[M]:
    """Build a GET request whose answer is a model."""
    return ApiRequest(
        method="GET",
        path=path,
        parse=parse_as(model),
        query=_query_parameters(query),
        headers={"Accept": JSON},
        is_retry_safe=True,
    )


def get_raw(
    path: str, parse: Callable[[HttpResponse], A], query: BaseModel | None = None
) -> ApiRequest[A]:
    """Build a GET request with its own parser."""
    return ApiRequest(
        method="GET",
        path=path,
        parse=parse,
        query=_query_parameters(query),
        is_retry_safe=True,
    )


def post(
    parse: Callable[[HttpResponse], A], path: str, body: BaseModel, *, is_retry_safe: bool = True
) -> ApiRequest[A]:
    """Build a POST request without an Idempotency-Key."""
    return ApiRequest(
        method="POST",
        path=path,
        parse=parse,
        body=body.model_dump_json(exclude_none=True, exclude_unset=True).encode("utf-8"),
        headers={"Content-Type": JSON},
        is_retry_safe=is_retry_safe,
    )


def write(
    model: type[M], path: str, body: BaseModel, idempotency_key: str | None, *, method: str = "POST"
) -> ApiRequest[M]:
    """Build a write; its Idempotency-Key is random unless given."""
    headers = {"Content-Type": JSON, **_idempotency_headers(idempotency_key)}
    return replace(post(parse_as(model), path, body), method=method, headers=headers)


def delete(
    model: type[M], path: str, idempotency_key: str | None, query: BaseModel | None = None
) -> ApiRequest[M]:
    """Build a DELETE request; its Idempotency-Key is random unless given."""
    return ApiRequest(
        method="DELETE",
        path=path,
        parse=parse_as(model),
        query=_query_parameters(query),
        headers=_idempotency_headers(idempotency_key),
        is_retry_safe=True,
    )


def _idempotency_headers(idempotency_key: str | None) -> dict[str, str]:
    key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
    return {"Idempotency-Key": key}


def path_segment(text: str) -> str:
    """Percent-encode a path parameter. Raises TypeError or ValueError if it names nothing."""
    if not isinstance(text, str):
        raise TypeError(f"An id or a name must be a text, not {type(text).__name__}.")
    if not text:
        raise ValueError("An id or a name must not be empty.")
    return quote(text, safe="", errors="replace")


def _query_parameters(model: BaseModel | None) -> dict[str, str]:
    values = (
        {}
        if model is None
        else model.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    )
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }


def parse_as(model: type[M]) -> Callable[[HttpResponse], M]:
    """Return a parser of JSON bodies. It raises InvalidResponseError."""

    def parse(response: HttpResponse) -> M:
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

    return parse


def parse_json(response: HttpResponse) -> Any:
    """Return the JSON body. Raises InvalidResponseError."""
    try:
        return json.loads(response.body)
    except ValueError:
        raise InvalidResponseError("The response is not JSON.") from None


def parse_object(response: HttpResponse) -> dict[str, Any]:
    """Return the body as a JSON object. Raises InvalidResponseError."""
    document = parse_json(response)
    if not isinstance(document, dict):
        raise InvalidResponseError("The response is not a JSON object.")
    return document


def parse_text(response: HttpResponse) -> str:
    """Return the body as text."""
    return response.body.decode("utf-8", "replace")


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
