"""The rate limiter, with a manual clock."""

from __future__ import annotations

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
