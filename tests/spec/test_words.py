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
            "agent/chat",
            {"user_id": "a", "message": "x" * 30_000},
            "message",
            "must have at most 20,000 characters, not 30,000",
        ),
        (
            "execute/code",
            {"code": "x" * 300_000},
            "code",
            "must have at most 200,000 characters, not 300,000",
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
        (
            "experience/vote",
            {"cube_id": "c_0", "user_id": "a", "vote": -1},
            "reason",
            "a vote of -1 needs a reason",
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


def test_a_vote_that_changes_no_count_says_why(http: Http) -> None:
    """See specification.md#vote-author, specification.md#vote-one-per-account."""
    made = http.remember("q", "r", user_id="ada", cube_publish=True, **LESSON)
    bob = http.as_account("bob")

    def vote(client: Http, user: str, value: int) -> str:
        body = {"cube_id": made["cube"]["cube_id"], "user_id": user, "vote": value, "reason": "So."}
        return str(client.post(P + "experience/vote", body).json().get("detail", ""))

    assert "your own account" in vote(http, "ada", 1)
    assert vote(bob, "b1", 1) == ""
    assert "an account counts once" in vote(bob, "b2", 1)
    assert "an account counts once" in vote(bob, "b3", -1)


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


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How long is an L1?", "L1: the summary of a session"),
        ("When is an L1 due?", "L1: the summary of a session"),
        ("How long is an L2?", "L2: the map of a user"),
        ("How do I end an open task?", "Open tasks"),
        ("How do I grant a permission?", "System files and permissions"),
    ],
)
def test_help_answers(http: Http, question: str, title: str) -> None:
    """See specification.md#search-help."""
    assert http.memory(question, interact=False)["help_hits"][0]["title"] == title


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


@pytest.mark.parametrize(
    ("texts", "refused"),
    [
        ({"cube_evidence": "ben session b1"}, None),
        ({"cube_essence": "Café menus: NFC-normalise names such as Zürich, Łódź and Brno."}, None),
        ({"cube_essence": 'In German mails "mit freundlichen Grüßen" closes the letter.'}, None),
        ({"cube_essence": "Dvořák, Müller and Škoda prefer calls before noon."}, None),
        ({"cube_essence": "The Russian for please is “пожалуйста”."}, None),
        ({"cube_essence": "Man muss die Datei vor dem Lesen öffnen."}, "essence"),
        ({"cube_rules": "- MUST die Datei vor dem Lesen nicht ändern und nie löschen"}, "rules"),
        ({"cube_evidence": "gesehen bei der Arbeit mit dem Team"}, "evidence"),
        ({"cube_essence": "Gate codes night rotation", "cube_rules": "- MUST rotate"}, "essence"),
    ],
)
def test_publishing_says_which_text_is_not_english(
    http: Http, texts: dict[str, str], refused: str | None
) -> None:
    """Names and quoted words may be of any language (specification.md#cube-publish-rules)."""
    answer = http.remember("q", "r", cube_publish=True, **{**LESSON, **texts})

    [cube] = [one for one in answer["receipts"] if one["part"] == "cube"]
    detail = cube.get("detail", "")
    assert answer["cube"]["visibility"] == ("private" if refused else "published"), detail
    assert detail.startswith(f"Kept private: its {refused} ") == (refused is not None)
