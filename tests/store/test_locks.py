"""Locks: of a data folder, between processes that serve one SQLite file, and by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from together import together
from waiting import wait_until

from remembrancer.store import DataFolderBusy, Store, StoreUnavailable
from remembrancer.store.locations import hold
from remembrancer.store.sqlite.store import RangeLocks, SqliteStore


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[RangeLocks, RangeLocks]]:
    """Yield the locks of two processes."""
    path = tmp_path / "x.locks"
    with closing(RangeLocks(path)) as one, closing(RangeLocks(path)) as other:
        yield one, other


def test_name_is_locked_for_the_other_process_until_the_block_ends(
    pair: tuple[RangeLocks, RangeLocks],
) -> None:
    one, other = pair
    with one.lock(["a", "b"], wait=True) as is_first:
        with other.lock(["b", "c"], wait=False) as is_second, other.lock(["d"], wait=False) as free:
            during = is_first, is_second, free
        with other.lock(["c"], wait=False) as is_left:  # taken with b, and released with it
            pass
    with other.lock(["b"], wait=False) as after:
        pass

    assert (during, is_left, after) == ((True, False, True), True, True)


def test_process_that_waits_gets_the_lock_when_it_is_released(
    pair: tuple[RangeLocks, RangeLocks],
) -> None:
    one, other = pair
    order = []
    waits = threading.Event()

    def second() -> None:
        waits.set()
        with other.lock(["a"], wait=True):
            order.append("second")

    with one.lock(["a"], wait=True):
        thread = threading.Thread(target=second)
        thread.start()
        waits.wait()
        order.append("first")
    thread.join()

    assert order == ["first", "second"]


def test_turn_to_write_goes_to_the_process_that_waits(pair: tuple[RangeLocks, RangeLocks]) -> None:
    """One that ends its turn and wants the next one at once gets it after the one that waits."""
    one, other = pair
    turns: list[str] = []

    def write() -> None:
        with other.turn():
            turns.append("other")

    thread = threading.Thread(target=write)
    with one.turn():
        thread.start()
        wait_until(lambda: waits_for_a_lock(os.getpid()))
    with one.turn():
        turns.append("one")
    thread.join()

    assert turns == ["other", "one"]


def waits_for_a_lock(pid: int) -> bool:
    """Return True if a thread of this process is blocked by a lock of an open file."""
    waiting = [line for line in Path("/proc/locks").read_text("ascii").splitlines() if "->" in line]
    files = {os.fstat(int(path.name)).st_ino for path in open_files(pid)}
    return any(
        "OFDLCK" in line and int(line.split(":")[-1].split()[0]) in files for line in waiting
    )


def open_files(pid: int) -> list[Path]:
    """Return the regular files of a process that are open."""
    return [path for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_file()]


def test_death_of_a_process_releases_its_locks(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path\n"
        "from remembrancer.store.sqlite.store import RangeLocks\n"
        "locks = RangeLocks(Path(sys.argv[1]))\n"
        "with locks.lock(['a'], wait=True), locks.turn():\n"
        "    print('locked', flush=True); sys.stdin.read()\n"
    )
    with (
        closing(RangeLocks(tmp_path / "x.locks")) as here,
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "x.locks")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ,
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        with here.lock(["a"], wait=False) as during:
            pass
        process.kill()
        process.wait()
        with here.lock(["a"], wait=False) as after, here.turn():
            pass

    assert (during, after) == (False, True)


def test_named_locks_of_shared_stores_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with (
        closing(SqliteStore(path, is_shared=True)) as one,
        closing(SqliteStore(path, is_shared=True)) as other,
        closing(SqliteStore(path)) as command,
    ):
        with (
            one.lock("step"),
            other.lock("step", wait=False) as is_locked,
            command.lock("step", wait=False) as is_locked_by_command,
        ):
            during = is_locked, is_locked_by_command
        with other.lock("step", wait=False) as after:
            pass

    assert (during, after) == ((False, False), True)


def test_writers_of_shared_stores_all_make_progress(tmp_path: Path) -> None:
    """Each write is stored once, none fails because another store is busy, such as a command's."""
    path = tmp_path / "store"
    with (
        closing(SqliteStore(path, is_shared=True)) as one,
        closing(SqliteStore(path, is_shared=True)) as other,
        closing(SqliteStore(path)) as command,
    ):
        one.write(lambda tx: tx.run("create table numbers (by text not null)"))

        def write(store: SqliteStore, name: str) -> None:
            for _ in range(200):
                store.write(lambda tx: tx.run("insert into numbers values (:by)", by=name))

        stores = ((one, "one"), (other, "other"), (command, "command"))
        together(*[partial(write, *each) for each in stores] * 3)
        count = "select by, count(*) from numbers group by by order by by"
        counts = one.read(lambda tx: tx.all(count))

    assert [tuple(row) for row in counts] == [("command", 600), ("one", 600), ("other", 600)]


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


SERVER = """
import sys
from pathlib import Path
from remembrancer.store.locations import hold
lock = hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_second_server_error_names_the_process_and_folder(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "held\n"

    with pytest.raises(DataFolderBusy) as refused:
        hold(tmp_path)
    assert str(server.pid) in str(refused.value)
    assert str(tmp_path) in str(refused.value)

    server.send_signal(signal.SIGKILL)
    server.communicate()
    with hold(tmp_path):
        assert (tmp_path / "server.lock").read_text() == f"{os.getpid()}\n"


def test_lock_is_released_on_close(tmp_path: Path) -> None:
    first = hold(tmp_path)
    with pytest.raises(DataFolderBusy):
        hold(tmp_path)
    first.close()
    first.close()

    hold(tmp_path).close()


def test_error_names_a_folder_that_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="nowhere"):
        hold(tmp_path / "nowhere")
