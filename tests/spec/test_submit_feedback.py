"""Submit feedback: `POST /api/v7/feedback`."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from service import Http

from remembrancer.accounts import NotOwner, caller_for
from remembrancer.feedback import close_feedback, reopen_feedback
from remembrancer.protocol.feedback import FeedbackType

PATH = "/api/v7/feedback"
pytestmark = pytest.mark.settings(rate_feedback_per_minute=0)
BUG: dict[str, Any] = {
    "type": "bug",
    "title": "A hit is cut in two",
    "description": "The second half is missing.",
    "severity": 2,
}


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
    """An owner closes feedback and answers; no member does (specification.md#feedback-closed)."""
    feedback_id = http.as_account("ada").post(PATH, BUG).json()["feedback_id"]
    with pytest.raises(NotOwner):
        close_feedback(http.context, caller_for(http.context, "ada"), feedback_id, None)
    close_feedback(http.context, caller_for(http.context), feedback_id, "Mended.")
    lists = {
        state: http.get(PATH, params={"state": state}).json()["feedback"]
        for state in ("open", "closed", "all")
    }

    assert [len(lists[state]) for state in ("open", "closed", "all")] == [0, 1, 1]
    [one] = lists["closed"]
    assert (one["closed_at"], one["note"]) == ("2026-01-01T00:00:00.000Z", "Mended.")
    reopen_feedback(http.context, caller_for(http.context), feedback_id)
    [one] = http.get(PATH, params={"state": "open"}).json()["feedback"]
    assert (one["closed_at"], one["note"]) == (None, None)


def test_type_is_one_of_five_and_severity_1_to_4_or_none(http: Http) -> None:
    """See specification.md#feedback-types, specification.md#feedback-severity."""
    sent = [{**BUG, "type": kind} for kind in get_args(FeedbackType)]
    sent += [{**BUG, "severity": severity} for severity in (1, 2, 3, 4, None)]
    sent.append({name: BUG[name] for name in BUG if name != "severity"})
    for body in sent:
        assert http.post(PATH, body).status_code == 200

    stored = [(one["type"], one["severity"]) for one in reversed(stored_feedback(http))]
    assert stored == [(body["type"], body.get("severity")) for body in sent]
    assert {*get_args(FeedbackType)} == {
        *("anomaly", "bug", "cube_issue", "improvement", "security")
    }


def test_owner_lists_the_feedback_of_all_accounts_page_by_page(http: Http) -> None:
    """Newest first, without gaps or repetitions (specification.md#feedback-list)."""
    assert http.get(PATH).json() == {"feedback": [], "next": None}
    ada = http.as_account("ada")
    for n in range(4):
        (ada, http)[n % 2].post(PATH, {**BUG, "title": f"n{n}"})
    first = http.get(PATH, params={"limit": 2}).json()
    http.post(PATH, {**BUG, "title": "while reading", "type": "security"})
    second = http.get(PATH, params={"limit": 2, "before": first["next"]}).json()

    listed = [
        [(one["title"], one["account"]) for one in page["feedback"]] for page in (first, second)
    ]
    assert listed == [[("n3", "owner"), ("n2", "ada")], [("n1", "owner"), ("n0", "ada")]]
    assert second["next"] is None
    [one] = http.get(PATH, params={"type": "security"}).json()["feedback"]
    assert one["title"] == "while reading"
    assert http.get(PATH, params={"before": "f_none"}).status_code == 404


def test_only_an_owner_lists_feedback_and_none_with_a_pin(http: Http) -> None:
    """A pinned key stands for one user, not for the service.

    See specification.md#feedback-list, specification.md#feedback-pinned.
    """
    ada, pinned = http.as_account("ada"), http.as_account("owner", user_id="mary")
    for other in (ada, pinned):
        for query in ({}, {"before": "f_none"}, {"type": "bug"}):
            answer = other.get(PATH, params=query)
            assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
    assert "owner" in ada.get(PATH).json()["detail"]
    assert http.as_account("owner", read_only=True).get(PATH).status_code == 200
