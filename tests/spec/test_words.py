"""Words of the service where something is wrong or counts for nothing, and words it understands."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

P = "/api/v7/"
LESSON: dict[str, Any] = {
    "cube_topic": "gates",
    "cube_essence": "Codes of gates change at night.",
    "cube_rules": "- MUST ask for the code again",
}


@pytest.mark.parametrize(
    ("path", "body", "field", "detail"),
    [
        (
            "experience/create",
            {"topic": "t", "essence": "e", "rules_markdown": "x" * 9_000, "evidence": "e"},
            "rules_markdown",
            "must have at most 8,000 characters, not 9,000",
        ),
        (
            "memory",
            {"user_id": "a", "query_text": "q", "focus_words": ["x"] * 40},
            "focus_words",
            "List should have at most 32 items after validation, not 40",
        ),
        (
            "experience/create",
            {"topic": "", "essence": "e", "rules_markdown": "x", "evidence": "e"},
            "topic",
            "must say something; it is blank or a word for nothing",
        ),
    ],
)
def test_an_error_points_at_the_field_and_counts_characters(
    http: Http, path: str, body: dict[str, Any], field: str, detail: str
) -> None:
    """See specification.md#error-pointer."""
    answer = http.post(P + path, body)

    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"pointer": f"/{field}", "detail": detail}]


@pytest.mark.parametrize("end", ["", "\n", "  \n\n"])
def test_last_seal_may_be_the_whole_reply(http: Http, end: str) -> None:
    """See specification.md#seal-last-seal."""
    http.memory("Hello", session_id="s")
    http.remember("Hello", "Good day.", session_id="s")
    reply = "Good day.\nHow are you?\n\nREM | #1 | READ | VERIFY | CORRECT | OUTPUT" + end

    answer = http.memory("Fine", session_id="s", last_seal=reply)

    assert "reminders" not in answer
    assert "duty_error" not in answer
    wrong = http.memory("Fine", session_id="s", last_seal=reply.replace("#1", "#7"))
    assert "wrong step" in wrong["duty_error"]


@pytest.mark.parametrize("length", [32, 40, 56, 64, 128])
def test_a_key_is_a_secret_whatever_its_length(http: Http, length: int) -> None:
    """See specification.md#cube-publish."""
    key = "sk_" + ("0123456789abcdef" * 8)[:length]
    lesson = {**LESSON, "cube_essence": f"Use the key {key} for the mail service."}

    receipts = http.remember("q", "r", cube_publish=True, **lesson)["receipts"]
    stored = http.post(P + "event/write", {"user_id": "a", "query": f"It is {key}", "response": ""})

    [cube] = [one for one in receipts if one["part"] == "cube"]
    assert cube["detail"] == "Kept private: it contains a secret (service-key)."
    assert stored.json()["detail"].startswith("A secret (service-key) is stored in it")
