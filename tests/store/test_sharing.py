"""Servers sharing a store: named locks and concurrent counters."""

from __future__ import annotations

import pytest
from together import together

from remembrancer.store import Store

ADD = "insert into usage (day, account_id, key_id, kind, count) values (1, 1, 1, 'turn', 1)"
COUNT = (
    f"{ADD} on conflict (day, account_id, key_id, kind) "
    "do update set count = usage.count + 1 returning count"
)


def test_lock_has_one_holder_at_a_time(store: Store) -> None:
    within, most = [0], [0]

    def enter() -> None:
        for _ in range(5):
            with store.lock("blob a", "blob b") as is_ours:
                within[0] += 1
                most[0] = max(most[0], within[0])
                store.read(lambda tx: tx.one_or_none("select 1"))  # the holder uses the store
                within[0] -= 1
            assert is_ours

    together(*[enter] * 6)

    assert most == [1]


def test_lock_without_wait_returns_false_when_taken(store: Store) -> None:
    with store.lock("upkeep", wait=False) as first:
        acquired: list[bool] = []

        def try_lock(name: str) -> None:
            with store.lock(name, wait=False) as is_ours:
                acquired.append(is_ours)

        for name in ("upkeep", "another"):
            together(lambda name=name: try_lock(name))  # type: ignore[misc]

    assert (first, acquired) == (True, [False, True])
    with store.lock("upkeep", wait=False) as again:
        assert again


def test_lock_is_released_after_an_exception(store: Store) -> None:
    with pytest.raises(LookupError), store.lock("blob"):
        raise LookupError
    with store.lock("blob", wait=False) as is_ours:
        assert is_ours


def test_locks_taken_in_any_order_do_not_deadlock(store: Store) -> None:
    finished: list[str] = []

    def take(*names: str) -> None:
        for _ in range(10):
            with store.lock(*names):
                finished.append(names[0])

    together(lambda: take("a", "b"), lambda: take("b", "a"), lambda: take("b", "c", "a"))

    assert len(finished) == 30


def test_waiting_for_a_lock_within_an_action_is_refused(store: Store) -> None:
    def wait(_tx: object) -> None:
        with store.lock("blob"):
            pytest.fail("the lock was taken within an action")

    with pytest.raises(RuntimeError, match="action"):
        store.read(wait)


def test_concurrent_counts_are_unique_and_complete(store: Store) -> None:
    counts: list[int] = []
    together(*[lambda: counts.extend(store.count(COUNT).count for _ in range(20))] * 6)  # type: ignore[union-attr]

    assert sorted(counts) == list(range(1, 121))
