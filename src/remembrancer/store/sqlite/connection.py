"""One SQLite connection: open it with checked pragmas, migrate it, run named SQL."""

from __future__ import annotations

import contextlib
import errno
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import apsw

from ..engine import Row, StoreTooNew, StoreTooOld, StoreUnavailable, Transaction, reason_of
from ..schema import migrations

BUSY_MS_MAX = 5_000  # wait for the write lock of another process, such as the command line
# Further pages are in the operating system's cache. Readers are many, and each fills its own.
WRITER_CACHE_KIB, READER_CACHE_KIB = 4_096, 1_024
WAL_BYTES_MAX = 64 << 20  # size of the log that is kept after a burst
_STATEMENTS_CACHED = 256  # enough for all named queries
_SYNCHRONOUS = {"full": 2, "normal": 1}
_APPLICATION_ID = 0x52454D31  # "REM1" in the file's header marks our files
_EARLIER_ID = 0x52454D42  # "REMB": files of before 1.0.0, whose schemas had other numbers

# Temporary failures and failures of the file. Any other error of the driver is a bug in our SQL
# and is raised unchanged.
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


def unavailable(
    path: Path, error: BaseException, connection: apsw.Connection | None = None
) -> StoreUnavailable:
    """Return the error that callers get for an engine failure: the file and SQLite's message.

    `connection` is the one that failed: it has the error of the operating system.
    """
    reason = reason_of(_error_number(error, connection))
    text = f"{type(error).__name__.removesuffix('Error')}: {error}" + (reason and f" ({reason})")
    return StoreUnavailable(f"sqlite {path}: {text}", reason=reason)


def is_unflushed(error: BaseException) -> bool:
    """Return True if a whole commit was written to the log but not flushed.

    It is rolled back, but comes back if the server is killed before the next commit.
    """
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_FSYNC


def _error_number(error: BaseException, connection: apsw.Connection | None) -> int | None:
    match error:
        case OSError():
            return error.errno
        case apsw.FullError():
            return errno.ENOSPC
        case apsw.ReadOnlyError():
            return errno.EROFS
        case MemoryError() | apsw.NoMemError():
            return errno.ENOMEM
        case apsw.IOError():
            return (connection.system_errno if connection else 0) or errno.EIO
        case _:
            return None


def connect(name: str, flags: int) -> apsw.Connection:
    """Open a database that keeps the plan of a statement whatever values are bound to it.

    Without this guarantee SQLite plans a statement again at every execution if a value could choose
    another index. It is a third of the time of a search in a small memory, and no plan of ours
    depends on a value.
    """
    connection = apsw.Connection(name, flags=flags, statementcachesize=_STATEMENTS_CACHED)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def open_writer(path: Path, *, durability: str) -> apsw.Connection:
    """Open the connection that may write.

    Creates the file, readable by its owner only, if there is none.
    """
    # Only for a new file: closing a second descriptor of an open database would release
    # this process's locks on it.
    with contextlib.suppress(FileExistsError):
        # SQLite gives the log the same mode
        path.touch(0o600, exist_ok=False)
    connection = connect(str(path), apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_MS_MAX)
    # before anything is changed in a file that may not be ours
    _retry_while_busy(lambda: _check_ownership(connection, path))
    _retry_while_busy(lambda: _set(connection, "journal_mode", "wal", path=path))
    _set(connection, "synchronous", _SYNCHRONOUS[durability], path=path)
    _set(connection, "cache_size", -WRITER_CACHE_KIB, path=path)
    _set(connection, "secure_delete", 1, path=path)  # erased data is overwritten
    _set(connection, "journal_size_limit", WAL_BYTES_MAX, path=path)
    return connection


def open_reader(path: Path) -> apsw.Connection:
    """Open a read-only connection.

    The file is not mapped: a page that the disk cannot read would end the process by a signal,
    where a read fails one request. 10 rows take 15 microseconds longer.
    """
    connection = connect(str(path), apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_MS_MAX)
    _set(connection, "cache_size", -READER_CACHE_KIB, path=path)
    return connection


def enforce_references(connection: apsw.Connection, path: Path) -> None:
    """Enforce foreign keys from now on.

    Call it after migrating: a migration that rebuilds a table needs them off.
    """
    _set(connection, "foreign_keys", 1, path=path)


def migrate(connection: apsw.Connection, path: Path) -> int:
    """Apply all missing migrations, one transaction each; return the version reached.

    Safe against another process that does the same: the version is read again under the write lock.
    """
    for step in migrations("sqlite"):
        if version_of(connection) >= step.number:
            continue
        with _immediate(connection):
            if version_of(connection) < step.number:
                _apply(connection, path, step.number, step.sql)
    return version_of(connection)


@contextlib.contextmanager
def _immediate(connection: apsw.Connection) -> Iterator[None]:
    """Run the block in a transaction with the write lock."""
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def schema_at(path: Path) -> int:
    """Return the schema version of the store in a file; 0 if there is none.

    Raises StoreTooOld and StoreUnavailable.
    """
    if not path.is_file():
        return 0
    try:
        connection = open_reader(path)
        try:
            return version_of(connection) if is_ours(connection, path) else 0
        finally:
            connection.close()
    except ENGINE_FAILURES as error:
        raise unavailable(path, error) from error


def is_ours(connection: apsw.Connection, path: Path) -> bool:
    """Return True if a file is a store. Raises StoreTooOld for one of before 1.0.0."""
    application = connection.pragma("application_id")
    if application == _EARLIER_ID:
        raise StoreTooOld(str(path))
    return bool(application == _APPLICATION_ID)


def version_of(connection: apsw.Connection) -> int:
    """Return the schema version of the file; 0 for an empty one."""
    return int(connection.pragma("user_version"))


def _apply(connection: apsw.Connection, path: Path, number: int, sql: str) -> None:
    connection.execute(
        sql
    ).fetchall()  # fetched to the end: several statements in a string run lazily
    if broken := connection.execute("pragma foreign_key_check").fetchall():
        raise StoreUnavailable(
            f"{path}: schema {number} would leave {len(broken)} rows with broken references;"
            " nothing was changed"
        )
    connection.pragma("application_id", _APPLICATION_ID)
    connection.pragma("user_version", number)


def _check_ownership(connection: apsw.Connection, path: Path) -> None:
    """Raise StoreTooNew for a store of a newer program, StoreTooOld for one of before 1.0.0,
    StoreUnavailable for another program's database.
    """
    connection.execute("begin")  # one snapshot: another process may be creating the store now
    try:
        version, newest = version_of(connection), len(migrations("sqlite"))
        is_empty = version == 0 and not connection.execute("select 1 from sqlite_schema").fetchall()
        is_store = is_ours(connection, path)
    finally:
        connection.execute("commit")
    if not is_empty and not is_store:
        raise StoreUnavailable(f"{path} is a database of another program; choose another file")
    if version > newest:
        remedy = "start the newer version, or restore a backup"
        raise StoreTooNew(
            f"{path} has schema {version}, this Remembrancer supports up to {newest}: {remedy}"
        )


def _set(connection: apsw.Connection, pragma: str, value: str | int, *, path: Path) -> None:
    connection.pragma(pragma, value)
    if (actual := connection.pragma(pragma)) != value:
        raise StoreUnavailable(f"sqlite {path}: pragma {pragma} is {actual!r}, not {value!r}")


def _retry_while_busy(action: Callable[[], None]) -> None:
    # Two processes that switch the same new file to WAL exclude each other, and SQLite's busy
    # timeout does not cover that.
    last_ns = time.monotonic_ns() + BUSY_MS_MAX * 1_000_000
    while True:
        try:
            return action()
        except apsw.BusyError:
            if time.monotonic_ns() > last_ns:
                raise
            time.sleep(0.01)


_row_makers: dict[Any, Callable[[Any], Row]] = {}  # by columns


class SqliteTransaction:
    """Transaction on one connection, between `begin` and `commit` of its caller."""

    __slots__ = ("_connection", "_defaults", "_ended", "_path")

    def __init__(
        self, connection: apsw.Connection, path: Path, account_id: int | None = None
    ) -> None:
        self._connection, self._path = connection, path
        self._defaults = {} if account_id is None else {"account_id": account_id}
        self._ended: BaseException | None = None

    def run(self, sql: str, **values: Any) -> int:
        """Execute one statement; return the number of changed rows, without those of triggers."""
        before = self._connection.total_changes()
        self._execute(sql, values, lambda cursor: cursor.fetchall())
        return self._connection.changes() if self._connection.total_changes() != before else 0

    def one_or_none(self, sql: str, **values: Any) -> Row | None:
        """Return the first row, or None."""
        return self._execute(sql, values, _first)

    def one(self, sql: str, **values: Any) -> Row:
        """Return the first row. Raises LookupError if there is none."""
        row = self._execute(sql, values, _first)
        if row is None:
            raise LookupError(f"the query returned no row: {sql}")
        return row

    def all(self, sql: str, **values: Any) -> list[Row]:
        """Return all rows, in the order of the query."""
        return self._execute(sql, values, _every)  # type: ignore[no-any-return]

    def later(self, sql: str, **values: Any) -> Callable[[], list[Row]]:
        """Execute one statement, and return a function that returns its rows."""
        rows = self.all(sql, **values)
        return lambda: rows

    def end(self) -> None:
        """Reject further statements: the transaction is over."""
        self._ended = self._ended or RuntimeError(
            "this transaction is over; do not use it outside its action"
        )

    def _execute(self, sql: str, values: dict[str, Any], take: Callable[[apsw.Cursor], Any]) -> Any:
        if self._ended is not None:
            raise self._ended
        try:
            return take(self._connection.execute(sql, self._defaults | values))
        except ENGINE_FAILURES as error:
            # The failure may have rolled back everything: a later statement would then run, and
            # be committed, by itself.
            self._ended = unavailable(self._path, error, self._connection)
            raise self._ended from error


def _row_maker(cursor: apsw.Cursor) -> Callable[[Any], Row]:
    """Return what makes a row of a tuple. Raises ExecutionCompleteError if there are no rows."""
    columns = cursor.get_description()
    if columns not in _row_makers:
        names = [column[0] for column in columns]
        # Not `_make`, which takes three times as long.
        _row_makers[columns] = partial(tuple.__new__, namedtuple("Row", names, rename=True))  # noqa: PYI024
    return _row_makers[columns]


def _first(cursor: apsw.Cursor) -> Row | None:
    try:
        row = _row_maker(cursor)(cursor.fetchone())
    except apsw.ExecutionCompleteError:
        return None
    # now, not at garbage collection: an open statement would delay the commit
    cursor.close()
    return row


def _every(cursor: apsw.Cursor) -> list[Row]:
    try:
        maker = _row_maker(cursor)
    except apsw.ExecutionCompleteError:
        return []
    return list(map(maker, cursor.fetchall()))


_SCHEMA = "select type, name, tbl_name, sql from sqlite_schema"


def copy_file(source: Path, target: Path, *, flush: bool = True) -> None:
    """Write the store at `source` as of one moment to the new file `target`, readable by its owner
    only, of whatever schema it is.

    Without `flush`, a power cut may damage the copy. Raises StoreUnavailable.
    """
    try:
        target.touch(0o600, exist_ok=False)
        with closing(open_reader(source)) as reader:
            reader.pragma("mmap_size", 0)  # every page is read once: no use in keeping them
            copy_pages(reader, target, flush=flush)
    except (OSError, *ENGINE_FAILURES) as error:
        raise unavailable(source, error) from error


class ChangeWatch:
    """Tells whether a store was written to, without reading it. A context manager."""

    def __init__(self, path: Path) -> None:
        """Open the store. Raises StoreUnavailable."""
        self._path = path
        try:
            self._connection = open_reader(path)
        except ENGINE_FAILURES as error:
            raise unavailable(path, error) from error

    def version(self) -> int:
        """Return a number that changes with every commit. Raises StoreUnavailable."""
        try:
            return int(self._connection.pragma("data_version"))
        except ENGINE_FAILURES as error:
            raise unavailable(self._path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def copy_pages(reader: apsw.Connection, target: Path, *, flush: bool = True) -> None:
    """Copy the database of a connection to the file `target`, in one read transaction.

    Raises errors of the driver.
    """
    with closing(
        connect(str(target), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    ) as copy:
        if not flush:
            copy.pragma("synchronous", 0)
            copy.pragma("journal_mode", "off")
        with copy.backup("main", reader, "main") as run:
            run.step(-1)  # all pages in one step: several steps would restart at every write


@contextmanager
def reading(path: Path) -> Iterator[Transaction]:
    """Read a copy that nobody writes to, without changing a byte or migrating it.

    Raises StoreTooOld and StoreUnavailable.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(connect(f"file:{quote(str(path))}?immutable=1", flags)) as copy:
            transaction = SqliteTransaction(copy, path)
            try:
                copy.execute("begin")
                is_ours(copy, path)
                yield transaction
            finally:
                transaction.end()
    except ENGINE_FAILURES as error:
        raise unavailable(path, error) from error


@contextmanager
def editing(path: Path) -> Iterator[Transaction]:
    """Change a copy in one transaction, without migrating it. Raises StoreUnavailable."""
    try:
        with closing(connect(str(path), apsw.SQLITE_OPEN_READWRITE)) as copy:
            copy.pragma("secure_delete", 1)
            transaction = SqliteTransaction(copy, path)
            with copy:
                yield transaction
            transaction.end()
    except ENGINE_FAILURES as error:
        raise unavailable(path, error) from error


def schema_of(tx: Transaction) -> int:
    """Return the schema version of a copy."""
    return int(tx.one("pragma user_version").user_version)


def require_schema(tx: Transaction, path: Path, version: int) -> None:
    """Raise StoreUnavailable if a copy has other tables, indexes or triggers than its version has.

    Those of a newer program are unknown.
    """
    steps = migrations("sqlite")
    if version > len(steps):
        return
    with closing(apsw.Connection(":memory:")) as fresh:
        for step in steps[:version]:
            fresh.execute(step.sql).fetchall()
        expected = set(fresh.execute(_SCHEMA).fetchall())
    if others := {tuple(row) for row in tx.all(_SCHEMA)} ^ expected:
        names = ", ".join(sorted({str(name) for _, name, _, _ in others})[:5])
        raise StoreUnavailable(
            f"{path}: the schema differs from that of version {version}: {names}"
        )


def require_sound(tx: Transaction, path: Path) -> None:
    """Raise StoreUnavailable if pages or references of a copy are damaged."""
    faults = [row[0] for row in tx.all("pragma integrity_check(1)") if row[0] != "ok"]
    if not faults and tx.all("pragma foreign_key_check"):
        faults = ["rows refer to rows that are missing"]
    if faults:
        raise StoreUnavailable(f"{path}: {faults[0]}")
