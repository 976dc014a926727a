"""The networked store:

a PostgreSQL, its transactions run again where the server says that they must be.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from ..engine import OutcomeUnknown, Pool, Row, StoreUnavailable, Transaction
from .dialect import changed_rows, cursor_of, has_rows, prepare
from .pool import FAILURES, Connection, Connections, of_account
from .schema import is_spread, make_vectors, migrate, version_of

T = TypeVar("T")

# How each attempt at a write goes beside others: with any, then one by one with those that met
# others too, at last alone.
# The lock is taken before the first query, so that the snapshot comes after the wait; the first
# kind costs the server next to nothing.
_FREELY, _IN_TURN, _ALONE = (
    f"; lock table turnstile in {mode} mode"
    for mode in ("row exclusive", "share update exclusive", "exclusive")
)
_ATTEMPTS = (_FREELY, _FREELY, _IN_TURN, _IN_TURN, _IN_TURN, _ALONE, _ALONE)
ATTEMPTS_MAX = len(_ATTEMPTS)
_PAUSE_S = 0.005  # the longest before the second attempt; then twice as long each time
_READ = "isolation level repeatable read read only"
_WRITE = "isolation level serializable"
_UNFLUSHED = "; set local synchronous_commit = off"
_REPEAT = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
_PERHAPS = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.ForeignKeyViolation,
)  # met another's row, or is a mistake: repeating tells


class PostgresqlStore:
    """Store of engine.py in the database at `url`, made or migrated on opening.

    `durability` "full": an answered write survives what the server's own settings let it survive;
    "normal": the death of this process, but perhaps not of the database server. Raises
    SettingInvalid, StoreTooNew and StoreUnavailable.
    """

    is_shared = True

    def __init__(self, url: str, *, durability: str = "full", pool: Pool | None = None) -> None:
        if durability not in ("full", "normal"):
            raise ValueError(f"durability must be full or normal, not {durability!r}")
        self._inside = threading.local()
        self._connections = Connections(url, durability=durability, pool=pool)
        try:
            migrate(self._connections)
            self._connections.is_spread = is_spread(self._connections)
            self._searches = not self._connections.is_spread and make_vectors(self._connections)
        except BaseException as error:
            self._connections.close()
            if isinstance(error, FAILURES):
                raise self._connections.unavailable(error) from error
            raise

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` as if it were alone, again where it met others' writes; see Store.write.
        RuntimeError from within another action.

        OutcomeUnknown after a connection that broke during the commit: the write may have happened.
        """
        self._refuse_nesting()
        then = of_account(account_id) + ("" if flush else _UNFLUSHED)
        for attempt, manner in enumerate(_ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, _PAUSE_S * 2**attempt))  # noqa: S311  so that two do not meet again at once
            try:
                return self._run(action, account_id, _WRITE, then + manner)
            except _MustRepeat as error:
                met = error.met
                if isinstance(met, _PERHAPS) and manner is _ALONE:
                    raise met from None
        raise self._connections.unavailable(met) from met

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """Run `action` on one snapshot; see Store.read. RuntimeError from within another action."""
        self._refuse_nesting()
        return self._run(action, account_id, _READ, of_account(account_id))

    def count(self, sql: str, **values: Any) -> Row | None:
        """Run one statement in one round trip; see Store.count."""
        self._refuse_nesting()
        statement = prepare(sql)
        return self._connections.execute(statement.sql, statement.values(values))

    @contextmanager
    def lock(self, *names: str, wait: bool = True) -> Iterator[bool]:
        """Hold advisory locks; see Store.alone."""
        self._refuse_nesting()
        with self._connections.lock(names, wait=wait) as are_held:
            yield are_held

    def backup(self, path: str) -> None:
        """Refuse: a database server is backed up with its own means. Raises StoreUnavailable."""
        raise StoreUnavailable(
            f"postgresql {self._connections.address}: not backed up to {path}; use pg_dump, or the backups of whoever runs the database"
        )

    @property
    def supports_vector_search(self) -> bool:
        """Whether the server had the extension `vector` when the store was opened, and is one
        machine.
        """
        return self._searches

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """Run one statement outside of transactions; see Store.build.

        RuntimeError from within an action.
        """
        self._refuse_nesting()
        self._connections.run_outside_transaction(statement.encode(), memory_bytes=memory_bytes)

    def schema_version(self) -> int:
        """Number of the last migration applied."""
        connection = self._connections.begin(_READ)
        try:
            return version_of(connection)
        except FAILURES as error:
            raise self._connections.unavailable(error) from error
        finally:
            self._connections.give_back(connection)

    def close(self) -> None:
        """Finish what is under way and let go of everything. Idempotent."""
        self._refuse_nesting()
        self._connections.close()

    def _run(
        self, action: Callable[[Transaction], T], account_id: int | None, how: str, then: str
    ) -> T:
        connection = self._connections.begin(how, then)
        transaction = PostgresqlTransaction(connection, self._connections, account_id)
        self._inside.transaction = True
        try:
            result = action(transaction)
            transaction.commit()
        except BaseException:
            transaction.repeat_if_it_must()
            raise
        finally:
            self._inside.transaction = False
            transaction.end()
            self._connections.give_back(connection)
        return result

    def _refuse_nesting(self) -> None:
        if getattr(self._inside, "transaction", False):
            raise RuntimeError(
                "the store was called from inside an action; use the transaction that the action was given"
            )


class _MustRepeat(Exception):
    """The transaction met another one, and nothing of it remains."""

    def __init__(self, met: psycopg.Error) -> None:
        super().__init__(str(met))
        self.met = met


class PostgresqlTransaction:
    """Transaction of engine.py on one connection.

    After a statement that failed nothing more can be done in it, nor is anything kept.
    """

    __slots__ = ("_connection", "_connections", "_ended", "_given", "_met")

    def __init__(
        self, connection: Connection, connections: Connections, account_id: int | None
    ) -> None:
        self._connection, self._connections = connection, connections
        self._given = {} if account_id is None else {"account_id": account_id}
        self._ended: BaseException | None = None
        self._met: psycopg.Error | None = None

    def run(self, sql: str, **values: Any) -> int:
        """Execute one statement; gives the number of rows it changed."""
        return changed_rows(self._execute(sql, values))

    def one_or_none(self, sql: str, **values: Any) -> Row | None:
        """The first row, or None."""
        cursor = self._execute(sql, values)
        return cursor.fetchone() if has_rows(cursor) else None

    def one(self, sql: str, **values: Any) -> Row:
        """The first row. Raises LookupError when there is none."""
        row = self.one_or_none(sql, **values)
        if row is None:
            raise LookupError(f"no row where there must be one: {sql}")
        return row

    def all(self, sql: str, **values: Any) -> list[Row]:
        """All rows, in the order of the query."""
        cursor = self._execute(sql, values)
        return cursor.fetchall() if has_rows(cursor) else []

    def commit(self) -> None:
        """Keep what was written.

        Raises what made a statement fail before, even where the action passed over it.
        """
        if self._ended is not None:
            raise self._ended
        if self._connection.info.transaction_status != TransactionStatus.INTRANS:
            raise StoreUnavailable(
                f"postgresql {self._connections.address}: an action ended the transaction it was given"
            )
        try:
            self._connection.execute(b"commit", prepare=False)
        except psycopg.Error as error:
            if self._connection.closed:
                self._ended = OutcomeUnknown(
                    f"{self._connections.unavailable(error)} (while it kept a write)"
                )
                raise self._ended from error
            self._fail(error)

    def repeat_if_it_must(self) -> None:
        """Raise _MustRepeat where another transaction was met, whatever the action made of that."""
        if self._met is not None:
            raise _MustRepeat(self._met) from self._met

    def end(self) -> None:
        """Refuse everything from now on: the transaction is over."""
        self._ended = self._ended or RuntimeError(
            "this transaction is over; nothing outside its action may keep it"
        )

    def _execute(self, sql: str, values: dict[str, Any]) -> psycopg.Cursor[Any]:
        if self._ended is not None:
            raise self._ended
        statement = prepare(sql)
        cursor = cursor_of(self._connection)
        try:
            return cursor.execute(statement.sql, statement.values(self._given | values))
        except psycopg.Error as error:
            self._fail(error)

    def _fail(self, error: psycopg.Error) -> NoReturn:
        if isinstance(error, _REPEAT + _PERHAPS):
            self._met = error
        if isinstance(error, FAILURES):
            self._ended = self._connections.unavailable(error)
            raise self._ended from error
        self._ended = error  # the server takes no more statements in this transaction
        raise error
