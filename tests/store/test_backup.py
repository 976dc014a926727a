"""Online backup of a SQLite store; PostgreSQL is backed up with its own tools."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from engines import empty_store

from remembrancer.store import Store, StoreUnavailable, Transaction, open_store

ADD = "insert into accounts (name, role, created_ms) values (:name, 'member', :now)"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(empty_store("sqlite", tmp_path), durability="normal")) as opened:
        yield opened


def add(store: Store, name: str) -> int:
    return store.write(lambda tx: tx.run(ADD, name=name, now=1))


def names(store: Store) -> list[str]:
    return [
        row.name for row in store.read(lambda tx: tx.all("select name from accounts order by name"))
    ]


def test_backup_is_a_complete_store_with_all_finished_writes(store: Store, tmp_path: Path) -> None:
    for name in ("ada", "bob"):
        add(store, name)
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "copy.sqlite3"
    store.backup(str(target))
    add(store, "later")

    assert [file.name for file in target.parent.iterdir()] == ["copy.sqlite3"]
    copy = open_store(f"sqlite:{target}")
    assert names(copy) == ["ada", "bob"]
    copy.close()


def test_backup_during_writes_contains_only_whole_transactions(
    store: Store, tmp_path: Path
) -> None:
    def pair(tx: Transaction, n: int) -> None:
        tx.run(ADD, name=f"{n}a", now=n)
        tx.run(ADD, name=f"{n}b", now=n)

    def write_pairs() -> None:
        for n in range(300):
            store.write(partial(pair, n=n))

    writer = threading.Thread(target=write_pairs)
    writer.start()
    for n in range(3):
        store.backup(str(tmp_path / f"{n}.copy"))
    writer.join()

    assert len(names(store)) == 600
    for n in range(3):
        copy = open_store(f"sqlite:{tmp_path / f'{n}.copy'}")
        assert (
            copy.read(
                lambda tx: tx.all(
                    "select created_ms from accounts group by created_ms having count(*) <> 2"
                )
            )
            == []
        )
        copy.close()


def test_backup_never_overwrites_a_file(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.write_text("precious")

    with pytest.raises(FileExistsError):
        store.backup(str(target))
    assert target.read_text() == "precious"


def test_failed_backup_raises_and_leaves_no_files(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="nowhere"):
        store.backup(str(tmp_path / "nowhere" / "copy"))

    assert not (tmp_path / "nowhere").exists()


def test_backup_of_a_closed_store_is_refused(store: Store, tmp_path: Path) -> None:
    store.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        store.backup(str(tmp_path / "copy"))


def test_backup_of_postgresql_refers_to_pg_dump(tmp_path: Path) -> None:
    with (
        closing(open_store(empty_store("postgresql", tmp_path))) as store,
        pytest.raises(StoreUnavailable, match="pg_dump"),
    ):
        store.backup(str(tmp_path / "copy"))
