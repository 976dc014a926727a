"""Event detail: `GET /api/v7/event/{event_id}`."""

from __future__ import annotations

import pytest
from service import Http

QUESTION, ANSWER = "Where is the spare key?", "Under the blue flower pot. " * 100


def test_event_detail_has_the_whole_turn(http: Http) -> None:
    """`raw_dialogue` is the whole turn (specification.md#event-detail-response)."""
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
def test_unknown_id_is_404(http: Http, event_id: str) -> None:
    """An unknown id is a 404 (specification.md#event-detail-404)."""
    answer = http.get(f"/api/v7/event/{event_id}")

    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_event_of_another_account_is_404(http: Http) -> None:
    """Another account's id is the same 404 (specification.md#event-detail-404)."""
    event_id = http.remember(QUESTION, ANSWER)["event_id"]
    bob = http.as_account("bob")

    theirs, none = bob.get(f"/api/v7/event/{event_id}"), bob.get("/api/v7/event/e_none")

    assert theirs.status_code == none.status_code == 404
    assert theirs.json() | {"instance": ""} == none.json() | {"instance": ""}


def test_pinned_key_reads_only_events_of_its_user(http: Http) -> None:
    """A pinned key reads its user's events (specification.md#event-detail-pinned)."""
    event_id = http.remember(QUESTION, ANSWER, user_id="ada")["event_id"]

    assert (
        http.as_account("owner", user_id="ada").get(f"/api/v7/event/{event_id}").status_code == 200
    )
    assert (
        http.as_account("owner", user_id="bob").get(f"/api/v7/event/{event_id}").status_code == 404
    )


def test_read_only_key_can_read_events(http: Http) -> None:
    """A read-only key may read events (specification.md#event-detail-read-only)."""
    event_id = http.remember(QUESTION, ANSWER)["event_id"]

    assert (
        http.as_account("owner", read_only=True).get(f"/api/v7/event/{event_id}").status_code == 200
    )
