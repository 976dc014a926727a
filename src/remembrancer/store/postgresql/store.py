"""The networked store: PostgreSQL with retries of serializable transactions."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGresult

from ..engine import Pool, Row, StoreUnavailable, Transaction
from .connection import Connection
from .dialect import BoundStatement, changed_rows, prepare
from .pool import FAILURES, UNFLUSHED, Connections, of_account
from .schema import create_vector_table, is_spread, migrate, version_of

T = TypeVar("T")

# Lock mode of each attempt at a write: shared with all, then queued with those that had
# conflicts, finally exclusive.
# The lock is taken before the first query, so that the snapshot is taken after the wait.
# A shared lock costs almost nothing.
_SHARED, _QUEUED, _EXCLUSIVE = (
    BoundStatement(f"lock table turnstile in {mode} mode".encode())
    for mode in ("row exclusive", "share update exclusive", "exclusive")
)
_ATTEMPTS = (_SHARED, _SHARED, _QUEUED, _QUEUED, _QUEUED, _EXCLUSIVE, _EXCLUSIVE)
ATTEMPTS_MAX = len(_ATTEMPTS)
_PAUSE_S = 0.005  # maximum before the second attempt; doubles with each attempt
_READ = "isolation level repeatable read read only"
_WRITE = "isolation level serializable"
_COMMIT = BoundStatement(b"commit")
_RETRIED = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
# caused by a concurrent write or by a bug: a retry decides
_RETRIED_IF_SHARED = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.ForeignKeyViolation,
)


class PostgresqlStore:
    """Store in the database at `url`, created or migrated on opening; see engine.Store.

    `durability` "full": an answered write survives what the database's own settings let it survive;
    "normal": the death of this process, but perhaps not of the database server. Raises
    SettingInvalid, StoreTooNew, StoreTooOld and StoreUnavailable.
    """

    is_shared = True

    def __init__(self, url: str, *, durability: str = "full", pool: Pool | None = None) -> None:
        if durability not in ("full", "normal"):
            raise ValueError(f"durability must be full or normal, not {durability!r}")
        self._inside = threading.local()
        self._is_failing = False  # the last write failed
        self._connections = Connections(url, durability=durability, pool=pool)
        try:
            migrate(self._connections)
            self._supports_vector_search = not is_spread(self._connections) and create_vector_table(
                self._connections
            )
        except BaseException:
            self._connections.close()
            raise

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` in a serializable transaction, and again after conflicts; see Store.write.

        Raises RuntimeError within another action, and OutcomeUnknown if the connection broke during
        the commit: the write may have happened.
        """
        self._refuse_nesting()
        setup = (of_account(account_id),) if flush else (of_account(account_id), UNFLUSHED)
        for attempt, mode in enumerate(_ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, _PAUSE_S * 2**attempt))  # noqa: S311  jitter, not a secret
            try:
                result = self._run(action, account_id, _WRITE, (*setup, mode))
            except StoreUnavailable:
                self._is_failing = True
                raise
            except _Conflict as error:
                conflict = error.cause
                if isinstance(conflict, _RETRIED_IF_SHARED) and mode is _EXCLUSIVE:
                    raise conflict from None
            else:
                self._is_failing = False
                return result
        raise self._connections.unavailable(conflict) from conflict

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """Run `action` on one snapshot; see Store.read. Raises RuntimeError within another
        action.
        """
        self._refuse_nesting()
        return self._run(action, account_id, _READ, (of_account(account_id),))

    def count(self, sql: str, **values: Any) -> Row | None:
        """Run one statement in one round trip; see Store.count."""
        self._refuse_nesting()
        return self._connections.execute(prepare(sql).bind(values))

    def look_up(self, sql: str, **values: Any) -> Row | None:
        """Run one query in one round trip; see Store.look_up."""
        return self.count(sql, **values)

    @contextmanager
    def lock(self, *names: str, wait: bool = True) -> Iterator[bool]:
        """Hold advisory locks; see Store.lock."""
        self._refuse_nesting()
        with self._connections.lock(names, wait=wait) as is_locked:
            yield is_locked

    @property
    def index_folder(self) -> None:
        """Return None: other servers may erase what a folder here contains."""
        return

    @property
    def supports_vector_search(self) -> bool:
        """True if the server had the extension `vector` on opening and is a single machine."""
        return self._supports_vector_search

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """Run one statement outside of transactions; see Store.run_outside_transaction.

        Raises RuntimeError within an action.
        """
        self._refuse_nesting()
        self._connections.run_outside_transaction(statement.encode(), memory_bytes=memory_bytes)

    def schema_version(self) -> int:
        """Return the number of the last migration applied."""
        with self._connections.transaction() as connection:
            return version_of(connection, self._connections.address)

    def check_writes(self) -> None:
        """See Store.check_writes."""
        if self._is_failing:
            self.write(lambda tx: tx.run("update store_schema set number = number"))

    def close(self) -> None:
        """Finish pending work and release all connections. Idempotent."""
        self._refuse_nesting()
        self._connections.close()

    def _run(
        self,
        action: Callable[[Transaction], T],
        account_id: int | None,
        mode: str,
        setup: Sequence[BoundStatement],
    ) -> T:
        beginning = self._connections.beginning(mode, setup)
        transaction = PostgresqlTransaction(
            self._connections, beginning, account_id, is_read=mode is _READ
        )
        self._inside.transaction = True
        try:
            result = action(transaction)
            transaction.commit()
        except BaseException:
            transaction.raise_conflict()
            raise
        finally:
            self._inside.transaction = False
            transaction.end()
        return result

    def _refuse_nesting(self) -> None:
        if getattr(self._inside, "transaction", False):
            raise RuntimeError(
                "the store was called within an action; use the transaction passed to the action"
            )


class _Conflict(Exception):
    """The transaction conflicted with another one and was rolled back."""

    def __init__(self, cause: psycopg.Error) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Waiting:
    """A statement that is sent with the next request, and then its result."""

    __slots__ = ("result", "statement")

    def __init__(self, statement: BoundStatement) -> None:
        self.statement = statement
        self.result: PGresult | None = None


class PostgresqlTransaction:
    """Transaction on one connection, which the first request takes from the pool.

    Statements that wait are sent with the next one, in one round trip: those that begin the
    transaction, and those of `later`. After a failed statement it accepts no more, and nothing of
    it is committed.
    """

    __slots__ = (
        "_conflict",
        "_connection",
        "_connections",
        "_defaults",
        "_ended",
        "_is_read",
        "_is_used",
        "_waiting",
    )

    def __init__(
        self,
        connections: Connections,
        beginning: Sequence[BoundStatement],
        account_id: int | None,
        *,
        is_read: bool,
    ) -> None:
        """Create the transaction; `beginning` are the statements that begin it."""
        self._connections, self._is_read = connections, is_read
        self._connection: Connection | None = None  # None: nothing was sent yet
        self._waiting = [_Waiting(statement) for statement in beginning]
        self._is_used = False  # True: the action executed a statement
        self._defaults = {} if account_id is None else {"account_id": account_id}
        self._ended: BaseException | None = None
        self._conflict: psycopg.Error | None = None

    def run(self, sql: str, **values: Any) -> int:
        """Execute one statement; return the number of changed rows."""
        _, result = self._result(self._add(sql, values))
        return changed_rows(result)

    def one_or_none(self, sql: str, **values: Any) -> Row | None:
        """Return the first row, or None."""
        connection, result = self._result(self._add(sql, values))
        return connection.first_row(result)

    def one(self, sql: str, **values: Any) -> Row:
        """Return the first row. Raises LookupError if there is none."""
        row = self.one_or_none(sql, **values)
        if row is None:
            raise LookupError(f"the query returned no row: {sql}")
        return row

    def all(self, sql: str, **values: Any) -> list[Row]:
        """Return all rows, in the order of the query."""
        return self.later(sql, **values)()

    def later(self, sql: str, **values: Any) -> Callable[[], list[Row]]:
        """Send one statement with the next one, or with the commit; see Transaction.later."""
        waiting = self._add(sql, values)

        def rows() -> list[Row]:
            connection, result = self._result(waiting)
            return connection.rows(result)

        return rows

    def last(self, sql: str, **values: Any) -> Row:
        """Execute one statement and commit; return its first row. See Transaction.last."""
        waiting = self._add(sql, values)
        self.commit()
        self._is_used = False  # nothing is left to commit
        connection, result = self._result(waiting)
        row = connection.first_row(result)
        if row is None:
            raise LookupError(f"the query returned no row: {sql}")
        return row

    def commit(self) -> None:
        """Commit, with the statements that wait.

        Raises the error of an earlier statement, even if the action ignored it.
        """
        if self._ended is not None:
            raise self._ended
        if not self._is_used:
            return
        connection = self._connection
        if connection and connection.info.transaction_status != TransactionStatus.INTRANS:
            raise StoreUnavailable(
                f"postgresql {self._connections.address}: an action ended its transaction"
            )
        if connection and self._is_read and not self._waiting:
            connection.send(_COMMIT)  # no caller waits for the end of a snapshot
            return
        self._waiting.append(_Waiting(_COMMIT))
        self._send(is_commit=True)

    def raise_conflict(self) -> None:
        """Raise _Conflict if a statement conflicted, even if the action ignored it."""
        if self._conflict is not None:
            raise _Conflict(self._conflict) from self._conflict

    def end(self) -> None:
        """Reject further statements and give the connection back: the transaction is over."""
        self._ended = self._ended or RuntimeError(
            "this transaction is over; do not use it outside its action"
        )
        if self._connection is not None:
            self._connections.give_back(self._connection)

    def _add(self, sql: str, values: dict[str, Any]) -> _Waiting:
        """Let a statement wait for the next request."""
        if self._ended is not None:
            raise self._ended
        waiting = _Waiting(prepare(sql).bind(self._defaults | values))
        self._waiting.append(waiting)
        self._is_used = True
        return waiting

    def _result(self, waiting: _Waiting) -> tuple[Connection, PGresult]:
        """Return the result of a statement and its connection; send it if it waits."""
        if self._ended is not None:
            raise self._ended
        if waiting.result is None:
            self._send()
        assert self._connection is not None
        assert waiting.result is not None
        return self._connection, waiting.result

    def _send(self, *, is_commit: bool = False) -> None:
        """Send all statements that wait in one round trip."""
        waiting, self._waiting = self._waiting, []
        statements = [one.statement for one in waiting]
        try:
            if self._connection is None:
                self._connection, results = self._connections.send_first(
                    statements, is_commit=is_commit
                )
            else:
                results = self._connection.request(statements)
        except StoreUnavailable as error:
            self._ended = error
            raise
        except psycopg.Error as error:
            if is_commit and self._connection is not None and self._connection.closed:
                self._ended = self._connections.outcome_unknown(error)
                raise self._ended from error
            self._fail(error)
        for one, result in zip(waiting, results, strict=True):
            one.result = result

    def _fail(self, error: psycopg.Error) -> NoReturn:
        if isinstance(error, _RETRIED + _RETRIED_IF_SHARED):
            self._conflict = error
        if isinstance(error, FAILURES):
            self._ended = self._connections.unavailable(error)
            raise self._ended from error
        self._ended = error  # the server accepts no more statements in this transaction
        raise error
