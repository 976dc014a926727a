"""The rate limiter, with a manual clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.http.admission import RateExceeded, RateLimiter

SECOND = 1_000_000_000


class Clock:
    """A clock in nanoseconds that the test moves."""

    def __init__(self) -> None:
        self.now = 10 * SECOND

    def __call__(self) -> int:
        return self.now


def test_burst_up_to_the_limit_is_allowed_then_rejected() -> None:
    limiter = RateLimiter("memory", 3, Clock())

    left = [limiter.take(1).remaining for _ in range(3)]  # type: ignore[union-attr]

    assert left == [2, 1, 0]
    with pytest.raises(RateExceeded) as refused:
        limiter.take(1)
    assert refused.value.extra == {"retry_after": 20}


def test_request_after_retry_after_is_allowed() -> None:
    clock = Clock()
    limiter = RateLimiter("memory", 3, clock)
    for _ in range(3):
        limiter.take(1)

    clock.now += 20 * SECOND

    assert limiter.take(1) is not None


@given(st.integers(1, 200), st.lists(st.integers(0, 5 * SECOND), max_size=300))
def test_rate_limit_allows_at_most_twice_the_limit_in_any_minute(
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
