"""Connection pool for PostgreSQL: opened on demand, kept while idle, limited in number."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq.abc import PGresult

from ...settings import SettingInvalid
from ..engine import OutcomeUnknown, Pool, Row, StoreUnavailable, StoreUnreachable
from .connection import Connection
from .dialect import BoundStatement

T = TypeVar("T")

APPLICATION = "remembrancer"  # application_name of our connections
# within a transaction, before the server ends it and releases its locks
IDLE_SECONDS_MAX = 60
PATIENCE_MS_MAX = 20_000  # for a response from a machine that is down
# After the server's own time limit of a statement, for a response from a machine that is up.
RESPONSE_SECONDS = 3
# per process, held or waited for; each occupies a connection, also of a pooler in between
LOCKS_MAX = 4
# maximum delay before connecting again, after one failure and after many
_FIRST_PAUSE_S, _PAUSE_S_MAX = 0.05, 1.0

FAILURES = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,
    psycopg.errors.TransactionTimeout,
)
_NO_ACCOUNT = 0  # not the id of any account
_SYNCHRONOUS = {"full": "on", "normal": "off"}
UNFLUSHED = BoundStatement(b"set local synchronous_commit = off")
# Names are hashed with the schema's, so stores that share a database do not block each other. One
# order for all, against deadlocks.
_LOCK_NAMES = """
select {lock}(number) from (
    select distinct hashtextextended(current_schema() || ' ' || name, 0) as number
    from unnest(%s::text[]) as name order by number
) as numbers
"""
# A lock lasts as long as its transaction; keepalives let the server notice a machine that is down.
_KEEP_ALIVE = (
    BoundStatement(b"set local tcp_keepalives_idle = 20"),
    BoundStatement(b"set local tcp_keepalives_interval = 10"),
    BoundStatement(b"set local tcp_keepalives_count = 3"),
)
# The transaction is idle while the lock is held. Set after the lock query, because a snapshot lasts
# until the next statement, and an index
# built while the lock is held waits for all older snapshots.
_STAY_IDLE = b"set local idle_in_transaction_session_timeout = 0"


def address_of(url: str) -> str:
    """Return the host and database of a URL, for messages, without password.

    Raises SettingInvalid if it is not a PostgreSQL URL.
    """
    try:
        options = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise SettingInvalid(
            f"`store`: PostgreSQL's driver cannot read the URL: {error}"
        ) from error
    return f"{options.get('host') or 'localhost'}/{options.get('dbname') or ''}"


def place_of(url: str) -> str:
    """Return the location of a store URL without user and password.

    Raises SettingInvalid as address_of does.
    """
    address, fields = address_of(url), conninfo_to_dict(url)
    host, _, database = address.partition("/")
    options = f"?options={fields['options']}" if fields.get("options") else ""
    port = fields.get("port") or 5432
    return f"postgresql://{host}:{port}/{database or fields.get('user') or ''}{options}"


def sessions_at(url: str) -> int:
    """Return the number of our connections to the database at a URL, as far as its role can see.

    Raises StoreUnavailable.
    """
    query = (
        "select count(*) from pg_stat_activity where datname = current_database() "
        "and application_name = %s and pid <> pg_backend_pid()"
    )
    try:
        with psycopg.connect(url, connect_timeout=Pool().connect_seconds) as connection:
            [(sessions,)] = connection.execute(query, [APPLICATION]).fetchall()
    except FAILURES as error:
        raise StoreUnavailable(f"postgresql {address_of(url)}: {str(error).strip()}") from error
    return int(sessions)


def of_account(account_id: int | None) -> BoundStatement:
    """Return the statement that sets the account of a transaction for the row policies.

    With None, the transaction sees the rows of all accounts.
    """
    number = _NO_ACCOUNT if account_id is None else int(account_id)
    return BoundStatement(
        f"set local remembrancer.account_id = {number}".encode(), is_constant=False
    )


class Connections:
    """A connection pool without threads: failures are reported at once, and connecting is tried
    again.

    All settings are per transaction, not per connection: a pooler in between may assign another
    connection to each transaction.
    """

    def __init__(self, url: str, *, durability: str, pool: Pool | None = None) -> None:
        self._url, self.address = url, address_of(url)
        self._pool = pool or Pool()
        # A statement each: Citus repeats a `set local` on its workers by repeating its message.
        self._settings = tuple(
            BoundStatement(f"set local {setting}".encode())
            for setting in (
                f"statement_timeout = '{self._pool.statement_seconds}s'",
                f"idle_in_transaction_session_timeout = '{IDLE_SECONDS_MAX}s'",
                f"synchronous_commit = {_SYNCHRONOUS[durability]}",
            )
        )
        self._idle: list[Connection] = []
        self._in_use = 0
        self._failures = 0  # consecutive failures to connect
        # The holder of a lock needs another connection for its work: some are reserved for that.
        self._lock_slots = threading.BoundedSemaphore(
            max(min(LOCKS_MAX, self._pool.connections // 2), 1)
        )
        self._changed = threading.Condition()
        self._closed = False
        self._closing = threading.Event()  # ends the delays before connecting again

    def beginning(
        self, mode: str = "", setup: Sequence[BoundStatement] = ()
    ) -> list[BoundStatement]:
        """Return the statements that begin a transaction, with `setup`. They take no snapshot."""
        return [BoundStatement(f"begin {mode}".encode()), *self._settings, *setup]

    @contextmanager
    def transaction(
        self, setup: Sequence[BoundStatement] = (), *, is_bounded: bool = True
    ) -> Iterator[Connection]:
        """Lend a connection for the block, in a new transaction, after the statements of `setup`.

        What the block does not commit is rolled back. Without `is_bounded`, its statements may take
        any time. Raises StoreUnavailable, also for failures in the block.
        """
        try:
            connection, _ = self.send_first(self.beginning(setup=setup), is_bounded=is_bounded)
            try:
                yield connection
            finally:
                self.give_back(connection)
        except FAILURES as error:
            raise self.unavailable(error) from error

    def execute(self, statement: BoundStatement) -> Row | None:
        """Run one statement as its own transaction; return its first row, or None. Raises
        StoreUnavailable.

        It may have run even if the connection broke.
        """
        try:
            connection, [result] = self.send_first([statement])
        except FAILURES as error:
            raise self.unavailable(error) from error
        try:
            return connection.first_row(result)
        finally:
            self.give_back(connection)

    def run_outside_transaction(self, statement: bytes, *, memory_bytes: int) -> None:
        """Run a statement outside of transactions; see Store.run_outside_transaction."""
        memory = (
            f"; set maintenance_work_mem = '{memory_bytes >> 10}kB'" if memory_bytes >> 20 else ""
        )
        with self.transaction(is_bounded=False) as connection:
            try:
                connection.rollback()
                connection.execute(f"set statement_timeout = 0{memory}".encode(), prepare=False)
                connection.execute(statement, prepare=False)
            except psycopg.Error as error:
                raise self.unavailable(error) from error
            finally:
                connection.close()  # its settings end with it

    @contextmanager
    def lock(self, names: Sequence[str], *, wait: bool) -> Iterator[bool]:
        """Hold named locks on a separate connection; see Store.lock."""
        lock = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
        if not self._lock_slots.acquire(timeout=self._pool.statement_seconds if wait else 0.001):
            if not wait:
                yield False
                return
            raise StoreUnavailable(f"postgresql {self.address}: too many threads wait for locks")
        try:
            with self.transaction(_KEEP_ALIVE) as connection:
                query = _LOCK_NAMES.format(lock=lock).encode()
                rows = connection.execute(query, [list(names)]).fetchall()
                connection.execute(_STAY_IDLE)
                yield all(row[0] != 0 for row in rows)  # void when waiting, else 1 or 0
        finally:
            self._lock_slots.release()

    def send_first(
        self,
        statements: Sequence[BoundStatement],
        *,
        is_bounded: bool = True,
        is_commit: bool = False,
    ) -> tuple[Connection, list[PGresult]]:
        """Execute statements in one round trip on a connection from the pool; return both.

        Give the connection back. One that broke while idle is replaced, so that nobody notices a
        restarted server. `is_commit`: the last statement commits what the others wrote. Raises
        psycopg.Error, StoreUnavailable, and OutcomeUnknown if the connection broke with a commit.
        """
        connection, was_idle = self._take()
        try:
            connection.patience_s = self._pool.connect_seconds
            if was_idle and connection.has_ended():
                connection, was_idle = self._replaced(), False
            patience_s = self._pool.statement_seconds + RESPONSE_SECONDS if is_bounded else None
            connection.patience_s = patience_s
            try:
                return connection, connection.request(statements)
            except psycopg.OperationalError as error:
                if not connection.closed:
                    raise
                if is_commit:
                    raise self.outcome_unknown(error) from error
                if not was_idle or connection.has_hung:
                    raise
            connection = self._replaced()
            connection.patience_s = patience_s
            return connection, connection.request(statements)
        except BaseException:
            self.give_back(connection)
            raise

    def outcome_unknown(self, error: BaseException) -> OutcomeUnknown:
        """Return the error that callers get for a connection that broke during a commit."""
        return OutcomeUnknown(f"{self.unavailable(error)} (during a commit)")

    def _replaced(self) -> Connection:
        """Return a new connection in place of a broken one, and so for all that are idle."""
        self._drop_idle()
        return self._open()

    def give_back(self, connection: Connection) -> None:
        """Return a connection to the pool: an open transaction is rolled back, a broken one is
        closed.
        """
        try:
            # Where results are unread, the transaction has ended with the statements sent.
            if not connection.has_unread and (
                connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
            ):
                connection.rollback()
        except psycopg.Error:
            connection.close()
        if connection.has_hung:
            self._drop_idle()  # each of them would wait as long
        with self._changed:
            self._in_use -= 1
            if self._closed or connection.closed:
                connection.close()
            else:
                self._idle.append(connection)
            self._changed.notify()

    def close(self) -> None:
        """Reject new work and wait for running work. Idempotent."""
        with self._changed:
            self._closed = True
            self._closing.set()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._in_use == 0)
        self._drop_idle()

    def unavailable(self, error: BaseException) -> StoreUnavailable:
        """Return the error that callers get for a failure of the driver or the server."""
        return StoreUnavailable(
            f"postgresql {self.address}: {str(error).strip() or type(error).__name__}"
        )

    def _take(self) -> tuple[Connection, bool]:
        with self._changed:
            most, timeout_s = self._pool.connections, self._pool.statement_seconds
            is_free = self._changed.wait_for(lambda: self._closed or self._in_use < most, timeout_s)
            self._refuse_when_closed()
            if not is_free:
                raise StoreUnavailable(
                    f"postgresql {self.address}: none of {most} connections became free in"
                    f" {timeout_s} s"
                )
            self._in_use += 1
            if self._idle:
                return self._idle.pop(), True
        try:
            return self._open(), False
        except BaseException:
            with self._changed:
                self._in_use -= 1
                self._changed.notify()
            raise

    def _open(self) -> Connection:
        self._back_off()
        try:
            connection = Connection.connect(
                self._url,
                autocommit=True,  # the engine begins each transaction itself
                prepare_threshold=None,
                connect_timeout=self._pool.connect_seconds,
                tcp_user_timeout=PATIENCE_MS_MAX,
                application_name=APPLICATION,
                client_encoding="utf8",
            )
        except FAILURES as error:
            with self._changed:
                self._failures += 1
            raise StoreUnreachable(str(self.unavailable(error))) from error
        with self._changed:
            self._failures = 0
        connection.prepares = self._pool.prepares
        return connection

    def _back_off(self) -> None:
        """Wait a random time after failures: servers that reconnect at once would keep a database
        down.
        """
        if failures := self._failures:
            longest_s = min(_FIRST_PAUSE_S * 2 ** min(failures - 1, 10), _PAUSE_S_MAX)
            self._closing.wait(random.uniform(0, longest_s))  # noqa: S311  jitter, not a secret
            self._refuse_when_closed()

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"postgresql {self.address}: the store is closed")

    def _drop_idle(self) -> None:
        with self._changed:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
