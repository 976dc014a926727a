"""The promises of every engine, checked through the Store protocol alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from remembrancer.settings import SettingInvalid
from remembrancer.store import Store, StoreUnavailable, Transaction, open_store

ADD = "insert into accounts (name, role, created_ms) values (:name, 'member', :now)"
NAMES = "select name from accounts order by name"
COUNT = "select count(*) as n from accounts"


def add(store: Store, name: str) -> int:
    return store.write(lambda tx: tx.run(ADD, name=name, now=1))


def names(store: Store) -> list[str]:
    return [row.name for row in store.read(lambda tx: tx.all(NAMES))]


def test_a_write_that_was_answered_is_in_the_very_next_read(store: Store) -> None:
    for n in range(20):
        add(store, f"{n:02}")

        assert names(store)[-1] == f"{n:02}"


def test_a_write_is_seen_by_another_store_on_the_same_rows(opened: Callable[[], Store]) -> None:
    mine, yours = opened(), opened()
    add(mine, "ada")
    add(yours, "bob")

    assert names(mine) == names(yours) == ["ada", "bob"]


def test_written_rows_are_present_after_reopening(opened: Callable[[], Store]) -> None:
    first = opened()
    add(first, "ada")
    first.close()

    assert names(opened()) == ["ada"]


def test_a_write_returns_the_result_of_its_action(store: Store) -> None:
    row = store.write(lambda tx: tx.one_or_none(ADD + " returning id, name", name="ada", now=1))

    assert row == store.read(lambda tx: tx.one_or_none("select id, name from accounts"))
    assert row is not None


def test_the_row_that_must_be_there_is_given_and_its_absence_is_an_error(store: Store) -> None:
    add(store, "ada")

    assert store.read(lambda tx: tx.one(NAMES)).name == "ada"
    with pytest.raises(LookupError, match="the query returned no row: select name"):
        store.read(lambda tx: tx.one("select name from accounts where name = :name", name="bob"))


def test_a_write_whose_row_is_not_there_leaves_nothing(store: Store) -> None:
    def changes(tx: Transaction) -> None:
        tx.run(ADD, name="ada", now=1)
        tx.one("select 1 from keys")

    with pytest.raises(LookupError):
        store.write(changes)

    assert names(store) == []


def test_an_action_that_raises_leaves_nothing_and_raises_at_its_caller(store: Store) -> None:
    def fails(tx: Transaction) -> None:
        tx.run(ADD, name="ada", now=1)
        raise LookupError("changed my mind")

    with pytest.raises(LookupError, match="changed my mind"):
        store.write(fails)

    assert names(store) == []


def test_an_action_that_raises_does_not_undo_its_neighbours(store: Store) -> None:
    """Many threads at once, so that good and bad actions share commits."""
    refused: list[str] = []

    def work(thread: int) -> None:
        for n in range(25):
            add(store, f"{thread}.{n}.good")

            def fails(tx: Transaction, name: str = f"{thread}.{n}.bad") -> None:
                tx.run(ADD, name=name, now=1)
                raise LookupError(name)

            try:
                store.write(fails)
            except LookupError as error:
                refused.append(str(error))

    together(*(lambda thread=thread: work(thread) for thread in range(8)))

    assert names(store) == sorted(f"{thread}.{n}.good" for thread in range(8) for n in range(25))
    assert sorted(refused) == sorted(f"{thread}.{n}.bad" for thread in range(8) for n in range(25))


def test_writes_of_many_threads_never_lose_a_count(store: Store) -> None:
    add(store, "ada")

    def count(tx: Transaction) -> None:
        (now,) = tx.all("select created_ms as n from accounts")
        tx.run("update accounts set created_ms = :n", n=now.n + 1)

    together(*(lambda: [store.write(count) for _ in range(50)] for _ in range(8)))

    assert store.read(lambda tx: tx.one_or_none("select created_ms from accounts")) == (401,)


def test_a_read_sees_one_snapshot_while_others_write(store: Store) -> None:
    def twice(tx: Transaction) -> tuple[object, object]:
        before = tx.one_or_none(COUNT)
        writer = threading.Thread(target=add, args=(store, "ada"))
        writer.start()
        writer.join()  # the write is done: a reader neither hides nor holds it up
        return before, tx.one_or_none(COUNT)

    assert store.read(twice) == ((0,), (0,))
    assert names(store) == ["ada"]


def test_a_read_does_not_wait_for_a_write_under_way(store: Store) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        tx.run(ADD, name="slow", now=1)
        inside.set()
        assert go_on.wait(10)

    writer = threading.Thread(target=lambda: store.write(slow))
    writer.start()
    assert inside.wait(10)
    names_read = names(store)
    go_on.set()
    writer.join()

    assert names_read == []
    assert names(store) == ["slow"]


def test_more_readers_than_connections_all_get_their_turn(store: Store) -> None:
    add(store, "ada")
    names_read: list[list[str]] = []
    together(*(lambda: names_read.append(names(store)) for _ in range(60)))

    assert names_read == [["ada"]] * 60


def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(StoreUnavailable):
        store.read(lambda tx: tx.run(ADD, name="ada", now=1))

    assert names(store) == []


@pytest.mark.parametrize(
    ("outer", "inner"), [("write", "write"), ("write", "read"), ("read", "write"), ("read", "read")]
)
def test_a_transaction_within_a_transaction_is_refused_at_once(
    store: Store, outer: str, inner: str
) -> None:
    """It would otherwise wait for itself."""
    with pytest.raises(RuntimeError, match="within an action"):
        getattr(store, outer)(lambda _: getattr(store, inner)(lambda tx: tx.one_or_none(COUNT)))

    add(store, "ada")
    assert names(store) == ["ada"]


def test_a_transaction_kept_after_its_action_is_refused(store: Store) -> None:
    transactions = [store.write(lambda tx: tx), store.read(lambda tx: tx)]

    for tx in transactions:
        with pytest.raises(RuntimeError, match="over"):
            tx.run(ADD, name="ada", now=1)
    assert names(store) == []


COLUMNS = {
    type(None): "bigint",
    int: "bigint",
    float: "double precision",
    str: "text",
    bytes: "bytea",
}


@pytest.mark.parametrize(
    "value",
    [None, 0, -(2**63), 2**63 - 1, 0.5, "", "naïve 東京 🦉 ' ; --", b"", b"\x00\xff" * 1000],
)
def test_a_value_comes_back_as_it_went(store: Store, value: Any) -> None:
    def keep(tx: Transaction) -> None:
        tx.run(f"create table anything (value {COLUMNS[type(value)]})")
        tx.run("insert into anything values (:value)", value=value)

    store.write(keep)
    back = store.read(lambda tx: tx.all("select value from anything"))[0].value

    assert (back, type(back)) == (value, type(value))


def test_rows_are_tuples_with_names_in_the_order_of_the_query(store: Store) -> None:
    add(store, "ada")
    row = store.read(lambda tx: tx.one_or_none("select created_ms, name from accounts"))

    assert row == (1, "ada")
    assert (row.name, row.created_ms) == ("ada", 1)


def test_columns_without_a_usable_name_are_still_there(store: Store) -> None:
    row = store.read(
        lambda tx: tx.one_or_none(
            'select 1 as "class", 2 as "a b", count(*), 4 as twice, '
            "5 as twice, 6 as good from accounts"
        )
    )

    assert row == (1, 2, 0, 4, 5, 6)
    assert row.good == 6


def test_no_row_is_none_and_an_empty_list(store: Store) -> None:
    assert store.read(lambda tx: tx.one_or_none(NAMES)) is None
    assert store.read(lambda tx: tx.all(NAMES)) == []


def test_run_gives_the_number_of_rows_its_statement_changed(store: Store) -> None:
    def act(tx: Transaction) -> list[int]:
        return [
            tx.run(ADD, name="ada", now=1),
            tx.run(ADD, name="bob", now=2),
            tx.run("update accounts set created_ms = 3"),
            tx.run("create table other (a integer)"),
            tx.run("select 1"),
            tx.run("update accounts set created_ms = 3 where name = 'nobody'"),
            tx.run("delete from accounts where name = 'ada'"),
        ]

    assert store.write(act) == [1, 1, 2, 0, 0, 0, 1]


def test_one_row_of_many_does_not_hold_up_the_commit(store: Store) -> None:
    for name in ("ada", "bob", "cyd"):
        add(store, name)

    def act(tx: Transaction) -> str:
        first = tx.one_or_none("update accounts set role = 'owner' returning name")
        tx.one_or_none(NAMES)
        return "".join(first or ())

    assert store.write(act) in ("ada", "bob", "cyd")
    assert store.read(
        lambda tx: tx.one_or_none("select count(*) from accounts where role = 'owner'")
    ) == (3,)


def test_a_reference_to_nothing_is_refused(store: Store) -> None:
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        store.write(
            lambda tx: tx.run(
                "insert into spaces (account_id, user_id, created_ms) values (77, 'ada', 1)"
            )
        )

    assert store.read(lambda tx: tx.all("select * from spaces")) == []


def test_a_forgotten_value_is_a_mistake_not_null(store: Store) -> None:
    with pytest.raises(KeyError):
        store.write(lambda tx: tx.run(ADD, name="ada"))


def test_after_close_everything_says_that_the_store_is_closed(store: Store) -> None:
    add(store, "ada")
    names(store)
    store.close()
    store.close()

    for use in (lambda: add(store, "bob"), lambda: names(store), store.schema_version):
        with pytest.raises(StoreUnavailable, match="closed"):
            use()


def test_close_finishes_the_writes_under_way(opened: Callable[[], Store]) -> None:
    """A write is either refused or there afterwards, whenever the close comes."""
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


@pytest.mark.parametrize("url", ["", "sqlite", "sqlite:", "mysql:somewhere"])
def test_an_unknown_engine_is_named(url: str) -> None:
    with pytest.raises(SettingInvalid, match="sqlite:PATH"):
        open_store(url)


def together(*acts: Callable[[], object]) -> None:
    """Run all at the same time; an error of any is raised here."""
    errors: list[BaseException] = []

    def guarded(act: Callable[[], object]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  raised again below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
