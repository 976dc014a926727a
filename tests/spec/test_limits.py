"""Limits of requests."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

from remembrancer.protocol import limits

AT_THE_LIMIT: list[tuple[str, Any, Any]] = [
    ("query_text", "q" * limits.QUERY_CHARACTERS_MAX, "q" * (limits.QUERY_CHARACTERS_MAX + 1)),
    ("user_id", "ü" * limits.ID_CHARACTERS_MAX, "ü" * (limits.ID_CHARACTERS_MAX + 1)),
    ("session_id", "s" * limits.ID_CHARACTERS_MAX, "s" * (limits.ID_CHARACTERS_MAX + 1)),
    ("focus_words", ["w"] * limits.FOCUS_WORDS_MAX, ["w"] * (limits.FOCUS_WORDS_MAX + 1)),
    (
        "focus_words",
        ["w" * limits.FOCUS_WORD_CHARACTERS_MAX],
        ["w" * (limits.FOCUS_WORD_CHARACTERS_MAX + 1)],
    ),
    ("top_k", 1, 0),
    ("top_k", limits.TOP_K_MAX, limits.TOP_K_MAX + 1),
    ("last_seal", "s" * limits.SEAL_CHARACTERS_MAX, "s" * (limits.SEAL_CHARACTERS_MAX + 1)),
    ("max_tokens", limits.TOKENS_MAX, limits.TOKENS_MAX + 1),
]


@pytest.mark.parametrize(("name", "most", "too_much"), AT_THE_LIMIT)
def test_bounds_are_inclusive(http: Http, name: str, most: Any, too_much: Any) -> None:
    """Every bound is inclusive (specification.md#limit-bounds)."""
    body = {"query_text": "a", "user_id": "owner"}

    assert http.post("/api/v7/memory", {**body, name: most}).status_code == 200
    refused = http.post("/api/v7/memory", {**body, name: too_much})

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].startswith(f"/{name}")


def test_top_k_defaults_to_5(http: Http) -> None:
    """`top_k` defaults to 5 (specification.md#limit-top-k)."""
    assert limits.TOP_K_DEFAULT == 5
    schema = http.get("/openapi.json").json()["components"]["schemas"]["MemoryQuery"]["properties"][
        "top_k"
    ]
    [number, null] = schema["anyOf"]
    assert (schema["default"], number["minimum"], number["maximum"]) == (5, 1, 100)
    assert null == {"type": "null"}


def test_memory_requests_have_a_generous_limit_by_default(http: Http) -> None:
    """500 a second, and a minute's allowance at once (specification.md#rate-defaults)."""
    answers = [http.get("/api/v7/event/e_1") for _ in range(200)]

    assert {answer.status_code for answer in answers} == {404}
    assert answers[-1].headers["ratelimit-policy"] == '"memory";q=30000;w=60'
