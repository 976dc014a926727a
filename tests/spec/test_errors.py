"""Errors: statuses, error codes, format and order of checks."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

from remembrancer.settings import Settings

BIG = b'{"query_text": "' + b"x" * (1 << 20) + b'"}'
JSON = {"Content-Type": "application/json"}
FEEDBACK = {"type": "bug", "title": "a", "description": "b"}


def ask(http: Http, body: bytes, headers: dict[str, str], path: str = "/api/v7/memory") -> Any:
    return http.ask("POST", path, content=body, headers=headers)


def test_error_body_begins_with_an_explanation(http: Http) -> None:
    """The body begins with the explanation, as clients may truncate it.

    See specification.md#error-early.
    """
    answer = http.post("/api/v7/memory", {"query_text": "a", "user_id": "u", "top_k": 0})

    assert answer.status_code == 422
    assert "top_k: Input should be greater than or equal to 1." in answer.text[:300]


def test_checks_run_in_the_documented_order(http: Http) -> None:
    """413, 401, 429, 415, 400, 422, then 403 and 404 (specification.md#error-order)."""
    nobody, pinned = http.with_key(None), http.as_account("owner", user_id="ada")
    wrong_user = b'{"query_text": "a", "user_id": "bob", "top_k": %s}'

    assert ask(nobody, BIG, {"Content-Type": "text/plain"}).status_code == 413
    assert ask(nobody, b"not json", {"Content-Type": "text/plain"}).status_code == 401
    assert ask(pinned, b"not json", {"Content-Type": "text/plain"}).status_code == 415
    assert ask(pinned, b"not json", JSON).status_code == 400
    assert ask(pinned, wrong_user % b"0", JSON).status_code == 422
    assert ask(pinned, wrong_user % b"1", JSON).status_code == 403


def test_every_error_is_problem_json_with_its_error_code(http: Http) -> None:
    """Every error body is problem+json with `error` (specification.md#error-shape)."""
    memory, event = "/api/v7/memory", "/api/v7/event/e_1"
    no_key = {"headers": {"Authorization": "Bearer sk_no"}}
    requests: list[tuple[int, str, str, str, Any]] = [
        (400, "invalid_json", "POST", memory, {"content": b"{", "headers": JSON}),
        (401, "unauthorized", "GET", event, no_key),
        (404, "not_found", "GET", event, {}),
        (404, "not_found", "GET", "/api/v7/nothing", {}),
        (405, "method_not_allowed", "GET", memory, {}),
        (413, "too_large", "POST", memory, {"content": BIG, "headers": JSON}),
        (415, "unsupported_media_type", "POST", memory, {"content": b"{}"}),
        (422, "invalid_request", "POST", memory, {"json": {}}),
    ]

    for status, word, method, path, value in requests:
        answer = http.ask(method, path, **value)
        body = answer.json()

        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, body["status"], body["error"]) == (status, status, word)
        assert body["type"] == f"urn:remembrancer:error:{word}"
        assert body["instance"] == answer.headers["x-request-id"]
        assert body["title"]
        assert body["detail"]


def limit_of(kind: str, *values: Any) -> Any:
    """Return a case whose service allows one request of a kind per minute."""
    mark = pytest.mark.settings(**{f"rate_{kind}_per_minute": 1})
    return pytest.param(kind, *values, marks=mark, id=kind)


@pytest.mark.parametrize(
    ("kind", "default", "path", "body", "status"),
    [
        limit_of("chat", 60, "/api/v7/agent/chat", {"user_id": "owner", "message": "Hi"}, 200),
        limit_of("sandbox", 600, "/api/execute/code", {"code": "1", "timeout_s": -1}, 422),
        limit_of("feedback", 10, "/api/v7/feedback", FEEDBACK, 200),
    ],
)
def test_each_kind_has_a_rate_limit_of_its_own(
    http: Http, kind: str, default: int, path: str, body: dict[str, Any], status: int
) -> None:
    """Other requests and keys go on (specification.md#chat-rate, #sandbox-rate, #feedback-rate)."""
    first, second = (http.post(path, body) for _ in range(2))
    stored = http.rows()

    assert getattr(Settings(), f"rate_{kind}_per_minute") == default
    assert (first.status_code, second.status_code) == (status, 429)
    assert int(second.headers["retry-after"]) >= 1
    assert second.headers["ratelimit-policy"] == f'"{kind}";q=1;w=60'
    assert http.rows() == stored
    assert http.memory("ferry")["hits"] is not None
    assert http.as_account("ada").post(path, body).status_code == status
