"""Remember a turn: `POST /api/v7/remember`."""

from __future__ import annotations

from datetime import UTC, datetime

from service import Http

from remembrancer import testing

TURN = {"query": "When does the ferry leave?", "response": "At 9:40 from Piombino, pier 3."}


def test_saved_turn_is_confirmed_in_the_response(http: Http) -> None:
    """`saved` once durable; `step` is the last search's; the session is `default`.

    See specification.md#remember-saved, specification.md#remember-step,
    specification.md#remember-default-session.
    """
    step = http.memory("a", session_id="trip")["step"]
    answers = [http.remember(**TURN), http.remember(**TURN, session_id="trip")]
    events = [http.get(f"/api/v7/event/{answer['event_id']}").json() for answer in answers]

    assert [(answer["saved"], answer["step"]) for answer in answers] == [(True, 0), (True, step)]
    assert [event["response"] for event in events] == [TURN["response"]] * 2
    assert [event["session_id"] for event in events] == ["default", "trip"]


def test_default_user_is_the_pin_or_the_account_name(http: Http) -> None:
    """See specification.md#remember-default-user."""
    clients = (http.as_account("bob"), http.as_account("owner", user_id="ada"))
    events = [
        one.get(f"/api/v7/event/{one.remember(**TURN)['event_id']}").json() for one in clients
    ]

    assert [event["user_id"] for event in events] == ["bob", "ada"]
    assert clients[0].memory("ferry", user_id="bob")["total_hits"] == 1


def test_occurred_at_can_lie_in_the_past(http: Http) -> None:
    """`occurred_at` may lie in the past (specification.md#remember-occurred-at)."""
    body, now = (
        http.remember(**TURN, occurred_at="2019-07-04T23:30:00+02:00"),
        http.remember(**TURN),
    )

    events = [http.get(f"/api/v7/event/{answer['event_id']}").json() for answer in (body, now)]
    assert datetime.fromisoformat(events[0]["occurred_at"]) == datetime(
        2019, 7, 4, 21, 30, tzinfo=UTC
    )
    assert events[0]["occurred_at"].endswith("Z")
    assert events[0]["created_at"] == events[1]["occurred_at"] == events[1]["created_at"]


def test_query_or_response_can_be_empty(http: Http) -> None:
    """One side may be empty (specification.md#remember-both-sides)."""
    assert [http.remember(**{**TURN, side: ""})["saved"] for side in TURN] == [True, True]


def test_text_is_stored_verbatim(http: Http) -> None:
    """Text is stored word for word (specification.md#remember-verbatim)."""
    for text in (
        *("naïve 計画 🦔", "مرحبا بالعالم", "a" * 100_000, "a\r\nb\tc\u2028d"),
        *("`\"'\\</script>&amp;", " padded "),
    ):
        event = http.get(f"/api/v7/event/{http.remember(text, text)['event_id']}").json()
        assert (event["query"], event["response"]) == (text, text)


def test_idempotency_keys_are_separate_per_api_key_and_path(http: Http) -> None:
    """Keys of other API keys are independent (specification.md#idempotency-scope)."""
    once = {"Idempotency-Key": "turn-1"}
    body = {**TURN, "user_id": "owner"}
    answers = [
        http.post("/api/v7/remember", body, headers=once).json(),
        http.as_account("bob").post("/api/v7/remember", body, headers=once).json(),
        http.post("/api/v7/event/write", {**body, "query": "And back?"}, headers=once).json(),
    ]

    assert len({answer["event_id"] for answer in answers}) == 3


def test_repeated_identical_turn_is_stored_once(http: Http) -> None:
    """An identical turn within 10 minutes is a retry (specification.md#remember-dedupe)."""
    first = http.remember(**TURN)
    before = http.rows()
    again, other = http.remember(**TURN), http.remember(**TURN, session_id="other")

    assert again["event_id"] == first["event_id"]
    assert [receipt["outcome"] for receipt in (*first["receipts"], *again["receipts"])] == [
        "stored",
        "known",
    ]
    assert again["saved"] is True
    assert other["event_id"] != first["event_id"]
    assert http.rows()["events"] == before["events"] + 1


def test_identical_turn_after_ten_minutes_is_a_new_one(
    http: Http, clock: testing.FrozenClock
) -> None:
    """After 10 minutes it is a new turn (specification.md#remember-dedupe)."""
    first = http.remember(**TURN)
    clock.advance(10 * 60_000)

    assert http.remember(**TURN)["event_id"] != first["event_id"]


def test_idempotency_key_expires_after_a_day(http: Http, clock: testing.FrozenClock) -> None:
    """An idempotency key expires after 24 hours (specification.md#idempotency-expiry)."""
    first = http.post("/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"})
    clock.advance(24 * 3_600_000)

    second = http.post("/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"})

    assert second.json()["event_id"] != first.json()["event_id"]
    assert http.rows()["answers"] == 1
