"""Event detail: `GET /api/v7/event/{event_id}`."""

from __future__ import annotations

from service import Http

QUESTION, ANSWER = "Where is the spare key?", "Under the blue flower pot. " * 100


def test_event_detail_has_the_whole_turn(http: Http) -> None:
    """`raw_dialogue` is the whole turn (specification.md#event-detail-response)."""
    event_id = http.remember(QUESTION, ANSWER, topic="home")["event_id"]
    stored = {"user_id": "owner", "session_id": "default", "topic": "home"}
    turn = {"event_id": event_id, "query": QUESTION, "response": ANSWER}

    event = http.get(f"/api/v7/event/{event_id}").json()

    assert (stored | turn).items() <= event.items()
    assert QUESTION in event["raw_dialogue"]
    assert ANSWER in event["raw_dialogue"]


def test_unknown_id_is_404(http: Http) -> None:
    """An unknown id is a 404 (specification.md#event-detail-404)."""
    odd = ["%00", "e_%00", "..", "a" * 257, "'; --", "%F0%9F%A6%94", "%ff", "*", "%25"]
    for event_id in ("e_none", "x", *odd):
        answer = http.get(f"/api/v7/event/{event_id}")
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found"), event_id


def test_event_of_another_account_or_user_is_404(http: Http) -> None:
    """The same 404 as an unknown id; a pinned key reads its user's events.

    See specification.md#event-detail-404, specification.md#event-detail-pinned.
    """
    path = f"/api/v7/event/{http.remember(QUESTION, ANSWER, user_id='ada')['event_id']}"
    ada, bo = (http.as_account("owner", user_id=user_id) for user_id in ("ada", "bo"))
    bob = http.as_account("bob")

    theirs, none = bob.get(path), bob.get("/api/v7/event/e_none")

    assert theirs.status_code == none.status_code == 404
    assert theirs.json() | {"instance": ""} == none.json() | {"instance": ""}
    assert [one.get(path).status_code for one in (ada, bo)] == [200, 404]
