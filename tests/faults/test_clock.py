"""A wall clock that jumps forth and back: nothing lives for ever, nothing is negative or lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from faults.service import Service

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


@contextmanager
def moved(service: Service, by_ms: int) -> Iterator[None]:
    """Move the server's wall clock within the block."""
    service.shim.move_clock(by_ms)
    try:
        yield
    finally:
        service.shim.move_clock(0)


@pytest.mark.parametrize("by_ms", [30 * DAY_MS, -30 * DAY_MS])
def test_turns_are_stored_and_served_whatever_the_clock_says(
    service: Service, word: str, by_ms: int
) -> None:
    """Also those stored while it was wrong; a retry within its day adds nothing."""
    before = service.remember(f"before{word}", once=f"before{word}")
    with moved(service, by_ms):
        meanwhile = service.remember(word, once=word)
        retry = service.remember(word, once=word)
        searched = service.search(f"before{word}", interact=True, session_id=word)
        old = service.events_with(f"before{word}")
        ready = service.readiness()[0]
    again = service.search(word, interact=True, session_id=word)

    assert (meanwhile.status, retry.status, searched.status, ready) == (200, 200, 200, 200)
    assert retry.headers["idempotent-replayed"] == "true"
    assert old == service.events_with(f"before{word}") == [before.body["event_id"]]
    assert service.events_with(word) == [meanwhile.body["event_id"]]
    assert [searched.body["step"], again.body["step"]] == [1, 2]


def test_grant_ends_by_the_clock_and_is_never_longer_than_its_time(
    service: Service, word: str
) -> None:
    """While the clock is before its beginning, it does not hold: it would last that much longer.

    See specification.md#sysperm-clock.
    """
    grant = {"scope": f"/srv/{word}/", "ttl_minutes": 10, "actions": ["write"], "agent": word}
    assert service.server.post("/api/v7/sysperm/grant", grant, key=service.key).status == 200

    assert _is_allowed(service, word)
    with moved(service, 11 * MINUTE_MS):
        assert not _is_allowed(service, word)
        assert _seconds_left(service, word) == []
    with moved(service, -DAY_MS):
        assert not _is_allowed(service, word)
        assert _seconds_left(service, word) == []
    assert _is_allowed(service, word)


def _is_allowed(service: Service, word: str) -> bool:
    body = {"path": f"/srv/{word}/a", "action": "write", "agent": word}
    return bool(service.server.post("/api/v7/sysperm/check", body, key=service.key).body["allowed"])


def _seconds_left(service: Service, word: str) -> list[int]:
    grants = service.server.get("/api/v7/sysperm/grants", key=service.key).body["grants"]
    return [grant["seconds_left"] for grant in grants if grant["agent"] == word]


def test_rate_limits_count_real_time(service: Service) -> None:
    """They use the monotonic clock: a jump neither frees nor blocks anybody."""
    answers = []
    for by_ms in (0, DAY_MS, -DAY_MS, 0):
        with moved(service, by_ms):
            body = {"path": "/srv/a", "action": "read", "agent": "a"}
            answers.append(service.server.post("/api/v7/sysperm/check", body, key=service.key))

    assert {answer.status for answer in answers} == {200}
    remaining = [
        int(answer.headers["ratelimit"].split("r=")[1].split(";")[0]) for answer in answers
    ]
    assert all(0 <= left < 300 for left in remaining)
    assert remaining[0] - 4 <= remaining[-1] <= remaining[0]


def test_fact_expires_by_the_clock_of_the_moment(service: Service, word: str) -> None:
    """It is served while the clock is before its expiry, and erased once the clock is past it."""
    service.server.post(
        "/api/v7/remember",
        {"query": "q", "response": f"Kept {word}.", "user_id": word},
        key=service.key,
    )
    body = {"user_id": word, "text": f"The door code is {word}.", "expires_at": _in_an_hour()}
    assert service.server.post("/api/v7/memory/facts", body, key=service.key).status == 200

    with moved(service, -DAY_MS):
        assert len(_facts(service, word)) == 1
    assert len(_facts(service, word)) == 1
    with moved(service, 2 * HOUR_MS):
        assert _facts(service, word) == []
    assert _facts(service, word) == []


def _in_an_hour() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()


def _facts(service: Service, word: str) -> list[str]:
    answer = service.server.get(f"/api/v7/memory/facts?user_id={word}", key=service.key)
    assert answer.status == 200, answer.body
    return [fact["text"] for fact in answer.body["facts"]]
