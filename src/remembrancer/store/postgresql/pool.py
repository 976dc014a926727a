"""Connections to a PostgreSQL: opened when needed, kept while idle, a bounded number at a time."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ...settings import SettingInvalid
from ..engine import Pool, StoreUnavailable, StoreUnreachable
from .dialect import cursor_of, has_rows, register_adapters

Connection = psycopg.Connection[Any]

APPLICATION = "remembrancer"  # what the server knows our connections by
IDLE_SECONDS_MAX = (
    60  # within a transaction, before the server gives up on us and lets go of our locks
)
PATIENCE_MS_MAX = 20_000  # for an answer from a machine that is gone
LOCKS_MAX = (
    4  # held or waited for by one process; each takes a connection, of a pooler in between too
)
_FIRST_PAUSE_S, _PAUSE_S_MAX = (
    0.05,
    1.0,
)  # the longest before a connection is tried again, after one failure and after many
_PREPARED_AFTER = 5  # uses of a statement on a connection

FAILURES = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,
    psycopg.errors.TransactionTimeout,
)
_EVERYBODY = 0  # no account has this number
_SYNCHRONOUS = {"full": "on", "normal": "off"}
# Names are hashed with the schema's: stores that share a database do not wait for each other. In
# one order, so that no two wait in a ring.
_LOCK_NAMES = """
select {lock}(number) from (
    select distinct hashtextextended(current_schema() || ' ' || name, 0) as number from unnest(%s::text[]) as name order by number
) as numbers
"""
# A lock lasts as long as its transaction; the server must notice a machine that is gone by asking
# it.
_HOLD_ON = "; set local tcp_keepalives_idle = 20; set local tcp_keepalives_interval = 10; set local tcp_keepalives_count = 3"
# That transaction is idle meanwhile. Said after the question for the lock, as a snapshot lasts
# until the next statement: an index that is
# made while the lock is held waits for all older ones.
_STAY = b"set local idle_in_transaction_session_timeout = 0"


def address_of(url: str) -> str:
    """A store's place as messages say it:

    no password. Raises SettingInvalid for what is no URL of PostgreSQL.
    """
    try:
        said = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise SettingInvalid(
            f"`store`: PostgreSQL's driver cannot read the URL: {error}"
        ) from error
    return f"{said.get('host') or 'localhost'}/{said.get('dbname') or ''}"


def place_of(url: str) -> str:
    """Which store a URL names, without the name and the password of who opens it.

    Raises SettingInvalid as address_of does.
    """
    address, said = address_of(url), conninfo_to_dict(url)
    host, _, database = address.partition("/")
    options = f"?options={said['options']}" if said.get("options") else ""
    return f"postgresql://{host}:{said.get('port') or 5432}/{database or said.get('user') or ''}{options}"


def sessions_at(url: str) -> int:
    """How many connections of ours there are to the database at a URL, as far as its role may see.

    Raises StoreUnavailable.
    """
    asking = "select count(*) from pg_stat_activity where datname = current_database() and application_name = %s and pid <> pg_backend_pid()"
    try:
        with psycopg.connect(url, connect_timeout=Pool().connect_seconds) as connection:
            [(sessions,)] = connection.execute(asking, [APPLICATION]).fetchall()
    except FAILURES as error:
        raise StoreUnavailable(f"postgresql {address_of(url)}: {str(error).strip()}") from error
    return int(sessions)


def of_account(account_id: int | None) -> str:
    """What lets the row policies of the schema show one account's rows, with None everybody's, in a
    transaction that begins with it.
    """
    return f"; set local remembrancer.account_id = {_EVERYBODY if account_id is None else int(account_id)}"


class Connections:
    """A pool without threads of its own: whoever finds the server gone is told so, whoever comes
    when it is back is served.

    Nothing is set for a connection, all for a transaction: a pooler in between may give each of
    them another connection.
    """

    def __init__(self, url: str, *, durability: str, pool: Pool | None = None) -> None:
        self._url, self.address = url, address_of(url)
        self.is_spread = False  # by Citus over several machines, see `_say`
        self._pool = pool or Pool()
        self._within = (
            f"; set local statement_timeout = '{self._pool.statement_seconds}s'"
            f"; set local idle_in_transaction_session_timeout = '{IDLE_SECONDS_MAX}s'"
            f"; set local synchronous_commit = {_SYNCHRONOUS[durability]}"
        )
        self._idle: list[Connection] = []
        self._in_use = 0
        self._failures = 0  # of connecting, in a row
        # Who holds a lock needs another connection to work: some are left for that.
        self._holders = threading.BoundedSemaphore(
            max(min(LOCKS_MAX, self._pool.connections // 2), 1)
        )
        self._changed = threading.Condition()
        self._closed = False
        self._closing = (
            threading.Event()
        )  # wakes those who wait before they try again; nobody who waits for a connection

    def begin(self, how: str = "", then: str = "") -> Connection:
        """A connection with a transaction that began in the manner `how`, and after that `then`;
        give it back. Raises StoreUnavailable.

        What is set by then takes no snapshot, and no round trip of its own.
        """
        words = f"begin {how}{self._within}{then}"
        return self._on_one(lambda connection: self._say(connection, words))

    def execute(self, statement: bytes, values: dict[str, Any] | None) -> Any:
        """The first row of a statement that is a transaction of its own; None without one. Raises
        StoreUnavailable.

        It may have been run though the connection broke.
        """
        found: list[Any] = []

        def run(connection: Connection) -> None:
            cursor = cursor_of(connection).execute(statement, values)
            found[:] = [cursor.fetchone()] if has_rows(cursor) else [None]

        self.give_back(self._on_one(run))
        return found[0]

    def run_outside_transaction(self, statement: bytes, *, memory_bytes: int) -> None:
        """Run a statement outside of transactions, as long as it takes; see Store.build."""
        memory = (
            f"; set maintenance_work_mem = '{memory_bytes >> 10}kB'" if memory_bytes >> 20 else ""
        )
        connection = self._on_one(
            lambda connection: connection.execute(
                f"set statement_timeout = 0{memory}".encode(), prepare=False
            )
        )
        try:
            connection.execute(statement, prepare=False)
        except psycopg.Error as error:
            raise self.unavailable(error) from error
        finally:
            connection.close()  # with what was set for it alone
            self.give_back(connection)

    @contextmanager
    def lock(self, names: Sequence[str], *, wait: bool) -> Iterator[bool]:
        """Hold locks of these names on a connection of their own; see Store.alone."""
        lock = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
        if not self._holders.acquire(timeout=self._pool.statement_seconds if wait else 0.001):
            if not wait:
                yield False
                return
            raise StoreUnavailable(f"postgresql {self.address}: too many wait for locks")
        try:
            connection = self.begin(then=_HOLD_ON)
            try:
                held = connection.execute(
                    _LOCK_NAMES.format(lock=lock).encode(), [list(names)]
                ).fetchall()
                connection.execute(_STAY)
                yield all(
                    row[0] != 0 for row in held
                )  # who waits is told nothing, who tries 1 or 0
            except FAILURES as error:
                raise self.unavailable(error) from error
            finally:
                self.give_back(connection)
        finally:
            self._holders.release()

    def _on_one(self, act: Callable[[Connection], object]) -> Connection:
        """A connection on which this was done.

        One that died while it was idle is replaced: a restarted server is noticed by nobody.
        """
        connection, was_idle = self._take()
        try:
            try:
                act(connection)
            except psycopg.OperationalError:
                if not was_idle or not connection.closed:
                    raise
                self._drop_idle()
                connection = self._open()
                act(connection)
        except BaseException as error:
            self.give_back(connection)
            if isinstance(error, FAILURES):
                raise self.unavailable(error) from error
            raise
        return connection

    def give_back(self, connection: Connection) -> None:
        """Let others use a connection; one in a transaction is rolled back, one that is lost is let
        go of.
        """
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.rollback()
        except psycopg.Error:
            connection.close()
        with self._changed:
            self._in_use -= 1
            if self._closed or connection.closed:
                connection.close()
            else:
                self._idle.append(connection)
            self._changed.notify()

    def close(self) -> None:
        """Refuse what comes from now on and wait for what is under way. Idempotent."""
        with self._changed:
            self._closed = True
            self._closing.set()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._in_use == 0)
        self._drop_idle()

    def unavailable(self, error: BaseException) -> StoreUnavailable:
        """What a failure of the driver or the server is to whoever uses the store."""
        return StoreUnavailable(
            f"postgresql {self.address}: {str(error).strip() or type(error).__name__}"
        )

    def _say(self, connection: Connection, words: str) -> None:
        """Execute statements in one round trip.

        To Citus each as a message of its own: it repeats a `set local` on its workers by repeating
        the message that it came in.
        """
        if not self.is_spread:
            connection.execute(words.encode(), prepare=False)
            return
        with connection.pipeline():
            for statement in words.split("; "):
                connection.execute(statement.encode(), prepare=False)

    def _take(self) -> tuple[Connection, bool]:
        with self._changed:
            most, patience_s = self._pool.connections, self._pool.statement_seconds
            is_free = self._changed.wait_for(
                lambda: self._closed or self._in_use < most, patience_s
            )
            self._refuse_when_closed()
            if not is_free:
                raise StoreUnavailable(
                    f"postgresql {self.address}: none of {most} connections became free for {patience_s} s"
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
            connection: Connection = psycopg.connect(
                self._url,
                autocommit=True,  # the engine says itself how each transaction begins
                prepare_threshold=_PREPARED_AFTER if self._pool.prepares else None,
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
        register_adapters(connection)
        return connection

    def _back_off(self) -> None:
        """After failures wait a while, not as long as others do:

        servers that come back at once would keep a database down.
        """
        if failures := self._failures:
            longest_s = min(_FIRST_PAUSE_S * 2 ** min(failures - 1, 10), _PAUSE_S_MAX)
            self._closing.wait(random.uniform(0, longest_s))  # noqa: S311  it keeps nothing secret
            self._refuse_when_closed()

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"postgresql {self.address}: the store is closed")

    def _drop_idle(self) -> None:
        with self._changed:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
