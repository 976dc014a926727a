"""Submit feedback: `POST /api/v7/feedback`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from service import Http

from remembrancer import testing
from remembrancer.accounts import NotOwner, caller_for
from remembrancer.context import Context
from remembrancer.feedback import close_feedback, reopen_feedback
from remembrancer.protocol import limits
from remembrancer.protocol.feedback import FeedbackType
from remembrancer.settings import Settings

PATH = "/api/v7/feedback"
BUG: dict[str, Any] = {
    "type": "bug",
    "title": "A hit is cut in two",
    "description": "The second half is missing.",
    "severity": 2,
}


@pytest.fixture
def context(folder: Path) -> Iterator[Context]:
    """Provide a service with unlimited feedback, unless a test sets a limit."""
    service = testing.context(folder)
    yield replace(service, settings=replace(service.settings, rate_feedback_per_minute=0))
    service.close()


def stored_feedback(http: Http) -> list[dict[str, Any]]:
    """Return the feedback that the owner reads."""
    return list(http.get(PATH).json()["feedback"])


def test_feedback_is_stored_as_sent(http: Http) -> None:
    """Feedback is stored as sent (specification.md#feedback-stored)."""
    saved = http.as_account("ada").post(PATH, BUG).json()

    assert saved["saved"] is True
    assert saved["feedback_id"].startswith("f_")
    assert stored_feedback(http) == [
        {
            **BUG,
            "feedback_id": saved["feedback_id"],
            "account": "ada",
            "created_at": "2026-01-01T00:00:00.000Z",
            "closed_at": None,
            "note": None,
        }
    ]


def test_closed_feedback_has_its_time_and_the_answer(http: Http) -> None:
    """An owner closes feedback and answers (specification.md#feedback-closed)."""
    feedback_id = http.as_account("ada").post(PATH, BUG).json()["feedback_id"]
    close_feedback(http.context, caller_for(http.context), feedback_id, "Mended.")
    lists = {
        state: http.get(PATH, params={"state": state}).json()["feedback"]
        for state in ("open", "closed", "all")
    }

    assert {state: len(entries) for state, entries in lists.items()} == {
        "open": 0,
        "closed": 1,
        "all": 1,
    }
    [one] = lists["closed"]
    assert (one["closed_at"], one["note"]) == ("2026-01-01T00:00:00.000Z", "Mended.")
    reopen_feedback(http.context, caller_for(http.context), feedback_id)
    [one] = http.get(PATH, params={"state": "open"}).json()["feedback"]
    assert (one["closed_at"], one["note"]) == (None, None)


def test_members_cannot_close_feedback(http: Http) -> None:
    """Only an owner closes it (specification.md#feedback-closed)."""
    ada = http.as_account("ada")
    feedback_id = ada.post(PATH, BUG).json()["feedback_id"]
    caller = caller_for(http.context, "ada")

    with pytest.raises(NotOwner):
        close_feedback(http.context, caller, feedback_id, None)


@pytest.mark.parametrize("kind", ["anomaly", "bug", "cube_issue", "improvement", "security"])
def test_feedback_has_one_of_five_types(http: Http, kind: str) -> None:
    """`type` is one of five words (specification.md#feedback-types)."""
    assert http.post(PATH, {**BUG, "type": kind}).status_code == 200
    assert [one["type"] for one in stored_feedback(http)] == [kind]
    assert len(get_args(FeedbackType)) == 5


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
def test_severity_is_1_to_4(http: Http, severity: int) -> None:
    """`severity` is 1 to 4 (specification.md#feedback-severity)."""
    http.post(PATH, {**BUG, "severity": severity})

    assert [one["severity"] for one in stored_feedback(http)] == [severity]


@pytest.mark.parametrize(
    "body", [{name: BUG[name] for name in BUG if name != "severity"}, {**BUG, "severity": None}]
)
def test_severity_is_optional(http: Http, body: dict[str, Any]) -> None:
    """`severity` is optional (specification.md#feedback-severity)."""
    http.post(PATH, body)

    assert [one["severity"] for one in stored_feedback(http)] == [None]


WRONG: dict[str, list[Any]] = {
    "severity": [0, 5, -1, "1", "low", True, False, 1.5, [1], 10**30],
    "type": [None, "", "Bug", "bug ", "question", 1, ["bug"], {"bug": 1}],
    "title": [None, "", " \n", 5, ["t"], "a\0b", "t" * (limits.FEEDBACK_TITLE_CHARACTERS_MAX + 1)],
    "description": [
        None,
        "",
        "\t",
        5,
        {},
        "a\0b",
        "d" * (limits.FEEDBACK_DESCRIPTION_CHARACTERS_MAX + 1),
    ],
}
WRONG_ONES = [(name, value) for name, values in WRONG.items() for value in values]


@pytest.mark.parametrize(
    ("name", "value"), WRONG_ONES, ids=[f"{name} {str(value)[:9]!r}" for name, value in WRONG_ONES]
)
def test_invalid_values_are_refused_and_named(http: Http, name: str, value: Any) -> None:
    """Types are strict, and the field is named (specification.md#feedback-invalid)."""
    before = http.rows()
    answer = http.post(PATH, {**BUG, name: value})

    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [f"/{name}"]
    assert http.rows() == before


@pytest.mark.parametrize("name", ["type", "title", "description"])
def test_missing_fields_are_refused_and_named(http: Http, name: str) -> None:
    """`type`, `title` and `description` are required (specification.md#feedback-required)."""
    answer = http.post(PATH, {key: value for key, value in BUG.items() if key != name})

    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"pointer": f"/{name}", "detail": "Field required"}]


def test_lone_surrogate_is_refused(http: Http) -> None:
    """A lone surrogate is a 422 (specification.md#api-text)."""
    answer = http.post_bytes(PATH, b'{"type": "bug", "title": "\\udfff", "description": "d"}')

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/title")


def test_longest_feedback_is_stored_whole(http: Http) -> None:
    """The bound itself is accepted (specification.md#limit-bounds)."""
    longest = {
        "title": "é" * limits.FEEDBACK_TITLE_CHARACTERS_MAX,
        "description": "ß" * limits.FEEDBACK_DESCRIPTION_CHARACTERS_MAX,
    }
    http.post(PATH, {**BUG, **longest})

    assert stored_feedback(http)[0] | longest == stored_feedback(http)[0]


def test_repeated_request_is_stored_once(http: Http) -> None:
    """It accepts an `Idempotency-Key` (specification.md#feedback-idempotent)."""
    key = {"Idempotency-Key": "k1"}
    first, again = [http.post(PATH, BUG, headers=key).json() for _ in range(2)]

    assert first == again
    assert len(stored_feedback(http)) == 1
    assert http.post(PATH, {**BUG, "severity": 3}, headers=key).status_code == 409


def test_read_only_key_cannot_submit_feedback(http: Http) -> None:
    """A read-only key is a 403 (specification.md#feedback-read-only)."""
    assert http.as_account("ada", read_only=True).post(PATH, BUG).status_code == 403
    assert stored_feedback(http) == []


class TestFeedbackRate:
    """Feedback has a rate limit of its own (specification.md#feedback-rate)."""

    @pytest.fixture
    def context(self, folder: Path) -> Iterator[Context]:
        service = testing.context(folder)
        yield replace(service, settings=replace(service.settings, rate_feedback_per_minute=2))
        service.close()

    def test_feedback_over_the_limit_is_429_and_not_stored(self, http: Http) -> None:
        fields = [http.post(PATH, BUG) for _ in range(3)]

        assert [answer.status_code for answer in fields] == [200, 200, 429]
        assert fields[-1].json()["error"] == "too_many_requests"
        assert 1 <= int(fields[-1].headers["retry-after"]) <= 30
        assert fields[-1].headers["ratelimit-policy"] == '"feedback";q=2;w=60'
        assert len(stored_feedback(http)) == 2

    def test_limit_does_not_affect_other_endpoints_or_keys(self, http: Http) -> None:
        for _ in range(3):
            http.post(PATH, BUG)

        assert http.memory("ferry")["hits"] == []
        assert http.get(PATH).status_code == 200
        assert http.as_account("ada").post(PATH, BUG).status_code == 200


def test_default_limit_is_10_per_minute(folder: Path) -> None:
    """The default is 10 per minute (specification.md#feedback-rate)."""
    assert Settings(data=folder).rate_feedback_per_minute == 10
