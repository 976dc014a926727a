"""Save an event: `POST /api/v7/event/write`."""

from __future__ import annotations

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
    """For the named user, with session and topic (specification.md#event-write-request)."""
    event_id = save(http, session_id="house", topic="home")
    event = http.get(f"/api/v7/event/{event_id}").json()

    assert (event["session_id"], event["topic"]) == ("house", "home")
    assert http.memory("spare key", user_id="ada")["hits"][0]["event_id"] == event_id
    assert http.memory("spare key", user_id="owner")["hits"] == []
