"""The list of feedback: owner only, newest first, paginated."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from service import Http, new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.context import Caller, Context
from remembrancer.feedback import FeedbackUnknown, list_feedback, submit_feedback
from remembrancer.protocol import limits
from remembrancer.protocol.feedback import Feedback, FeedbackList, FeedbackQuery, FeedbackType

PATH = "/api/v7/feedback"


@pytest.fixture
def owner(context: Context) -> Caller:
    """A caller of the first account, the owner."""
    return authenticate(context, new_key(context))


@pytest.fixture
def ada(context: Context, owner: Caller) -> Caller:
    """A caller of another account."""
    return authenticate(context, new_key(context, "ada"))


def submit(context: Context, caller: Caller, title: str, **more: Any) -> str:
    """Submit feedback; return its id."""
    return submit_feedback(
        context, caller, Feedback(**{"type": "bug", "title": title, "description": "Told.", **more})
    ).feedback_id


def page(context: Context, owner: Caller, **query: Any) -> FeedbackList:
    return list_feedback(context, owner, FeedbackQuery(**query))


def titles(listing: FeedbackList) -> list[str]:
    return [report.title for report in listing.feedback]


def test_newest_feedback_of_all_accounts_is_first(
    context: Context, owner: Caller, ada: Caller
) -> None:
    feedback_ids = [
        submit(context, owner, "first"),
        submit(context, ada, "second"),
        submit(context, owner, "third"),
    ]
    listing = page(context, owner)

    assert [(report.title, report.account) for report in listing.feedback] == [
        ("third", "owner"),
        ("second", "ada"),
        ("first", "owner"),
    ]
    assert [report.feedback_id for report in listing.feedback] == feedback_ids[::-1]
    assert listing.next is None


def test_pages_have_no_gaps_or_repetitions(context: Context, owner: Caller) -> None:
    for n in range(5):
        submit(context, owner, f"n{n}")
    first = page(context, owner, limit=2)
    submit(context, owner, "while reading")
    second = page(context, owner, limit=2, before=first.next)
    third = page(context, owner, limit=2, before=second.next)

    assert [titles(listing) for listing in (first, second, third)] == [
        ["n4", "n3"],
        ["n2", "n1"],
        ["n0"],
    ]
    assert (first.next, third.next) == (first.feedback[-1].feedback_id, None)


def test_full_last_page_has_no_next_cursor(context: Context, owner: Caller) -> None:
    for n in range(4):
        submit(context, owner, f"n{n}")
    second = page(context, owner, limit=2, before=page(context, owner, limit=2).next)

    assert (titles(second), second.next) == (["n1", "n0"], None)


def test_feedback_is_filtered_by_type_and_paginated(context: Context, owner: Caller) -> None:
    for n, kind in enumerate(get_args(FeedbackType) * 2):
        submit(context, owner, f"{kind} {n}", type=kind)
    first = page(context, owner, type="security", limit=1)
    second = page(context, owner, type="security", limit=1, before=first.next)

    assert [titles(first), titles(second), second.next] == [["security 9"], ["security 4"], None]


def test_unknown_cursor_is_not_found(context: Context, owner: Caller) -> None:
    submit(context, owner, "first")

    with pytest.raises(FeedbackUnknown):
        page(context, owner, before="f_none")


def test_list_is_empty_without_feedback(http: Http) -> None:
    assert http.get(PATH).json() == {"feedback": [], "next": None}


def test_only_the_owner_lists_feedback(http: Http) -> None:
    """Only the owner lists feedback (specification.md#feedback-list)."""
    ada = http.as_account("ada")
    ada.post(PATH, {"type": "bug", "title": "t", "description": "d"})

    for query in ("", "?before=f_none", "?type=bug"):
        answer = ada.get(PATH + query)
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
        assert "owner" in answer.json()["detail"]
    assert http.as_account("owner", read_only=True).get(PATH).status_code == 200


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=0", 422),
        (f"limit={limits.FEEDBACK_LISTED_MAX + 1}", 422),
        ("limit=-1", 422),
        ("limit=1.0", 422),
        ("limit=", 422),
        ("limit=1&limit=2", 422),
        ("type=question", 422),
        ("type=", 422),
        ("before=", 422),
        ("before=a%00", 422),
        ("before=" + "f" * 257, 422),
        ("before=f_none", 404),
        (f"limit={limits.FEEDBACK_LISTED_MAX}", 200),
        ("limit=1&type=bug", 200),
    ],
)
def test_list_parameters_are_validated(http: Http, query: str, status: int) -> None:
    answer = http.get(f"{PATH}?{query}")

    assert answer.status_code == status
    if status == 422:
        assert [fault["pointer"] for fault in answer.json()["errors"]] == [
            "/" + query.partition("=")[0]
        ]


def test_a_pinned_key_of_the_owner_reads_no_feedback(http: Http) -> None:
    """It stands for one user, not for the service (specification.md#feedback-pinned)."""
    ada = http.as_account("ada")
    assert ada.post(PATH, {"type": "bug", "title": "t", "description": "d"}).status_code == 200
    pinned, reader = (
        http.as_account("owner", user_id="mary"),
        http.as_account("owner", read_only=True),
    )

    assert pinned.get(PATH).status_code == 403
    assert [row["account"] for row in reader.get(PATH).json()["feedback"]] == ["ada"]
