"""Connections to a PostgreSQL: opened when needed, kept while idle, a bounded number at a time."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ..settings import SettingInvalid
from .engine import StoreUnavailable
from .postgresql_dialect import speak_plainly

Connection = psycopg.Connection[Any]

APPLICATION = "remembrancer"  # what the server knows our connections by
CONNECTIONS_MAX = 16  # of one process; threads beyond that wait for one. A server takes 100 by default
CONNECT_SECONDS_MAX = 5
STATEMENT_SECONDS_MAX = 30  # waiting for locks included
IDLE_SECONDS_MAX = 60  # within a transaction, before the server gives up on us and lets go of our locks
PATIENCE_MS_MAX = 20_000  # for an answer from a machine that is gone

FAILURES = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
_SYNCHRONOUS = {"full": "on", "normal": "off"}


def address_of(url: str) -> str:
    """A store's place as messages say it: no password. Raises SettingInvalid for what is no URL of PostgreSQL."""
    try:
        said = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise SettingInvalid(f"`store`: PostgreSQL's driver cannot read the URL: {error}") from error
    return f"{said.get('host') or 'localhost'}/{said.get('dbname') or ''}"


def place_of(url: str) -> str:
    """Which store a URL names, without the name and the password of who opens it. Raises SettingInvalid as address_of does."""
    address, said = address_of(url), conninfo_to_dict(url)
    host, _, database = address.partition("/")
    options = f"?options={said['options']}" if said.get("options") else ""
    return f"postgresql://{host}:{said.get('port') or 5432}/{database or said.get('user') or ''}{options}"


def sessions_at(url: str) -> int:
    """How many connections of ours there are to the database at a URL, as far as its role may see. Raises StoreUnavailable."""
    asking = (
        "select count(*) from pg_stat_activity where datname = current_database() and application_name = %s and pid <> pg_backend_pid()"
    )
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS_MAX) as connection:
            [(sessions,)] = connection.execute(asking, [APPLICATION]).fetchall()
    except FAILURES as error:
        raise StoreUnavailable(f"postgresql {address_of(url)}: {str(error).strip()}") from error
    return int(sessions)


class Connections:
    """A pool without threads of its own: whoever finds the server gone is told at once, whoever comes when it is back is served."""

    def __init__(self, url: str, *, durability: str) -> None:
        self._url, self.address = url, address_of(url)
        self._durability = durability
        self.is_spread = False  # by Citus over several machines, see `_say`
        self._idle: list[Connection] = []
        self._in_use = 0
        self._changed = threading.Condition()
        self._closed = False

    def begin(self, how: str) -> Connection:
        """A connection on which `how`, which begins a transaction, was run; give it back. Raises StoreUnavailable.

        One that died while it was idle is replaced: a restarted server is noticed by nobody.
        """
        connection, was_idle = self._take()
        try:
            try:
                self._say(connection, how)
            except psycopg.OperationalError:
                if not was_idle or not connection.closed:
                    raise
                self._drop_idle()
                connection = self._open()
                self._say(connection, how)
        except BaseException as error:
            self.give_back(connection)
            if isinstance(error, FAILURES):
                raise self.unavailable(error) from error
            raise
        return connection

    def give_back(self, connection: Connection) -> None:
        """Let others use a connection; one in a transaction is rolled back, one that is lost is let go of."""
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
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._in_use == 0)
        self._drop_idle()

    def unavailable(self, error: BaseException) -> StoreUnavailable:
        """What a failure of the driver or the server is to whoever uses the store."""
        return StoreUnavailable(f"postgresql {self.address}: {str(error).strip() or type(error).__name__}")

    def _say(self, connection: Connection, words: str) -> None:
        """Execute statements in one round trip.

        To Citus each as a message of its own: it repeats a `set local` on its workers by repeating the message that it came in.
        """
        if not self.is_spread:
            connection.execute(words.encode(), prepare=False)
            return
        with connection.pipeline():
            for statement in words.split("; "):
                connection.execute(statement.encode(), prepare=False)

    def _take(self) -> tuple[Connection, bool]:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._in_use < CONNECTIONS_MAX)
            if self._closed:
                raise StoreUnavailable(f"postgresql {self.address}: the store is closed")
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
        try:
            connection: Connection = psycopg.connect(
                self._url,
                autocommit=True,  # the engine says itself how each transaction begins
                connect_timeout=CONNECT_SECONDS_MAX,
                tcp_user_timeout=PATIENCE_MS_MAX,
                application_name=APPLICATION,
                client_encoding="utf8",
            )
        except FAILURES as error:
            raise self.unavailable(error) from error
        try:
            speak_plainly(connection)
            connection.execute(
                f"set statement_timeout = '{STATEMENT_SECONDS_MAX}s'; set idle_in_transaction_session_timeout = '{IDLE_SECONDS_MAX}s';"
                f"set synchronous_commit = {_SYNCHRONOUS[self._durability]}; set client_min_messages = warning".encode()
            )
        except BaseException as error:
            connection.close()
            if isinstance(error, FAILURES):
                raise self.unavailable(error) from error
            raise
        return connection

    def _drop_idle(self) -> None:
        with self._changed:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
