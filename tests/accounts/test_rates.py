"""Limits that many servers count together, each with its own connections to one PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from engines import server

from remembrancer.accounts.rate_limits import count_call, forget_idle
from remembrancer.http.rate_limiter import RateExceeded, RateLimiter
from remembrancer.store import Store, open_store

SERVERS, MINUTE_US = 3, 60_000_000


@pytest.fixture
def stores() -> Iterator[list[Store]]:
    """One store, opened as so many servers do."""
    url = server().schema()
    with ExitStack() as opened:
        yield [
            opened.enter_context(closing(open_store(url, durability="normal")))
            for _ in range(SERVERS)
        ]


def rows(store: Store) -> list[object]:
    return store.read(lambda tx: tx.all("select who from rates order by who"))


def test_calls_at_all_servers_at_once_are_let_through_as_if_they_came_to_one(
    stores: list[Store],
) -> None:
    """The bound is that of one server:

    a minute's worth at once; one flows back in four seconds, and 60 calls take less.
    """
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

    threads = [threading.Thread(target=hammer, args=(which,)) for which in range(SERVERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(allowed) + sum(refused) == 60
    # 5: should this machine be so busy that it takes 20 seconds
    assert 15 <= sum(allowed) <= 15 + 5


def test_who_is_refused_is_told_how_long_and_uses_nothing_up(stores: list[Store]) -> None:
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


def test_one_caller_or_kind_does_not_use_up_anothers(stores: list[Store]) -> None:
    calls = [("chat", "ada"), ("chat", "bob"), ("feedback", "ada")]

    assert all(
        count_call(stores[0], kind, who, every_us=MINUTE_US).is_allowed for kind, who in calls
    )


def test_those_who_have_all_of_it_back_are_forgotten_and_no_others(stores: list[Store]) -> None:
    count_call(stores[0], "chat", "ada", every_us=MINUTE_US)
    stores[0].write(
        lambda tx: tx.run("insert into rates (kind, who, free_us) values ('chat', 'long ago', 1)")
    )

    forget_idle(stores[1])

    assert rows(stores[2]) == [("ada",)]


def test_a_store_that_is_away_stops_no_limiter_it_counts_by_itself(stores: list[Store]) -> None:
    limiter = RateLimiter("chat", 2, store=stores[0])
    stores[0].close()

    assert [limiter.take("ada").remaining for _ in range(2)] == [1, 0]  # type: ignore[union-attr]
    with pytest.raises(RateExceeded):
        limiter.take("ada")


def test_the_one_server_of_a_sqlite_file_writes_nothing_for_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with closing(open_store(f"sqlite:{tmp_path_factory.mktemp('one') / 'store.sqlite3'}")) as store:
        RateLimiter("chat", 2, store=store).take("ada")

        assert rows(store) == []
