"""Servers that share a store.

One server holds a name at a time, and many change one counter at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from remembrancer.store import Store, StoreUnavailable

ADD = "insert into usage (day, account_id, key_id, kind, count) values (1, 1, 1, 'turn', 1)"
COUNT = (
    f"{ADD} on conflict (day, account_id, key_id, kind) "
    "do update set count = usage.count + 1 returning count"
)


def at_once(*works: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_one_of_many_is_in_a_block_of_a_name_at_a_time(store: Store) -> None:
    within, most = [0], [0]

    def enter() -> None:
        for _ in range(5):
            with store.lock("blob a", "blob b") as is_ours:
                within[0] += 1
                most[0] = max(most[0], within[0])
                store.read(lambda tx: tx.one_or_none("select 1"))  # who is in works with the store
                within[0] -= 1
            assert is_ours

    at_once(*[enter] * 6)

    assert most == [1]


def test_a_caller_that_does_not_wait_gets_a_refusal(store: Store) -> None:
    with store.lock("upkeep", wait=False) as first:
        outcomes: list[bool] = []

        def try_it(name: str) -> None:
            with store.lock(name, wait=False) as is_ours:
                outcomes.append(is_ours)

        for name in ("upkeep", "another"):
            at_once(lambda name=name: try_it(name))  # type: ignore[misc]

    assert (first, outcomes) == (True, [False, True])
    with store.lock("upkeep", wait=False) as again:
        assert again


def test_a_name_is_let_go_of_when_its_block_fails(store: Store) -> None:
    with pytest.raises(LookupError), store.lock("blob"):
        raise LookupError
    with store.lock("blob", wait=False) as is_ours:
        assert is_ours


def test_names_in_any_order_make_nobody_wait_for_ever(store: Store) -> None:
    finished: list[str] = []

    def take(*names: str) -> None:
        for _ in range(10):
            with store.lock(*names):
                finished.append(names[0])

    at_once(lambda: take("a", "b"), lambda: take("b", "a"), lambda: take("b", "c", "a"))

    assert len(finished) == 30


def test_a_name_is_not_to_be_waited_for_within_an_action(store: Store) -> None:
    def wait(_tx: object) -> None:
        with store.lock("blob"):
            pytest.fail("it was entered")

    with pytest.raises(RuntimeError, match="action"):
        store.read(wait)


def test_no_count_of_many_at_once_is_lost_or_given_twice(store: Store) -> None:
    counts: list[int] = []
    at_once(*[lambda: counts.extend(store.count(COUNT).count for _ in range(20))] * 6)  # type: ignore[union-attr]

    assert sorted(counts) == list(range(1, 121))


def test_a_count_that_changes_nothing_gives_no_row(store: Store) -> None:
    assert store.count("update usage set count = 0 returning count") is None


def test_after_close_neither_works(store: Store) -> None:
    store.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        store.count(COUNT)
