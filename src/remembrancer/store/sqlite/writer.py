"""The one thread that writes:

it takes what waits, runs it in one transaction and answers after one flush to disk.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from ..engine import StoreUnavailable, Transaction
from .connection import SqliteTransaction, unavailable

# `synchronous` normal: a commit is handed to the operating system, and survives the death of this
# process
_WRITTEN_ONLY = 1
# writes in one commit: the flush is shared well before that, and no caller waits for more than so
# many others
BATCH_MAX = 64


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
