"""The rate limiter, with a clock of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.http.rate_limiter import RateExceeded, RateLimiter

SECOND = 1_000_000_000


class Clock:
    """Nanoseconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 10 * SECOND

    def __call__(self) -> int:
        return self.now


def test_a_minutes_worth_may_come_at_once_and_then_no_more() -> None:
    limiter = RateLimiter("memory", 3, Clock())

    left = [limiter.take(1).remaining for _ in range(3)]  # type: ignore[union-attr]

    assert left == [2, 1, 0]
    with pytest.raises(RateExceeded) as refused:
        limiter.take(1)
    assert refused.value.extra == {"retry_after": 20}


def test_the_stated_wait_is_sufficient() -> None:
    clock = Clock()
    limiter = RateLimiter("memory", 3, clock)
    for _ in range(3):
        limiter.take(1)

    clock.now += 20 * SECOND

    assert limiter.take(1) is not None


def test_one_key_does_not_use_up_anothers() -> None:
    limiter = RateLimiter("memory", 1, Clock())
    limiter.take(1)

    assert limiter.take(2) is not None


def test_without_a_limit_nothing_is_counted() -> None:
    limiter = RateLimiter("memory", 0, Clock())

    assert [limiter.take(1) for _ in range(1000)] == [None] * 1000


def test_the_headers_state_the_remaining_requests() -> None:
    allowance = RateLimiter("memory", 60, Clock()).take(1)

    assert allowance is not None
    assert allowance.headers() == {
        "RateLimit-Policy": '"memory";q=60;w=60',
        "RateLimit": '"memory";r=59;t=1',
    }


@given(st.integers(1, 200), st.lists(st.integers(0, 5 * SECOND), max_size=300))
def test_in_no_two_minutes_are_more_than_twice_the_minutes_worth_let_through(
    per_minute: int, waits: list[int]
) -> None:
    clock, passed = Clock(), []
    limiter = RateLimiter("memory", per_minute, clock)
    for wait in waits:
        clock.now += wait
        try:
            limiter.take(1)
        except RateExceeded:
            continue
        passed.append(clock.now)

    assert all(sum(at <= t < at + 60 * SECOND for t in passed) <= 2 * per_minute for at in passed)
