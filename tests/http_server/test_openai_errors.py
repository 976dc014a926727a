"""Errors under `/v1` have the shape that OpenAI's clients read."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

from remembrancer.http.problems import respond

PATH = "/v1/chat/completions"
JSON = {"Content-Type": "application/json"}
FIELDS = ["message", "type", "param", "code"]


CASES: list[tuple[int, str, str, dict[str, Any]]] = [
    (400, "invalid_json", f"POST {PATH}", {"content": b"{"}),
    (401, "invalid_api_key", "GET /v1/models", {"headers": {"Authorization": "Bearer sk_none"}}),
    (404, "not_found", "GET /v1/files", {}),
    (405, "method_not_allowed", f"GET {PATH}", {}),
    (413, "too_large", f"POST {PATH}", {"headers": {"Content-Length": "9" * 12}}),
    (415, "unsupported_media_type", f"POST {PATH}", {"headers": {"Content-Type": "text/plain"}}),
    (421, "misdirected_request", "GET /v1/models", {"headers": {"Host": "evil.example"}}),
    (422, "invalid_request", f"POST {PATH}", {"content": b"{}"}),
]


def test_error_under_v1_has_the_shape_of_openai(shared: Http) -> None:
    """`message`, `type`, `param` and `code` in `error` (specification.md#completions-errors)."""
    for status, code, request_line, options in CASES:
        answer = shared.ask(*request_line.split(" "), **{"headers": JSON, **options})

        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/json"
        assert list(answer.json()) == ["error"]
        error = answer.json()["error"]
        assert list(error) == FIELDS
        kind = "authentication_error" if status == 401 else "invalid_request_error"
        assert (error["type"], error["code"]) == (kind, code)
        assert error["message"]
    assert shared.get("/v11").json()["error"] == "not_found"  # only `/v1` and the paths below it


@pytest.mark.settings(rate_chat_per_minute=1)
def test_exceeded_limit_has_code_and_header_of_openai(http: Http) -> None:
    """429 with `rate_limit_exceeded`, `Retry-After` (specification.md#completions-errors)."""
    answers = [http.post(PATH, {"messages": []}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [422, 429]
    assert answers[1].json()["error"]["code"] == "rate_limit_exceeded"
    assert answers[1].json()["error"]["type"] == "rate_limit_error"
    assert int(answers[1].headers["retry-after"]) > 0


def test_unforeseen_error_under_v1_is_a_server_error() -> None:
    """500 has the shape of the others (specification.md#completions-errors)."""
    answer = respond(RuntimeError("defect"), {"path": PATH, "request_id": "r1"})

    assert answer.status_code == 500
    assert b'"type": "server_error"' in bytes(answer.body)
    assert b"defect" not in bytes(answer.body)
