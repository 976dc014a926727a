"""The embedded store:

one SQLite file, one thread that writes, a few connections that read beside it.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from ..engine import Row, StoreUnavailable, Transaction
from ..named_locks import NamedLocks
from .connection import (
    ENGINE_FAILURES,
    SqliteTransaction,
    enforce_references,
    migrate,
    open_reader,
    open_writer,
    unavailable,
    version_of,
)

# `synchronous` normal: a commit is handed to the operating system, and survives the death of this
# process
_WRITTEN_ONLY = 1
# writes in one commit: the flush is shared well before that, and no caller waits for more than so
# many others
BATCH_MAX = 64

T = TypeVar("T")

READERS_MAX = 16  # a reader is a few MB and three descriptors; threads beyond that wait for one


class SqliteStore:
    """Store of engine.py on the file `path`, made or migrated on opening.

    `durability` "full": an answered write survives power loss; "normal": it survives a killed
    process only. Raises StoreTooNew and StoreUnavailable.
    """

    is_shared = False

    def __init__(self, path: str | Path, *, durability: str = "full") -> None:
        if durability not in ("full", "normal"):
            raise ValueError(f"durability must be full or normal, not {durability!r}")
        self._path, self._durability = Path(path), durability
        self._inside = threading.local()
        self._seats = threading.BoundedSemaphore(READERS_MAX)
        self._idle: list[apsw.Connection] = []
        self._gate = threading.Lock()
        self._closed = False
        self._names = NamedLocks()
        self._writer = SqliteWriter(self._path, self._connect(), self._connect, self._inside)

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` on the writing thread; see Store.write. RuntimeError from within another
        action.

        A caller that is interrupted while it waits does not know whether the write happened.
        """
        self._refuse_nesting()
        return self._writer.write(action, account_id=account_id, flush=flush)  # type: ignore[no-any-return]

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """Run `action` on one snapshot in this thread; see Store.read.

        RuntimeError from within another action.
        """
        self._refuse_nesting()
        with self._seats:
            connection = self._take()
            transaction = SqliteTransaction(connection, self._path, account_id)
            self._inside.transaction = True
            try:
                connection.execute("begin")
                return action(transaction)
            except ENGINE_FAILURES as error:
                raise unavailable(self._path, error) from error
            finally:
                self._inside.transaction = False
                transaction.end()
                self._give_back(connection)

    def count(self, sql: str, **values: Any) -> Row | None:
        """See Store.count."""
        return self.write(lambda tx: tx.one_or_none(sql, **values), flush=False)

    def lock(self, *names: str, wait: bool = True) -> AbstractContextManager[bool]:
        """See Store.alone: of the threads of this process, as a data folder has one server."""
        self._refuse_nesting()
        if self._closed:
            raise StoreUnavailable(f"sqlite {self._path}: the store is closed")
        return self._names.lock(names, wait=wait)

    def backup(self, path: str) -> None:
        """Write a consistent copy to the new file `path`: under another name first, so that it is
        whole or not there.

        Raises FileExistsError and StoreUnavailable.
        """
        target = Path(path)
        if target.exists():
            raise FileExistsError(f"{target} exists; a backup never overwrites")
        part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        try:
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            self._copy(part)
            _flush(part)
            part.rename(target)
            _flush(target.parent)
        except (OSError, *ENGINE_FAILURES) as error:
            raise StoreUnavailable(f"backup to {target}: {error}") from error
        finally:
            part.unlink(missing_ok=True)

    @property
    def supports_vector_search(self) -> bool:
        """It does not: rows are read into memory, and searched there."""
        return False

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """Refuse; see Store.build."""
        raise StoreUnavailable(
            f"sqlite: nothing is built outside of transactions, nor with {memory_bytes} bytes: {statement}"
        )

    def schema_version(self) -> int:
        """Number of the last migration applied."""
        with self._seats:
            connection = self._take()
            try:
                return version_of(connection)
            except ENGINE_FAILURES as error:
                raise unavailable(self._path, error) from error
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Finish the writes under way and let go of everything. Idempotent."""
        self._refuse_nesting()
        with self._gate:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        self._writer.close()  # last: the connection that may write folds the log back into the file

    def _connect(self) -> apsw.Connection:
        try:
            connection = open_writer(self._path, durability=self._durability)
            migrate(connection, self._path)
            enforce_references(connection, self._path)
        except (OSError, *ENGINE_FAILURES) as error:
            raise unavailable(self._path, error) from error
        return connection

    def _refuse_nesting(self) -> None:
        if getattr(self._inside, "transaction", False):
            raise RuntimeError(
                "the store was called from inside an action; use the transaction that the action was given"
            )

    def _take(self) -> apsw.Connection:
        with self._gate:
            if self._closed:
                raise StoreUnavailable(f"sqlite {self._path}: the store is closed")
            if self._idle:
                return self._idle.pop()
        try:
            return open_reader(self._path)
        except ENGINE_FAILURES as error:
            raise unavailable(self._path, error) from error

    def _give_back(self, connection: apsw.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("rollback")
        except apsw.Error:
            connection.close(True)
            return
        with self._gate:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _copy(self, part: Path) -> None:
        with self._seats:
            source = self._take()
            copy = apsw.Connection(str(part))
            try:
                with copy.backup("main", source, "main") as backup:
                    backup.step(
                        -1
                    )  # all at once is one snapshot; step by step would start again at every write
            finally:
                copy.close()
                self._give_back(source)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Write:
    """One caller's action and, once `answer` was called, what came of it."""

    __slots__ = ("_answered", "account_id", "action", "error", "flush", "result")

    def __init__(
        self, action: Callable[[Transaction], Any], *, account_id: int | None, flush: bool
    ) -> None:
        self.action, self.account_id, self.flush = action, account_id, flush
        self.result: Any = None
        self.error: BaseException | None = None
        self._answered = threading.Lock()  # a latch: a third of an Event's cost
        self._answered.acquire()

    def answer(self) -> None:
        self._answered.release()

    def wait(self) -> Any:
        self._answered.acquire()
        if self.error is None:
            return self.result
        try:
            raise self.error
        finally:
            self.error = None  # else error, traceback and this frame hold each other


class SqliteWriter:
    """Group commit over one connection, which `connect` opens anew after a failure.

    `inside` marks the thread while it runs an action.
    """

    def __init__(
        self,
        path: Path,
        connection: apsw.Connection,
        connect: Callable[[], apsw.Connection],
        inside: threading.local,
    ) -> None:
        self._path, self._connect, self._inside = path, connect, inside
        self._synchronous = int(connection.pragma("synchronous"))
        self._connection: apsw.Connection | None = connection
        self._waiting: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._held_back: _Write | None = None  # taken from the queue, but for the next commit
        self._flushes: bool | None = None  # what the connection is set to; None = not known
        self._door = threading.Lock()  # nothing may be queued behind the last entry, None
        self._closed = False
        # A daemon, so that a program that forgot to close can end; only writes without an answer
        # are lost then.
        self._thread = threading.Thread(target=self._work, name="remembrancer-writer", daemon=True)
        self._thread.start()

    def write(
        self, action: Callable[[Transaction], Any], *, account_id: int | None, flush: bool
    ) -> Any:
        """Run `action` with others' in one commit; see Store.write."""
        write = _Write(action, account_id=account_id, flush=flush)
        with self._door:
            if self._closed:
                raise StoreUnavailable(f"sqlite {self._path}: the store is closed")
            self._waiting.put(write)
        return write.wait()

    def close(self) -> None:
        """Finish what waits, then close the connection. Idempotent."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (write := self._held_back or self._waiting.get()) is not None:
            self._held_back = None
            batch = [write]
            try:
                self._commit(batch)
            except BaseException as error:  # noqa: BLE001  an outer wall: whatever goes wrong is the callers' answer, never the thread's end
                self._give_up(batch, error)
            for done in batch:
                done.answer()
            del write, batch, done  # not to keep the last answers while waiting for the next write
        if self._connection is not None:
            self._connection.close()

    def _commit(self, batch: list[_Write]) -> None:
        """Run the batch, and what comes meanwhile, in one transaction."""
        if self._connection is None:
            self._connection, self._flushes = self._connect(), None
        connection = self._connection
        if self._flushes is not batch[0].flush:  # SQLite takes this between transactions only
            connection.pragma("synchronous", self._synchronous if batch[0].flush else _WRITTEN_ONLY)
            self._flushes = batch[0].flush
        connection.execute("begin immediate")
        while True:
            self._run(connection, batch[-1])
            if len(batch) == BATCH_MAX or not self._another(batch):
                break
        if all(write.error for write in batch):
            connection.execute("rollback")  # nothing to keep, nothing to flush
        else:
            connection.execute("commit")

    def _another(self, batch: list[_Write]) -> bool:
        """Move one more waiting write, if there is one, into the batch; one that must be flushed
        never joins those that need not.
        """
        if self._held_back is not None:
            return False
        try:
            write = self._waiting.get_nowait()
        except queue.Empty:
            return False
        if write is None:
            self._waiting.put(None)  # the last entry stays the last: the door is shut
            return False
        if write.flush and not batch[0].flush:
            self._held_back = write
            return False
        batch.append(write)
        return True

    def _run(self, connection: apsw.Connection, write: _Write) -> None:
        connection.execute("savepoint action")
        transaction = SqliteTransaction(connection, self._path, write.account_id)
        self._inside.transaction = True
        try:
            write.result = write.action(transaction)
        except BaseException as error:  # noqa: BLE001  an outer wall: it is raised again in the thread that asked
            write.error = error
        finally:
            self._inside.transaction = False
            transaction.end()
        if (
            not connection.in_transaction
        ):  # a full disk, for one, makes SQLite undo everything, the neighbours included
            raise write.error or RuntimeError("an action ended the transaction it was given")
        if write.error is not None:
            connection.execute("rollback to action")
        connection.execute("release action")

    def _give_up(self, batch: list[_Write], error: BaseException) -> None:
        """Nothing of the batch remains:

        say so to each, and start afresh unless SQLite is merely busy.
        """
        while len(batch) < BATCH_MAX and self._another(batch):
            pass  # who waits now would meet the same failure, after waiting just as long
        said = error if isinstance(error, StoreUnavailable) else unavailable(self._path, error)
        for write in batch:
            if write.error is None:
                write.result, write.error = (
                    None,
                    StoreUnavailable(str(said)),
                )  # one each: a traceback belongs to one thread
                write.error.__cause__ = error
        connection = self._connection
        if connection is None:
            return
        try:
            if connection.in_transaction:
                connection.execute("rollback")
            if isinstance(error, apsw.BusyError):
                return
            connection.close(True)
        except apsw.Error:
            pass  # it is let go of in any case
        self._connection = None
