"""Behaviour common to all engines, tested through the Store protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from itertools import product

import apsw
import pytest
from account_rows import ADD, execute, names
from together import together

from remembrancer.store import Pool, Store, StoreTooNew, StoreUnavailable, Transaction, open_store
from remembrancer.store.sqlite.store import READERS_MAX

NAMES = "select name from accounts order by name"
COUNT = "select count(*) as n from accounts"


def add(store: Store, name: str) -> int:
    return store.write(lambda tx: tx.run(ADD, name=name))


def test_writes_are_visible_to_another_store_on_the_same_database(
    opened: Callable[[], Store],
) -> None:
    mine, yours = opened(), opened()
    add(mine, "ada")
    add(yours, "bob")

    assert names(mine) == names(yours) == ["ada", "bob"]


def test_the_last_statement_of_a_write_returns_its_row(store: Store) -> None:
    row = store.write(lambda tx: tx.last(f"{ADD} returning name", name="ada"))

    assert row.name == "ada"
    assert names(store) == ["ada"]
    with pytest.raises(LookupError):
        store.write(lambda tx: tx.last("select name from accounts where name = 'bob'"))


def test_exception_in_an_action_leaves_concurrent_writes_intact(store: Store) -> None:
    """Use many threads, so that good and bad actions share commits."""
    refused: list[str] = []

    def work(thread: int) -> None:
        for n in range(25):
            add(store, f"{thread}.{n}.good")

            def fails(tx: Transaction, name: str = f"{thread}.{n}.bad") -> None:
                tx.run(ADD, name=name)
                raise LookupError(name)

            try:
                store.write(fails)
            except LookupError as error:
                refused.append(str(error))

    together(*(lambda thread=thread: work(thread) for thread in range(8)))

    assert names(store) == sorted(f"{thread}.{n}.good" for thread in range(8) for n in range(25))
    assert sorted(refused) == sorted(f"{thread}.{n}.bad" for thread in range(8) for n in range(25))


def test_concurrent_increments_are_not_lost(store: Store) -> None:
    add(store, "ada")

    def count(tx: Transaction) -> None:
        (now,) = tx.all("select created_ms as n from accounts")
        tx.run("update accounts set created_ms = :n", n=now.n + 1)

    together(*(lambda: [store.write(count) for _ in range(50)] for _ in range(8)))

    assert store.read(lambda tx: tx.one_or_none("select created_ms from accounts")) == (401,)


def test_read_sees_one_snapshot_during_concurrent_writes(store: Store) -> None:
    def twice(tx: Transaction) -> tuple[object, object]:
        before = tx.one_or_none(COUNT)
        writer = threading.Thread(target=add, args=(store, "ada"))
        writer.start()
        writer.join()  # the write is complete: a read does not block it
        return before, tx.one_or_none(COUNT)

    assert store.read(twice) == ((0,), (0,))
    assert names(store) == ["ada"]


def test_reads_and_look_ups_do_not_wait_for_a_running_write(store: Store) -> None:
    """A look-up gives the first row of the newest state."""
    inside, go_on = threading.Event(), threading.Event()
    add(store, "ada")

    def slow(tx: Transaction) -> None:
        tx.run(ADD, name="bob")
        inside.set()
        assert go_on.wait(10)

    writer = threading.Thread(target=lambda: store.write(slow))
    writer.start()
    assert inside.wait(10)
    before = names(store), store.look_up(COUNT)
    go_on.set()
    writer.join()

    assert before == (["ada"], (1,))
    assert (names(store), store.look_up(COUNT)) == (["ada", "bob"], (2,))
    assert store.look_up(NAMES) == ("ada",)
    assert store.look_up("select name from accounts where name = :name", name="eve") is None


def test_more_readers_than_connections_all_succeed(store: Store) -> None:
    add(store, "ada")
    names_read: list[list[str]] = []
    together(*(lambda: names_read.append(names(store)) for _ in range(60)))

    assert names_read == [["ada"]] * 60


def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(StoreUnavailable):
        store.read(lambda tx: tx.run(ADD, name="ada"))

    assert names(store) == []


def test_nested_transactions_are_refused(store: Store) -> None:
    """A nested transaction would wait for itself."""
    for outer, inner in product(("read", "write"), repeat=2):
        nested = getattr(store, inner)
        with pytest.raises(RuntimeError, match="within an action"):
            getattr(store, outer)(lambda _, nested=nested: nested(lambda tx: tx.all(COUNT)))

    add(store, "ada")
    assert names(store) == ["ada"]


def test_transaction_cannot_be_used_after_its_action(store: Store) -> None:
    transactions = [store.write(lambda tx: tx), store.read(lambda tx: tx)]

    for tx in transactions:
        with pytest.raises(RuntimeError, match="over"):
            tx.run(ADD, name="ada")
    assert names(store) == []


def test_foreign_keys_are_enforced(store: Store) -> None:
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        store.write(
            lambda tx: tx.run(
                "insert into spaces (account_id, user_id, created_ms) values (77, 'ada', 1)"
            )
        )

    assert store.read(lambda tx: tx.all("select * from spaces")) == []


def test_action_cannot_end_its_transaction(store: Store) -> None:
    with pytest.raises(StoreUnavailable):
        store.write(lambda tx: tx.run("rollback"))

    add(store, "ada")
    assert names(store) == ["ada"]


def test_connections_stay_usable_after_exceptions_in_actions(store: Store) -> None:
    """More of them than a store has connections."""

    def fails(tx: Transaction) -> None:
        tx.all("select * from accounts")
        raise LookupError

    for use in (store.read, store.write):
        for _ in range(max(READERS_MAX, Pool().connections) + 1):
            with pytest.raises(LookupError):
                use(fails)
    assert names(store) == []


def test_newer_schema_is_refused_with_both_versions(url: str, opened: Callable[[], Store]) -> None:
    store = opened()
    version, is_file = store.schema_version(), url.startswith("sqlite:")
    newer = "pragma user_version = 4711" if is_file else "update store_schema set number = 4711"
    store.close()
    if is_file:
        with closing(apsw.Connection(url.partition(":")[2])) as other:
            other.execute(newer)
    else:
        execute(url, newer)

    with pytest.raises(StoreTooNew, match=rf"schema 4711\b.*\bup to {version}\b"):
        opened()


def test_an_unknown_durability_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="full or normal"):
        open_store(url, durability="off")


def test_every_method_raises_after_close(store: Store) -> None:
    add(store, "ada")
    names(store)
    store.close()
    store.close()

    for use in (
        lambda: add(store, "bob"),
        lambda: names(store),
        lambda: store.look_up(COUNT),
        store.schema_version,
    ):
        with pytest.raises(StoreUnavailable, match="closed"):
            use()


def test_close_finishes_running_writes(opened: Callable[[], Store]) -> None:
    """Each write is either refused or stored, whenever the store is closed."""
    store = opened()
    answered: list[str] = []

    def work(thread: int) -> None:
        for n in range(1000):
            try:
                add(store, f"{thread}.{n}")
            except StoreUnavailable:
                return
            answered.append(f"{thread}.{n}")
            if len(answered) == 100:
                store.close()

    together(*(lambda thread=thread: work(thread) for thread in range(4)))

    assert len(answered) >= 100
    assert names(opened()) == sorted(answered)
