"""Save an event: `POST /api/v7/event/write`."""

from __future__ import annotations

import pytest
from service import Http

EVENT = {
    "user_id": "ada",
    "query": "Where is the spare key?",
    "response": "Under the blue flower pot.",
}


def save(http: Http, **more: str) -> str:
    answer = http.post("/api/v7/event/write", {**EVENT, **more})
    assert answer.status_code == 200
    assert answer.json()["saved"] is True
    return str(answer.json()["event_id"])


def test_event_is_saved_for_the_named_user_and_found(http: Http) -> None:
    """It stores an event for the named user (specification.md#event-write-request)."""
    event_id = save(http)

    assert http.memory("spare key", user_id="ada")["hits"][0]["event_id"] == event_id
    assert http.memory("spare key", user_id="owner")["hits"] == []


def test_session_and_topic_are_stored(http: Http) -> None:
    """Session and topic are optional and stored (specification.md#event-write-request)."""
    event = http.get(f"/api/v7/event/{save(http, session_id='house', topic='home')}").json()

    assert (event["session_id"], event["topic"]) == ("house", "home")


@pytest.mark.parametrize("name", ["user_id", "query", "response"])
def test_user_id_query_and_response_are_required(http: Http, name: str) -> None:
    """`user_id`, `query` and `response` are required (specification.md#event-write-required)."""
    before = http.rows()

    assert (
        http.post("/api/v7/event/write", {k: v for k, v in EVENT.items() if k != name}).status_code
        == 422
    )
    assert http.rows() == before


def test_pinned_key_saves_only_for_its_user(http: Http) -> None:
    """Another `user_id` than the pin is a 403 (specification.md#event-write-pinned)."""
    ada, bob = http.as_account("owner", user_id="ada"), http.as_account("owner", user_id="bob")

    assert ada.post("/api/v7/event/write", EVENT).status_code == 200
    assert bob.post("/api/v7/event/write", EVENT).status_code == 403


def test_repeated_request_is_stored_once(http: Http) -> None:
    """It accepts an `Idempotency-Key` (specification.md#event-write-idempotent)."""
    answers = [
        http.post("/api/v7/event/write", EVENT, headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]

    assert answers[0].json() == answers[1].json()
    assert http.rows()["events"] == 1
    # idempotency keys are separate per path
    assert http.post(
        "/api/v7/remember", {**EVENT, "query": "?"}, headers={"Idempotency-Key": "k"}
    ).json()["receipts"]
