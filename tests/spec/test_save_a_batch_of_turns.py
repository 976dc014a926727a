"""Save a batch of turns: `POST /api/v7/memory/batch`."""

from __future__ import annotations

from typing import Any

import pytest
from http_server.examples import pointers
from service import Http

from remembrancer.protocol import limits

PATH = "/api/v7/memory/batch"
GARLIC = {"query": "How deep do I plant garlic?", "response": "About 5 cm, tip up."}
SAFFRON = {"query": "And saffron?", "response": "Ten centimetres, in August."}
FERRY = {"query": "When does the ferry leave?", "response": "At 9:40 from pier 3."}


def save(http: Http, *turns: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Store a batch; return its receipts."""
    answer = http.post(PATH, {"turns": list(turns), **more})
    assert answer.status_code == 200, answer.text
    assert answer.json()["saved"] is True
    receipts: list[dict[str, Any]] = answer.json()["receipts"]
    return receipts


def event(http: Http, receipt: dict[str, Any]) -> dict[str, Any]:
    """Return the event of a receipt."""
    body: dict[str, Any] = http.get(f"/api/v7/event/{receipt['event_id']}").json()
    return body


def test_every_turn_is_stored_and_has_its_receipt_in_order(http: Http) -> None:
    """One receipt per turn, in the order of the request (specification.md#batch-response)."""
    receipts = save(http, GARLIC, SAFFRON, FERRY, user_id="ada", session_id="garden")

    stored = [event(http, receipt) for receipt in receipts]
    assert [(one["query"], one["response"]) for one in stored] == [
        (one["query"], one["response"]) for one in (GARLIC, SAFFRON, FERRY)
    ]
    assert {(one["user_id"], one["session_id"]) for one in stored} == {("ada", "garden")}
    assert [one["user_id"] for one in receipts] == ["ada"] * 3
    hits = http.memory("saffron depth", user_id="ada")["hits"]
    assert hits[0]["event_id"] == receipts[1]["event_id"]


def test_a_turn_may_name_its_own_user_session_topic_and_times(http: Http) -> None:
    """Each turn has the fields of an event (specification.md#batch-request)."""
    own = {
        "user_id": "bob",
        "session_id": "trip",
        "topic": "travel",
        "occurred_at": "2026-03-01T09:30:00+01:00",
        "expires_at": "2100-01-01T00:00:00Z",
    }
    first, second = save(http, GARLIC, FERRY | own, user_id="ada", session_id="garden")

    stored = event(http, second)
    assert {name: stored[name] for name in ("user_id", "session_id", "topic")} == {
        name: own[name] for name in ("user_id", "session_id", "topic")
    }
    assert (stored["occurred_at"], stored["expires_at"]) == (
        "2026-03-01T08:30:00.000Z",
        "2100-01-01T00:00:00.000Z",
    )
    assert event(http, first)["user_id"] == first["user_id"] == "ada"


def test_a_turn_is_flagged_linked_and_noted_as_an_event_is(http: Http) -> None:
    """The same checks, links and notes as an event (specification.md#batch-like-events)."""
    turns = [
        {"query": "I live in Hamburg.", "response": "Noted."},
        {"query": "I moved, I live in Bremen now.", "response": "Noted."},
        {"query": "The token is ghp_R4nd0mT0k3nV4lu3F0rT3stsOnly12345678.", "response": "Noted."},
    ]
    receipts = save(http, *turns, user_id="ada")
    events = [http.post("/api/v7/event/write", {**turn, "user_id": "bob"}).json() for turn in turns]

    def anonymous(receipt: dict[str, Any], others: list[dict[str, Any]]) -> str | None:
        detail: str | None = receipt.get("detail")
        for number, one in enumerate(others):
            detail = detail and detail.replace(one["event_id"], f"turn {number}")
        return detail

    notes = [anonymous(one, receipts) for one in receipts]
    assert notes == [anonymous(one, events) for one in events]
    assert notes[1] is not None
    assert "turn 0" in notes[1]
    assert "secret" in event(http, receipts[2])["flags"]


def test_a_batch_belongs_to_no_step_and_closes_no_duty(http: Http) -> None:
    """Like imported turns (specification.md#batch-like-events)."""
    session = {"user_id": "ada", "session_id": "garden"}
    http.memory("garlic", **session)
    save(http, GARLIC, SAFFRON, **session)

    after = http.memory("saffron", **session)

    assert after["step"] == 2
    assert "remember" in after["duty_error"]


def test_invalid_turns_refuse_the_batch_and_are_named(http: Http) -> None:
    """All turns or none; `errors` names each fault (specification.md#batch-all-or-none)."""
    past = GARLIC | {"expires_at": "2001-01-01T00:00:00Z"}
    before = http.rows()
    for turn, fault in [
        ({"query": "Tea?"}, "/response"),
        ({"query": 5, "response": "Green."}, "/query"),
        ({"query": " ", "response": ""}, ""),
        (GARLIC | {"occurred_at": "yesterday"}, "/occurred_at"),
        (past, "/expires_at"),
        (GARLIC | {"topic": "t" * (limits.TOPIC_CHARACTERS_MAX + 1)}, "/topic"),
        (GARLIC | {"session_id": ""}, "/session_id"),
    ]:
        for turns, places in (([GARLIC, turn, FERRY], [1]), ([turn, FERRY, turn], [0, 2])):
            answer = http.post(PATH, {"turns": turns})
            assert answer.status_code == 422
            assert pointers(answer) == [f"/turns/{place}{fault}" for place in places]
    assert http.rows() == before


def test_a_turn_of_this_services_own_text_is_named(http: Http) -> None:
    """It is not stored again (specification.md#batch-own-text)."""
    save(http, GARLIC)
    pack = http.get("/api/v7/memory/start").json()["prompt_text"]
    before = http.rows()

    answer = http.post(PATH, {"turns": [FERRY, {"query": pack, "response": " "}]})

    assert answer.status_code == 422
    assert pointers(answer) == ["/turns/1"]
    assert http.rows() == before


def test_the_largest_batch_is_stored(http: Http) -> None:
    """500 turns are stored in one call (specification.md#batch-size)."""
    turns = [
        {"query": f"What is in box {n}?", "response": f"Rope {n}."}
        for n in range(limits.BATCH_TURNS_MAX)
    ]

    receipts = save(http, *turns)

    assert len({one["event_id"] for one in receipts}) == limits.BATCH_TURNS_MAX
    assert http.rows()["events"] == limits.BATCH_TURNS_MAX
    assert event(http, receipts[-1])["query"] == turns[-1]["query"]


def test_a_pinned_key_writes_for_its_user_only(http: Http) -> None:
    """Another user's turn refuses the whole batch (specification.md#batch-like-events)."""
    ada = http.as_account("owner", user_id="ada")
    assert [one["user_id"] for one in save(ada, GARLIC)] == ["ada"]
    before = http.rows()

    answer = ada.post(PATH, {"turns": [GARLIC, FERRY | {"user_id": "bob"}]})

    assert answer.status_code == 403
    assert http.rows() == before


@pytest.mark.settings(rate_memory_per_minute=6)
def test_each_turn_counts_as_a_request(http: Http) -> None:
    """A batch that the limit does not permit stores nothing (specification.md#batch-rate).

    One above the limit of a minute counts as a minute; otherwise it could never be sent.
    """
    first = http.post(PATH, {"turns": [GARLIC] * 4})
    second = http.post(PATH, {"turns": [GARLIC] * 3})
    other = http.as_account("owner")

    assert (first.status_code, second.status_code) == (200, 429)
    assert ";r=2;" in first.headers["ratelimit"]
    assert int(second.headers["retry-after"]) > 0
    assert http.rows()["events"] == 4
    assert len(save(other, *[GARLIC] * 10)) == 10
    assert other.post(PATH, {"turns": [GARLIC]}).status_code == 429
