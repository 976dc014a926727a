"""One SQLite connection as we use it:

opened with its pragmas proven, migrated, and spoken to in named values.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from ..engine import Row, StoreTooNew, StoreUnavailable
from ..schema import migrations

BUSY_MS_MAX = (
    5_000  # how long to wait while another process, such as the command line, holds the write lock
)
WRITER_CACHE_KIB = 16_384
READER_CACHE_KIB = 4_096  # each; what they share is in the operating system's cache, mapped below
READER_MMAP_BYTES = 128 << 20
WAL_KEPT_BYTES_MAX = 64 << 20  # a burst may grow the log; this is what is left of it afterwards
_STATEMENTS_CACHED = 256  # every named query of the program fits
_SYNCHRONOUS = {"full": 2, "normal": 1}
_APPLICATION_ID = 0x52454D42  # "REMB" in the file's header: this file is ours

# What says "not now" or "not with this file". Anything else the driver raises is a mistake in our
# SQL and is left as it is.
ENGINE_FAILURES = (
    apsw.AbortError,
    apsw.AuthError,
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.ConnectionClosedError,
    apsw.CorruptError,
    apsw.FormatError,
    apsw.FullError,
    apsw.InternalError,
    apsw.InterruptError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoLFSError,
    apsw.NoMemError,
    apsw.NotADBError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)


def unavailable(path: Path, error: BaseException) -> StoreUnavailable:
    """The error a caller sees for an engine failure: says which file and what SQLite said."""
    return StoreUnavailable(f"sqlite {path}: {type(error).__name__.removesuffix('Error')}: {error}")


def open_writer(path: Path, *, durability: str) -> apsw.Connection:
    """The connection that may write.

    Makes the file, readable by its owner alone, when there is none.
    """
    # Only a file that is not there yet: closing a second descriptor of an open database would drop
    # this process's locks on it.
    with contextlib.suppress(FileExistsError):
        os.close(
            os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        )  # SQLite gives the log the same mode
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=_STATEMENTS_CACHED
    )
    connection.set_busy_timeout(BUSY_MS_MAX)
    _patiently(
        lambda: _recognise(connection, path)
    )  # before anything is changed in a file that may not be ours
    _patiently(lambda: _set(connection, "journal_mode", "wal", path=path))
    _set(connection, "synchronous", _SYNCHRONOUS[durability], path=path)
    _set(connection, "cache_size", -WRITER_CACHE_KIB, path=path)
    _set(
        connection, "secure_delete", 1, path=path
    )  # what is erased is overwritten, not only let go
    _set(connection, "journal_size_limit", WAL_KEPT_BYTES_MAX, path=path)
    return connection


def open_reader(path: Path) -> apsw.Connection:
    """A connection that cannot write."""
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READONLY, statementcachesize=_STATEMENTS_CACHED
    )
    connection.set_busy_timeout(BUSY_MS_MAX)
    _set(connection, "cache_size", -READER_CACHE_KIB, path=path)
    connection.pragma(
        "mmap_size", READER_MMAP_BYTES
    )  # only a wish: a build or file system without it is as good
    return connection


def enforce_references(connection: apsw.Connection, path: Path) -> None:
    """Enforce foreign keys from now on.

    After migrating: a step that rebuilds a table needs them off.
    """
    _set(connection, "foreign_keys", 1, path=path)


def migrate(connection: apsw.Connection, path: Path) -> int:
    """Bring the schema forward, one transaction a step; gives the version reached.

    Safe against another process that does the same: the version is read again under the write lock.
    """
    for step in migrations("sqlite"):
        if version_of(connection) >= step.number:
            continue
        connection.execute("begin immediate")
        try:
            if version_of(connection) < step.number:
                _apply(connection, path, step.number, step.sql)
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
    return version_of(connection)


def schema_at(path: Path) -> int:
    """The schema version of the store in a file; 0 = there is none. Raises StoreUnavailable."""
    if not path.is_file():
        return 0
    try:
        connection = open_reader(path)
        try:
            return (
                version_of(connection)
                if connection.pragma("application_id") == _APPLICATION_ID
                else 0
            )
        finally:
            connection.close()
    except ENGINE_FAILURES as error:
        raise unavailable(path, error) from error


def version_of(connection: apsw.Connection) -> int:
    """The schema version written in the file; 0 for an empty one."""
    return int(connection.pragma("user_version"))


def _apply(connection: apsw.Connection, path: Path, number: int, sql: str) -> None:
    connection.execute(sql).fetchall()  # to the end: a string of several statements runs lazily
    if broken := connection.execute("pragma foreign_key_check").fetchall():
        raise StoreUnavailable(
            f"{path}: schema {number} would leave {len(broken)} rows that refer to nothing; nothing was changed"
        )
    connection.pragma("application_id", _APPLICATION_ID)
    connection.pragma("user_version", number)


def _recognise(connection: apsw.Connection, path: Path) -> None:
    """Raise StoreTooNew for a store of a newer program, StoreUnavailable for a database of another
    one.
    """
    connection.execute("begin")  # one snapshot: another process may be making the store right now
    try:
        version, known = version_of(connection), len(migrations("sqlite"))
        is_empty = version == 0 and not connection.execute("select 1 from sqlite_schema").fetchall()
        is_ours = connection.pragma("application_id") == _APPLICATION_ID
    finally:
        connection.execute("commit")
    if not is_empty and not is_ours:
        raise StoreUnavailable(f"{path} is a database of another program; name another file")
    if version > known:
        ways = "start the newer one, or restore a backup"
        raise StoreTooNew(
            f"{path} has schema {version}, this Remembrancer knows schemas up to {known}: {ways}"
        )


def _set(connection: apsw.Connection, pragma: str, value: str | int, *, path: Path) -> None:
    connection.pragma(pragma, value)
    if (took := connection.pragma(pragma)) != value:
        raise StoreUnavailable(
            f"sqlite {path}: pragma {pragma} stayed {took!r} and did not become {value!r}"
        )


def _patiently(act: Callable[[], None]) -> None:
    # Two processes that turn the same new file to WAL at once exclude each other, and SQLite's busy
    # timeout does not cover that.
    last_ns = time.monotonic_ns() + BUSY_MS_MAX * 1_000_000
    while True:
        try:
            return act()
        except apsw.BusyError:
            if time.monotonic_ns() > last_ns:
                raise
            time.sleep(0.01)


_row_classes: dict[Any, Any] = {}  # by columns: there are few, and a class once made stays right


class SqliteTransaction:
    """Transaction of engine.py on one connection, from the outside's `begin` to its `commit`."""

    __slots__ = ("_connection", "_ended", "_given", "_path")

    def __init__(
        self, connection: apsw.Connection, path: Path, account_id: int | None = None
    ) -> None:
        self._connection, self._path = connection, path
        self._given = {} if account_id is None else {"account_id": account_id}
        self._ended: BaseException | None = None

    def run(self, sql: str, **values: Any) -> int:
        """Execute one statement; gives the number of rows it changed, what it changed elsewhere not
        counted.
        """
        before = self._connection.total_changes()
        self._execute(sql, values, lambda cursor: cursor.fetchall())
        return self._connection.changes() if self._connection.total_changes() != before else 0

    def one_or_none(self, sql: str, **values: Any) -> Row | None:
        """The first row, or None."""
        return self._execute(sql, values, _first)

    def one(self, sql: str, **values: Any) -> Row:
        """The first row. Raises LookupError when there is none."""
        row = self._execute(sql, values, _first)
        if row is None:
            raise LookupError(f"no row where there must be one: {sql}")
        return row

    def all(self, sql: str, **values: Any) -> list[Row]:
        """All rows, in the order of the query."""
        return self._execute(sql, values, _every)  # type: ignore[no-any-return]

    def end(self) -> None:
        """Refuse everything from now on: the transaction is over."""
        self._ended = self._ended or RuntimeError(
            "this transaction is over; nothing outside its action may keep it"
        )

    def _execute(self, sql: str, values: dict[str, Any], take: Callable[[apsw.Cursor], Any]) -> Any:
        if self._ended is not None:
            raise self._ended
        try:
            return take(self._connection.execute(sql, self._given | values))
        except ENGINE_FAILURES as error:
            # Such a failure may have rolled everything back already: a later statement would then
            # run, and stay, on its own.
            self._ended = unavailable(self._path, error)
            raise self._ended from error


def _row_class(cursor: apsw.Cursor) -> Any:
    columns = cursor.get_description()
    made = _row_classes.get(columns)
    if made is None:
        names = [column[0] for column in columns]
        made = _row_classes[columns] = namedtuple("Row", names, rename=True)  # noqa: PYI024  columns are known at run time only
    return made


def _first(cursor: apsw.Cursor) -> Row | None:
    try:
        row_class = _row_class(cursor)
    except apsw.ExecutionCompleteError:  # no row at all
        return None
    row = row_class._make(cursor.fetchone())
    # now, not at garbage collection: a statement still open would hold up the commit
    cursor.close()
    return row


def _every(cursor: apsw.Cursor) -> list[Row]:
    try:
        row_class = _row_class(cursor)
    except apsw.ExecutionCompleteError:
        return []
    return list(map(row_class._make, cursor.fetchall()))
