"""What every storage engine offers: transactions over named SQL. SQL rows are the truth; the rest
is derived.

Writes are given as functions, not as `with` blocks, for two reasons: an embedded engine puts the
writes of many callers into one commit (one disk flush for all of them), and a networked one runs a
write again when the database says the transaction must be retried
(docs/decisions/0002-writes-are-functions.md).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..settings import Settings

T = TypeVar("T")
Row = Any  # a named tuple: one attribute a column, in the order of the query


class StoreUnavailable(Exception):
    """The store cannot be reached or cannot do its work now."""


class StoreUnreachable(StoreUnavailable):
    """Nothing answers where the store should be. It may be restarting: what is tried again later
    may work.
    """


class OutcomeUnknown(StoreUnavailable):
    """The store was lost while it kept a write: it may have kept all of it, or nothing."""


class StoreTooNew(Exception):
    """The store was written by a newer Remembrancer. Start that version, or restore a backup of
    this one.
    """


class DataFolderBusy(Exception):
    """Another server runs on this data folder."""


class Transaction(Protocol):
    """One transaction. Values are named: `tx.one("... where id = :id", id=7)`. Not to be kept or
    shared.

    In a transaction of an account `:account_id` is that account wherever no other value is given
    for it.
    """

    def run(self, sql: str, **values: Any) -> int:
        """Execute one statement; gives the number of rows it changed."""

    def one_or_none(self, sql: str, **values: Any) -> Row | None:
        """The first row, or None."""

    def one(self, sql: str, **values: Any) -> Row:
        """The first row of a statement that always gives one, such as a count.

        Raises LookupError when it gives none.
        """

    def all(self, sql: str, **values: Any) -> list[Row]:
        """All rows, in the order of the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """How a networked engine uses its connections."""

    connections: int = (
        16  # of one process; threads beyond that wait for one. A PostgreSQL takes 100 by default
    )
    statement_seconds: int = 30  # waiting for locks included
    connect_seconds: int = 5
    # False: a pooler gives each transaction another connection, which knows nothing of the one
    # before
    prepares: bool = True

    @classmethod
    def of(cls, settings: Settings) -> Pool:
        """As the settings say."""
        return cls(
            connections=settings.store_connections,
            statement_seconds=settings.store_statement_seconds,
            connect_seconds=settings.store_connect_seconds,
            prepares=settings.store_pooler == "none",
        )


class Store(Protocol):
    """An engine. Safe to use from many threads.

    `account_id` says whose transaction it is; None = the whole store's, for what no account does:
    to find out whose a key is, what is the owner's alone, the service's own upkeep. An engine that
    can then keeps the rows of all others out of sight.
    """

    is_shared: bool  # whether other servers may work on it too

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` in a transaction; returns its result once everything it wrote is durable.

        With `flush` False it survives the death of this process but perhaps not a power cut, and
        waits for no disk: for counters that may be counted again. What `action` raises is raised
        here and nothing it wrote remains. It may run more than once, so it does nothing but SQL.
        Raises StoreUnavailable when the engine fails.
        """

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """Run `action` on one consistent snapshot; never waits for a writer.

        Writing in it raises StoreUnavailable.
        """

    def count(self, sql: str, **values: Any) -> Row | None:
        """Run one statement as a transaction of its own; gives its first row. For counters that
        many servers change at once.

        It waits for nobody but those who change the same row just then, and is not flushed. Where a
        connection broke it may count twice.
        """

    def lock(self, *names: str, wait: bool = True) -> AbstractContextManager[bool]:
        """A block that no other thread, of this server or another, is in with any of the same
        names.

        It gives True; without `wait` False where another is in, and then the block has nothing to
        itself. The death of the process ends it. Not to be entered from within another one, or an
        action. Raises StoreUnavailable, also after waiting for very long.
        """

    def backup(self, path: str) -> None:
        """Write a consistent copy to a new file while the service goes on.

        Raises FileExistsError.
        """

    @property
    def supports_vector_search(self) -> bool:
        """Whether the engine itself finds what is near a vector and what holds a word
        (docs/decisions/0021-database-search.md).
        """

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """Run one statement outside of transactions, as long as it takes: such as an index that is
        made while others read and write.

        `memory_bytes`: what it should have at hand for that; 0 = as the engine is set up.
        Raises StoreUnavailable, also where the engine has no use for that.
        """

    def schema_version(self) -> int:
        """Number of the last migration applied."""

    def close(self) -> None:
        """Finish the writes under way and let go of everything.

        Idempotent; afterwards StoreUnavailable.
        """
