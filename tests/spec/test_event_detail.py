"""Specification, 'Get event detail': GET /api/v7/event/{event_id}."""

from __future__ import annotations

import pytest
from service import Http

QUESTION, ANSWER = "Where is the spare key?", "Under the blue flower pot. " * 100


def test_it_gives_the_whole_dialogue(http: Http) -> None:
    """'Returns the event's full raw_dialogue'."""
    event_id = http.remember(QUESTION, ANSWER, topic="home")["event_id"]

    event = http.get(f"/api/v7/event/{event_id}").json()

    assert event["event_id"] == event_id
    assert QUESTION in event["raw_dialogue"]
    assert ANSWER in event["raw_dialogue"]
    assert (
        event["user_id"],
        event["session_id"],
        event["topic"],
        event["query"],
        event["response"],
    ) == (
        "owner",
        "default",
        "home",
        QUESTION,
        ANSWER,
    )


@pytest.mark.parametrize(
    "event_id",
    ["e_none", "x", "%00", "e_%00", "..", "a" * 257, "'; --", "%F0%9F%A6%94", "%ff", "*", "%25"],
)
def test_an_unknown_id_is_not_found(http: Http, event_id: str) -> None:
    """decisions.md: '404 unknown id or not yours'."""
    answer = http.get(f"/api/v7/event/{event_id}")

    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_another_accounts_event_is_answered_like_one_that_does_not_exist(http: Http) -> None:
    """decisions.md: 'an id of another account answers 404, the same as one that does not exist'."""
    event_id = http.remember(QUESTION, ANSWER)["event_id"]
    bob = http.as_account("bob")

    theirs, none = bob.get(f"/api/v7/event/{event_id}"), bob.get("/api/v7/event/e_none")

    assert theirs.status_code == none.status_code == 404
    assert theirs.json() | {"instance": ""} == none.json() | {"instance": ""}


def test_a_pinned_key_sees_the_events_of_its_user_only(http: Http) -> None:
    event_id = http.remember(QUESTION, ANSWER, user_id="ada")["event_id"]

    assert (
        http.as_account("owner", user_id="ada").get(f"/api/v7/event/{event_id}").status_code == 200
    )
    assert (
        http.as_account("owner", user_id="bob").get(f"/api/v7/event/{event_id}").status_code == 404
    )


def test_a_read_only_key_may_read(http: Http) -> None:
    event_id = http.remember(QUESTION, ANSWER)["event_id"]

    assert (
        http.as_account("owner", read_only=True).get(f"/api/v7/event/{event_id}").status_code == 200
    )
