"""Errors under `/v1` have the shape that OpenAI's clients read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from service import Http

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.http.problems import respond

PATH = "/v1/chat/completions"
JSON = {"Content-Type": "application/json"}
FIELDS = ["message", "type", "param", "code"]


@pytest.mark.parametrize(
    ("status", "kind", "code", "method", "path", "options"),
    [
        (400, "invalid_request_error", "invalid_json", "POST", PATH, {"content": b"{"}),
        (
            401,
            "authentication_error",
            "invalid_api_key",
            "GET",
            "/v1/models",
            {"headers": {"Authorization": "Bearer sk_none"}},
        ),
        (404, "invalid_request_error", "not_found", "GET", "/v1/files", {}),
        (405, "invalid_request_error", "method_not_allowed", "GET", PATH, {}),
        (
            413,
            "invalid_request_error",
            "too_large",
            "POST",
            PATH,
            {"headers": {"Content-Length": "9" * 12}},
        ),
        (
            415,
            "invalid_request_error",
            "unsupported_media_type",
            "POST",
            PATH,
            {"content": b"{}", "headers": {"Content-Type": "text/plain"}},
        ),
        (
            421,
            "invalid_request_error",
            "misdirected_request",
            "GET",
            "/v1/models",
            {"headers": {"Host": "evil.example"}},
        ),
        (422, "invalid_request_error", "invalid_request", "POST", PATH, {"content": b"{}"}),
    ],
)
def test_error_under_v1_has_the_shape_of_openai(
    http: Http, status: int, kind: str, code: str, method: str, path: str, options: Any
) -> None:
    """`message`, `type`, `param` and `code` in `error` (specification.md#completions-errors)."""
    answer = http.ask(method, path, **{"headers": JSON, **options})

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert list(answer.json()) == ["error"]
    error = answer.json()["error"]
    assert list(error) == FIELDS
    assert (error["type"], error["code"]) == (kind, code)
    assert error["message"]


def test_param_names_the_invalid_field_as_openai_does(http: Http) -> None:
    """`param` is the first invalid field (specification.md#completions-errors)."""
    body = {"messages": [{"role": "user", "content": "Hi"}, {"role": "pirate", "content": "Hi"}]}

    assert http.post(PATH, body).json()["error"]["param"] == "messages[1].role"


class TestRateLimit:
    """A server that allows one chat request per minute."""

    @pytest.fixture
    def context(self, folder: Path) -> Iterator[Context]:
        """Return a context with this limit."""
        service = testing.context(folder)
        service = replace(service, settings=replace(service.settings, rate_chat_per_minute=1))
        yield service
        service.close()

    def test_exceeded_limit_has_code_and_header_of_openai(self, http: Http) -> None:
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


def test_other_paths_keep_their_shape(http: Http) -> None:
    """Only `/v1` and the paths below it differ (specification.md#completions-errors)."""
    assert http.get("/v11").json()["error"] == "not_found"
