"""Copies of a SQLite store that is in use: `snapshot.copy_file`, from which backups are made."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from account_rows import ADD, names

from remembrancer.store import Store, StoreUnavailable, Transaction, open_store
from remembrancer.store.sqlite.store import copy_file

PAIR = "insert into accounts (name, role, created_ms) values (:name, 'member', :now)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:{path}", durability="normal")) as opened:
        yield opened


def add(store: Store, name: str) -> int:
    return store.write(lambda tx: tx.run(ADD, name=name))


def test_copy_is_a_complete_store_with_all_finished_writes(
    store: Store, path: Path, tmp_path: Path
) -> None:
    for name in ("ada", "bob"):
        add(store, name)
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "copy.sqlite3"
    copy_file(path, target)
    add(store, "later")

    assert [file.name for file in target.parent.iterdir()] == ["copy.sqlite3"]
    with closing(open_store(f"sqlite:{target}")) as copy:
        assert names(copy) == ["ada", "bob"]


def test_copy_during_writes_contains_only_whole_transactions(
    store: Store, path: Path, tmp_path: Path
) -> None:
    def pair(tx: Transaction, n: int) -> None:
        tx.run(PAIR, name=f"{n}a", now=n)
        tx.run(PAIR, name=f"{n}b", now=n)

    def write_pairs() -> None:
        for n in range(300):
            store.write(partial(pair, n=n))

    writer = threading.Thread(target=write_pairs)
    writer.start()
    for n in range(3):
        copy_file(path, tmp_path / f"{n}.copy")
    writer.join()

    halves = "select created_ms from accounts group by created_ms having count(*) <> 2"
    assert len(names(store)) == 600
    for n in range(3):
        with closing(open_store(f"sqlite:{tmp_path / f'{n}.copy'}")) as copy:
            assert copy.read(lambda tx: tx.all(halves)) == []


def test_copy_never_overwrites_a_file(store: Store, path: Path, tmp_path: Path) -> None:
    add(store, "ada")
    (tmp_path / "copy").write_text("precious")

    with pytest.raises(StoreUnavailable, match="exists"):
        copy_file(path, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "precious"
