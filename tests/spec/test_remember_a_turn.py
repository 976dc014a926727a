"""Remember a turn: `POST /api/v7/remember`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from service import Http, rows

from remembrancer import testing
from remembrancer.context import Context

TURN = {"query": "When does the ferry leave?", "response": "At 9:40 from Piombino, pier 3."}


def test_saved_turn_is_confirmed_in_the_response(http: Http) -> None:
    """`saved` is true once the turn is durable (specification.md#remember-saved)."""
    answer = http.remember(**TURN)

    assert answer["saved"] is True
    assert http.get(f"/api/v7/event/{answer['event_id']}").json()["response"] == TURN["response"]


def test_default_user_is_the_account_name(http: Http) -> None:
    """The default is the key's pin, else the account's name.

    See specification.md#remember-default-user.
    """
    bob = http.as_account("bob")
    event_id = bob.remember(**TURN)["event_id"]

    assert bob.get(f"/api/v7/event/{event_id}").json()["user_id"] == "bob"
    assert bob.memory("ferry", user_id="bob")["total_hits"] == 1


def test_pinned_key_writes_only_for_its_user(http: Http) -> None:
    """Another `user_id` than the pin is a 403 (specification.md#auth-pinned)."""
    pinned = http.as_account("owner", user_id="ada")
    event_id = pinned.remember(**TURN)["event_id"]
    before = http.rows()

    refused = pinned.post("/api/v7/remember", {**TURN, "user_id": "bob"})

    assert http.get(f"/api/v7/event/{event_id}").json()["user_id"] == "ada"
    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
    assert http.rows() == before


def test_read_only_key_cannot_write(http: Http) -> None:
    """A read-only key is a 403 (specification.md#remember-read-only-key)."""
    before = http.rows()

    for path, body in (
        ("/api/v7/remember", TURN),
        ("/api/v7/event/write", {**TURN, "user_id": "owner"}),
    ):
        assert http.as_account("owner", read_only=True).post(path, body).status_code == 403
    assert http.rows() == before


def test_session_id_defaults_to_default(http: Http) -> None:
    """`session_id` defaults to `default` (specification.md#remember-default-session)."""
    first, second = http.remember(**TURN), http.remember(**TURN, session_id="trip")

    sessions = [
        http.get(f"/api/v7/event/{answer['event_id']}").json()["session_id"]
        for answer in (first, second)
    ]
    assert sessions == ["default", "trip"]


def test_step_is_that_of_the_last_interacting_search(http: Http) -> None:
    """`step` repeats that of the last search (specification.md#remember-step)."""
    step = http.memory("a", session_id="s")["step"]

    assert http.remember(**TURN, session_id="s")["step"] == step


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


@pytest.mark.parametrize("side", ["query", "response"])
def test_query_or_response_can_be_empty(http: Http, side: str) -> None:
    """One side may be empty (specification.md#remember-both-sides)."""
    assert http.remember(**{**TURN, side: ""})["saved"] is True


@pytest.mark.parametrize(
    "text",
    [
        "naïve 計画 🦔",
        "مرحبا بالعالم",
        "a" * 100_000,
        "a\r\nb\tc\u2028d",
        "`\"'\\</script>&amp;",
        " padded ",
    ],
)
def test_text_is_stored_verbatim(http: Http, text: str) -> None:
    """Text is stored word for word (specification.md#remember-verbatim)."""
    event = http.get(f"/api/v7/event/{http.remember(text, text)['event_id']}").json()

    assert (event["query"], event["response"]) == (text, text)


def test_repeated_request_returns_the_first_response(http: Http) -> None:
    """A repeated request returns the first response (specification.md#idempotency-replay)."""
    first = http.post("/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"})
    before = http.rows()
    second = http.post("/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"})

    assert second.json() == first.json()
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert http.rows() == before


def test_idempotency_key_with_another_body_is_409(http: Http) -> None:
    """Another body is a 409 (specification.md#idempotency-conflict)."""
    http.post("/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"})
    before = http.rows()

    answer = http.post(
        "/api/v7/remember", {**TURN, "topic": "other"}, headers={"Idempotency-Key": "turn-1"}
    )

    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert http.rows() == before


def test_idempotency_keys_are_separate_per_api_key(http: Http) -> None:
    """Keys of other API keys are independent (specification.md#idempotency-scope)."""
    first = http.post("/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"})
    second = http.as_account("bob").post(
        "/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"}
    )

    assert second.json()["event_id"] != first.json()["event_id"]


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


class TestRetryExpiry:
    """Expiry of repeated turns and idempotency keys, with a clock that the test moves."""

    @pytest.fixture
    def context(self, folder: Any) -> Any:
        self.now_ms = 1_790_000_000_000
        service = testing.context(folder, clock=lambda: self.now_ms)
        yield service
        service.close()

    def test_identical_turn_after_ten_minutes_is_a_new_one(self, http: Http) -> None:
        """After 10 minutes it is a new turn (specification.md#remember-dedupe)."""
        first = http.remember(**TURN)
        self.now_ms += 10 * 60_000

        assert http.remember(**TURN)["event_id"] != first["event_id"]

    def test_idempotency_key_expires_after_a_day(self, http: Http, context: Context) -> None:
        """An idempotency key expires after 24 hours (specification.md#idempotency-expiry)."""
        first = http.post("/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"})
        self.now_ms += 24 * 3_600_000

        second = http.post("/api/v7/remember", TURN, headers={"Idempotency-Key": "turn-1"})

        assert second.json()["event_id"] != first.json()["event_id"]
        assert rows(context)["answers"] == 1
