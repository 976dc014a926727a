"""The interface of stores, and what its engines share."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..settings import Settings

# --- Reasons why a disk or the operating system refuses work, in words that callers may read -

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "the files may not be accessed",
    errno.EPERM: "the files may not be accessed",
    errno.EIO: "the disk reports errors",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ENOMEM: "the memory is used up",
}


def reason_of(error_number: int | None) -> str:
    """Return the reason for an `errno`, without paths; empty if it is none of those."""
    return _REASONS.get(error_number or 0, "")


# --- Named locks within one process ----------------------------------------------------------


class NamedLocks:
    """Locks by name, created on demand. Safe to use from many threads."""

    def __init__(self) -> None:
        self._locked: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def lock(self, names: Sequence[str], *, wait: bool) -> Iterator[bool]:
        """Hold all locks for the block. Yields False if another thread holds one and `wait` is
        False.
        """
        requested = set(names)
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: not requested & self._locked)
            elif requested & self._locked:
                requested = set()
            self._locked |= requested
        try:
            yield bool(requested) or not names
        finally:
            with self._changed:
                self._locked -= requested
                self._changed.notify_all()


# --- The protocols of a storage engine: transactions over named SQL. SQL rows are the truth;
#     indexes
# are derived.
#
# Writes are functions, not `with` blocks, for two reasons: the embedded engine groups the writes of
# many callers into one commit (one disk flush for all of them), and the networked engine runs a
# write again when the database asks for a retry (docs/decisions/0002-writes-are-functions.md).

T = TypeVar("T")
Row = Any  # a named tuple: one attribute per column, in the order of the query
LAST_BEFORE_1_0 = "bc72e7a9"  # the last commit that opens a store of before 1.0.0


class StoreUnavailable(Exception):
    """The store cannot be reached or cannot work now."""

    def __init__(self, message: str = "", *, reason: str = "") -> None:
        """Create the error. `reason` may be shown to every caller: it names no path or host."""
        self.reason = reason
        super().__init__(message)


class StoreUnreachable(StoreUnavailable):
    """The store does not respond. It may be restarting; try again later."""


class OutcomeUnknown(StoreUnavailable):
    """The store failed during a commit: the write is stored completely or not at all."""


class StoreTooNew(Exception):
    """The store was written by a newer Remembrancer. Start that version, or restore a backup of
    this version.
    """


class StoreTooOld(Exception):
    """The store was written before 1.0.0. Export its accounts with an earlier version, and import
    the files.
    """

    def __init__(self, place: str) -> None:
        """Create the error; `place` says where the store is."""
        super().__init__(
            f"{place} was written before 1.0.0, and commit {LAST_BEFORE_1_0} is the last that opens"
            " it: run its `remembrancer export FILE --account NAME` for each account, then"
            " `remembrancer import FILE --account NAME` of this version on a new store"
        )


class DataFolderReadable(Exception):
    """Other users of this machine may read the data folder."""


class DataFolderBusy(Exception):
    """Another server runs on this data folder."""


class Transaction(Protocol):
    """One transaction. Values are named: `tx.one("... where id = :id", id=7)`. Do not keep or share
    it.

    In a transaction of an account, `:account_id` has that value unless another one is passed.
    """

    def run(self, sql: str, **values: Any) -> int:
        """Execute one statement; return the number of changed rows."""

    def one_or_none(self, sql: str, **values: Any) -> Row | None:
        """Return the first row, or None."""

    def one(self, sql: str, **values: Any) -> Row:
        """Return the first row of a statement that always has one, such as a count.

        Raises LookupError if there is none.
        """

    def all(self, sql: str, **values: Any) -> list[Row]:
        """Return all rows, in the order of the query."""

    def later(self, sql: str, **values: Any) -> Callable[[], list[Row]]:
        """Execute one statement at the latest with the next one, or with the commit.

        Returns a function that returns its rows. A networked engine sends such statements together,
        in one round trip; an error is raised by what sends them.
        """

    def last(self, sql: str, **values: Any) -> Row:
        """Execute the last statement of a write, which always has a row, and return that row.

        A networked engine commits in the same round trip. Raises as `one` does.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Connection settings of a networked engine."""

    connections: int = 16  # per process; more threads wait. PostgreSQL accepts 100 by default
    statement_seconds: int = 30  # including waits for locks
    connect_seconds: int = 5
    # False with a pooler that assigns connections per transaction, where prepared statements
    # are lost
    prepares: bool = True

    @classmethod
    def of(cls, settings: Settings) -> Pool:
        """Return the pool settings of these settings."""
        return cls(
            connections=settings.store_connections,
            statement_seconds=settings.store_statement_seconds,
            connect_seconds=settings.store_connect_seconds,
            prepares=settings.store_pooler == "none",
        )


class Store(Protocol):
    """A storage engine. Safe to use from many threads.

    `account_id` is the account of a transaction; None is for work on the whole store:
    authentication, tasks of the owner, maintenance. Engines that can hide the rows of all other
    accounts do so.
    """

    is_shared: bool  # True if several servers may use it at once

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` in a transaction; return its result once everything it wrote is durable.

        With `flush=False` the write survives the death of this process but perhaps not a power cut,
        and no disk flush is waited for: for counters that may repeat. If `action` raises, nothing
        it wrote remains. It may run more than once, so it must only execute SQL. Raises
        StoreUnavailable if the engine fails.
        """

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """Run `action` on one consistent snapshot; never wait for a writer.

        Writing in it raises StoreUnavailable.
        """

    def count(self, sql: str, **values: Any) -> Row | None:
        """Run one statement as its own transaction and return its first row. For shared counters.

        It waits only for transactions that change the same row, and is not flushed. After a broken
        connection it may count twice.
        """

    def look_up(self, sql: str, **values: Any) -> Row | None:
        """Run one query on a snapshot of its own and return its first row; never wait for a writer.

        One round trip, where `read` takes three. It sees no rows of accounts where the engine hides
        them from other accounts (see `read`): for keys and other tables of the whole store. Raises
        StoreUnavailable.
        """

    def lock(self, *names: str, wait: bool = True) -> AbstractContextManager[bool]:
        """Hold these named locks across all threads and servers for a `with` block.

        Yields True; with `wait=False` it yields False if another holder has one of them, and holds
        nothing. The death of the process releases the locks. Do not nest it, and do not enter it
        within an action. Raises StoreUnavailable, also after a very long wait.
        """

    @property
    def index_folder(self) -> Path | None:
        """Folder beside the store for files that are derived from its rows.

        None if servers on other machines may use the store: their erasures would not reach it.
        """

    @property
    def supports_vector_search(self) -> bool:
        """True if the engine searches vectors and words itself
        (docs/decisions/0021-database-search.md).
        """

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """Run one statement outside of transactions, such as building an index during reads and
        writes.

        `memory_bytes`: memory for the statement; 0 uses the engine's setting. Raises
        StoreUnavailable, also if the engine does not support this.
        """

    def schema_version(self) -> int:
        """Return the number of the last migration applied."""

    def check_writes(self) -> None:
        """If the last write failed, write again without a change. Raises StoreUnavailable."""

    def close(self) -> None:
        """Finish pending writes and release all resources.

        Idempotent; later calls raise StoreUnavailable.
        """
