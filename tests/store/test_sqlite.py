"""Behaviour specific to SQLite: file, pragmas, failures, and copies of a store in use."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest
from account_rows import ADD, log_reader, names
from command import captured
from waiting import wait_until

from remembrancer.store import Store, StoreUnavailable, Transaction, open_store
from remembrancer.store.sqlite.store import SqliteStore, copy_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as opened:
        yield opened


def test_database_files_are_readable_by_the_owner_only(store: SqliteStore, path: Path) -> None:
    store.write(lambda tx: tx.run(ADD, name="ada"))

    files = path.parent.glob(path.name + "*")
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def await_waiting(store: SqliteStore, writes: int) -> None:
    """Wait until that many writes are queued behind the busy writer."""
    wait_until(lambda: len(store._writer._queue) >= writes)


def has_word(path: Path) -> bool:
    """Return True if the store's files have the name of the account that `erase_word` erases."""
    return any(b"xylophone" in file.read_bytes() for file in path.parent.glob(path.name + "*"))


def erase_word(store: SqliteStore) -> None:
    """Add an account with a name, and give it another one."""
    store.write(lambda tx: tx.run(ADD, name="xylophone"))
    store.write(lambda tx: tx.run("update accounts set name = '-' where name = 'xylophone'"))


def test_overwritten_words_leave_the_log_once_nobody_reads_it(
    store: SqliteStore, path: Path
) -> None:
    """Nothing else is written (specification.md#forget-no-trace)."""
    with closing(log_reader(path)):
        erase_word(store)
        due = store._writer._log_due or 0
        wait_until(lambda: (store._writer._log_due or 0) > due)  # it was tried in vain
        assert has_word(path)

    wait_until(lambda: not has_word(path))


def test_log_of_a_killed_process_is_emptied_at_the_next_start(path: Path) -> None:
    """Nothing is written after the start (specification.md#forget-no-trace)."""
    program = (
        "import os; from remembrancer.store.sqlite.store import SqliteStore as Store\n"
        f"store, add = Store({str(path)!r}), {ADD!r}\n"
        "store.write(lambda tx: tx.run(add, name='xylophone'))\n"
        "store.write(lambda tx: tx.run('delete from accounts'))\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert has_word(path)

    with closing(SqliteStore(path)):
        wait_until(lambda: not has_word(path))


def test_log_is_emptied_by_a_process_that_ends_beside_another(
    store: SqliteStore, path: Path
) -> None:
    """The other one writes nothing (specification.md#forget-no-trace)."""
    with closing(SqliteStore(path)) as command:
        erase_word(command)

    assert not has_word(path)


def test_failed_group_commit_rolls_back_all_its_writes(store: SqliteStore) -> None:
    """A deferred foreign key makes a real commit fail."""
    inside, go_on, errors = threading.Event(), threading.Event(), []

    def breaks_late(tx: Transaction) -> None:
        tx.run("pragma defer_foreign_keys = on")
        tx.run("insert into spaces (account_id, user_id, created_ms) values (77, 'ada', 1)")
        inside.set()
        assert go_on.wait(10)

    def attempt(action: object) -> None:
        try:
            store.write(action)  # type: ignore[arg-type]
        except StoreUnavailable as error:
            errors.append(error)

    threads = [threading.Thread(target=attempt, args=(breaks_late,))]
    threads[0].start()
    assert inside.wait(10)
    threads += [
        threading.Thread(target=attempt, args=(lambda tx, n=n: tx.run(ADD, name=f"{n}"),))
        for n in range(5)
    ]
    for thread in threads[1:]:
        thread.start()
    await_waiting(store, 5)
    go_on.set()
    for thread in threads:
        thread.join()

    assert len(errors) == len(set(map(id, errors))) == 6
    assert all(isinstance(error.__cause__, apsw.ConstraintError) for error in errors)
    assert names(store) == []
    store.write(lambda tx: tx.run(ADD, name="after"))
    assert names(store) == ["after"]


def test_full_disk_fails_a_write_and_a_smaller_one_succeeds(store: SqliteStore) -> None:
    store.write(lambda tx: tx.all("pragma max_page_count = 60"))  # the same error as a full disk

    def too_much(tx: Transaction) -> None:
        tx.run(ADD, name="before")
        tx.run("insert into embedders (name) values (:name)", name="x" * 1_000_000)

    with pytest.raises(StoreUnavailable, match="full") as refused:
        store.write(too_much)
    assert isinstance(refused.value.__cause__, apsw.FullError)
    assert names(store) == []
    store.write(lambda tx: tx.run(ADD, name="after"))
    assert names(store) == ["after"]


def test_action_that_swallows_a_full_disk_is_rolled_back(store: SqliteStore) -> None:
    """SQLite has rolled back by then; a later statement must not be committed alone."""
    store.write(lambda tx: tx.all("pragma max_page_count = 60"))

    def stubborn(tx: Transaction) -> None:
        with pytest.raises(StoreUnavailable):
            tx.run("insert into embedders (name) values (:name)", name="x" * 1_000_000)
        tx.run(ADD, name="on its own")

    with pytest.raises(StoreUnavailable):
        store.write(stubborn)
    assert names(store) == []


def test_disk_error_fails_a_write_and_the_writer_continues(path: Path) -> None:
    """Use a child process whose file size limit makes a real write fail."""
    program = f"""
import resource
from remembrancer.store import StoreUnavailable
from remembrancer.store.sqlite.store import SqliteStore

store = SqliteStore({str(path)!r})
add = lambda name: store.write(lambda tx: tx.run("insert into embedders (name) values (:name)", name=name))
add("before")
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, most))
try:
    add("x" * 1_000_000)
except StoreUnavailable as error:
    print(type(error.__cause__).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
add("after")
print([row.name for row in store.read(lambda tx: tx.all("select name from embedders order by id"))])
store.close()
"""
    process = captured([sys.executable, "-c", program], check=True, timeout=60)

    assert process.stdout.splitlines() == ["IOError", "['before', 'after']"]


def test_write_fails_when_another_process_holds_the_write_lock(
    store: SqliteStore, path: Path
) -> None:
    store.write(lambda tx: tx.all("pragma busy_timeout = 50"))  # instead of seconds
    with closing(apsw.Connection(str(path))) as other:
        other.execute("begin immediate")
        with pytest.raises(StoreUnavailable, match=r"(?i)busy|locked") as refused:
            store.write(lambda tx: tx.run(ADD, name="ada"))
        other.execute("rollback")

    assert isinstance(refused.value.__cause__, apsw.BusyError)
    store.write(lambda tx: tx.run(ADD, name="bob"))
    assert names(store) == ["bob"]


def test_write_waits_for_a_short_write_of_another_process(store: SqliteStore, path: Path) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute("begin immediate")
        other.execute("insert into accounts (name, role, created_ms) values ('cli', 'member', 1)")
        release = threading.Timer(0.1, lambda: other.execute("commit"))
        release.start()
        store.write(lambda tx: tx.run(ADD, name="server"))
        release.join()

    assert names(store) == ["cli", "server"]


def test_writer_survives_an_interrupt_inside_an_action(store: SqliteStore) -> None:
    for raised in (KeyboardInterrupt, SystemExit, MemoryError):

        def interrupted(_: Transaction, raised: type[BaseException] = raised) -> None:
            raise raised

        with pytest.raises(raised):
            store.write(interrupted)
    store.write(lambda tx: tx.run(ADD, name="ada"))
    assert names(store) == ["ada"]


@pytest.mark.parametrize("version", [0, 1])
def test_database_of_another_program_is_refused_unchanged(path: Path, version: int) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute("create table theirs (a)")
        other.execute(f"pragma user_version = {version}")
    before = path.read_bytes()

    with pytest.raises(StoreUnavailable, match="another program"):
        SqliteStore(path)
    assert path.read_bytes() == before


def synchronous(store: SqliteStore, *, flush: bool) -> int:
    """Return the flush mode of a write: 2 = before it is answered, 1 = some time later."""
    return int(store.write(lambda tx: tx.all("pragma synchronous"), flush=flush)[0][0])


def test_flushed_and_unflushed_writes_do_not_share_a_commit(store: SqliteStore) -> None:
    """Both kinds queue behind an unflushed write; every flushed one runs with `full`."""
    inside, go_on, modes = threading.Event(), threading.Event(), []

    def slow(_: Transaction) -> None:
        inside.set()
        assert go_on.wait(10)

    first = threading.Thread(target=lambda: store.write(slow, flush=False))
    first.start()
    assert inside.wait(10)
    flushed = [
        threading.Thread(target=lambda: modes.append(synchronous(store, flush=True)))
        for _ in range(5)
    ]
    others = [threading.Thread(target=lambda: synchronous(store, flush=False)) for _ in range(5)]
    for pair in zip(others, flushed, strict=True):
        for thread in pair:
            thread.start()
    await_waiting(store, 10)
    go_on.set()
    for thread in (first, *flushed, *others):
        thread.join()

    assert modes == [2] * 5


PAIR = "insert into accounts (name, role, created_ms) values (:name, 'member', :now)"


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
