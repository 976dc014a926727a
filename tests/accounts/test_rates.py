"""Rate limits that several servers share through one PostgreSQL database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial

import pytest
from engines import server
from hypothesis import given
from hypothesis import strategies as st
from together import together

from remembrancer.accounts.rate_limits import RateCount, count_call, forget_idle
from remembrancer.http import admission
from remembrancer.http.admission import RateExceeded, RateLimiter
from remembrancer.store import Store, open_store

SERVERS, MINUTE_US = 3, 60_000_000


@pytest.fixture
def stores() -> Iterator[list[Store]]:
    """One store, opened once per server."""
    url = server().schema()
    with ExitStack() as opened:
        yield [
            opened.enter_context(closing(open_store(url, durability="normal")))
            for _ in range(SERVERS)
        ]


def test_large_limits_are_counted_in_lots(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a search does not cost every server a write. See specification.md#rate-lots."""
    counted: list[int] = []

    def count(store: Store, kind: str, who: str, *, every_us: int) -> RateCount:
        counted.append(every_us)
        return count_call(store, kind, who, every_us=every_us)

    monkeypatch.setattr(admission, "count_call", count)
    limiters = [RateLimiter("memory", 1_000, store=store) for store in stores[:2]]
    remaining = []
    for _ in range(10):
        for limiter in limiters:
            allowance = limiter.take("ada")
            assert allowance is not None
            remaining.append(allowance.remaining)

    assert counted == [10 * MINUTE_US // 1_000] * 2
    assert min(remaining) >= 1_000 - 20
    limiters[0].take("ada")
    assert len(counted) == 3


def rows(store: Store) -> list[object]:
    return store.read(lambda tx: tx.all("select who from rates order by who"))


def test_concurrent_servers_share_one_rate_limit(stores: list[Store]) -> None:
    """The limit is that of one server: 15 at once, and one more every four seconds."""
    limiters = [RateLimiter("chat", 15, store=store) for store in stores]
    at_once, allowed, refused = threading.Barrier(SERVERS), [0] * SERVERS, [0] * SERVERS

    def hammer(which: int) -> None:
        at_once.wait(20)
        for _ in range(20):
            try:
                limiters[which].take("ada")
                allowed[which] += 1
            except RateExceeded:
                refused[which] += 1

    together(*(partial(hammer, which) for which in range(SERVERS)))

    assert sum(allowed) + sum(refused) == 60
    # up to 5 more if this machine is so busy that the calls take 20 seconds
    assert 15 <= sum(allowed) <= 15 + 5


def test_rejected_call_gets_a_wait_and_uses_no_quota(stores: list[Store]) -> None:
    first, second, third = (
        count_call(store, "chat", "ada", every_us=MINUTE_US // 2) for store in stores
    )
    again = count_call(stores[0], "chat", "ada", every_us=MINUTE_US // 2)

    assert [first.is_allowed, second.is_allowed, third.is_allowed, again.is_allowed] == [
        True,
        True,
        False,
        False,
    ]
    assert second.owed_us > first.owed_us
    assert again.owed_us <= third.owed_us <= MINUTE_US


def test_forget_idle_deletes_only_fully_replenished_callers(stores: list[Store]) -> None:
    count_call(stores[0], "chat", "ada", every_us=MINUTE_US)
    stores[0].write(
        lambda tx: tx.run("insert into rates (kind, who, free_us) values ('chat', 'long ago', 1)")
    )

    forget_idle(stores[1])

    assert rows(stores[2]) == [("ada",)]


def test_limiter_counts_locally_when_the_store_is_unavailable(stores: list[Store]) -> None:
    limiter = RateLimiter("chat", 2, store=stores[0])
    stores[0].close()

    assert [limiter.take("ada").remaining for _ in range(2)] == [1, 0]  # type: ignore[union-attr]
    with pytest.raises(RateExceeded):
        limiter.take("ada")


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
