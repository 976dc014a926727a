"""The store on SQLite: connections with checked pragmas, one writer, snapshots, range locks."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import struct
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import apsw

from ...fair_queue import FairQueue
from ..engine import (
    NamedLocks,
    OutcomeUnknown,
    Row,
    StoreTooNew,
    StoreTooOld,
    StoreUnavailable,
    Transaction,
    reason_of,
)
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


@contextlib.contextmanager
def engine_errors(path: Path) -> Iterator[None]:
    """Raise StoreUnavailable for a failure of the engine or of the system in the block."""
    try:
        yield
    except (OSError, *ENGINE_FAILURES) as error:
        raise unavailable(path, error) from error


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
    with engine_errors(path), closing(open_reader(path)) as connection:
        return version_of(connection) if is_ours(connection, path) else 0


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
    # fetched to the end: several statements in a string run lazily
    connection.execute(sql).fetchall()
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

    last = one  # the writer commits the actions of many callers together

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
    with engine_errors(source):
        target.touch(0o600, exist_ok=False)
        with (
            closing(open_reader(source)) as reader,
            closing(connect(str(target), apsw.SQLITE_OPEN_READWRITE)) as copy,
        ):
            if not flush:
                copy.pragma("synchronous", 0)
                copy.pragma("journal_mode", "off")
            with copy.backup("main", reader, "main") as run:
                run.step(-1)  # all pages in one step: several steps would restart at every write


class ChangeWatch:
    """Tells whether a store was written to, without reading it."""

    def __init__(self, path: Path) -> None:
        """Open the store. Raises StoreUnavailable."""
        self._path = path
        with engine_errors(path):
            self._connection = open_reader(path)

    def version(self) -> int:
        """Return a number that changes with every commit. Raises StoreUnavailable."""
        with engine_errors(self._path):
            return int(self._connection.pragma("data_version"))

    def close(self) -> None:
        """Close the store."""
        self._connection.close()


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


SUFFIX = ".locks"
_FLOCK = "hhqqi0q"  # struct flock: type, from where, start, length, process (0 for these locks)
_WRITE_QUEUE, _WRITE = (1 << 62) + 1, (1 << 62) + 2  # beyond every name


class RangeLocks:
    """Locks by name, and the turn to write, on the file `path`, which is created."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises OSError."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # Of `PyDLL`, so that an attempt that need not wait does not release the interpreter's
        # lock, which a busy server takes milliseconds to get back.
        self._fcntl = ctypes.PyDLL(None, use_errno=True).fcntl

    def close(self) -> None:
        """Release all locks. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    @contextmanager
    def lock(self, names: Iterable[str], *, wait: bool) -> Iterator[bool]:
        """Hold the locks of these names for the block; yield False if one is taken and `wait` is
        False. Raises OSError.
        """
        # in order, so that two processes never wait for each other
        places = sorted({_place(name) for name in names})
        with ExitStack() as locks:
            is_locked = all(locks.enter_context(self._hold(place, wait=wait)) for place in places)
            if not is_locked:
                locks.close()
            yield is_locked

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this process's turn to write, and hold it for the block. Raises OSError.

        The process that waits next holds the queue, so that one which writes without a pause does
        not take the turn again and again.
        """
        with ExitStack() as turn:
            with self._hold(_WRITE_QUEUE):
                turn.enter_context(self._hold(_WRITE))
            yield

    @contextmanager
    def _hold(self, place: int, *, wait: bool = True) -> Iterator[bool]:
        """Hold the lock of one byte for the block; yield False if it is taken and `wait` is
        False.
        """
        request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
        is_locked = self._try(request)
        if wait and not is_locked:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLKW, request)
            is_locked = True
        try:
            yield is_locked
        finally:
            if is_locked:
                release = struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, place, 1, 0)
                self._fcntl(self._file, fcntl.F_OFD_SETLK, release)

    def _try(self, request: bytes) -> bool:
        if self._fcntl(self._file, fcntl.F_OFD_SETLK, request) == 0:
            return True
        number = ctypes.get_errno()
        if number in (11, 13):  # EAGAIN, EACCES: another process has it
            return False
        raise OSError(number, os.strerror(number))


def _place(name: str) -> int:
    """Return the byte of a name. Two names that share one only wait for each other."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


# --- The embedded store: one SQLite file, one writer thread, and a pool of readers -----------

# pragma synchronous = normal: a commit is passed to the operating system and survives the death
# of this process
_SYNCHRONOUS_NORMAL = 1
# Writes per commit: enough to share the flush, and a bound on how many others a caller waits
# for.
BATCH_MAX = 64

T = TypeVar("T")

_INDEXES = ".indexes"  # suffix of the folder of the index segments
# The log still has the words of a page that was overwritten. It is emptied so long after a commit,
# and again while somebody reads it; writers wait for such a reader for so many milliseconds.
LOG_SECONDS, _LOG_AGAIN_SECONDS, _LOG_BUSY_MS = 2.0, 1.0, 25
READERS_MAX = 16  # a reader takes a few MB and three descriptors; more threads wait


class SqliteStore:
    """Store on the SQLite file `path`, created or migrated on opening; see engine.Store.

    `durability` "full": an answered write survives power loss; "normal": it survives a killed
    process only. With `is_shared`, other processes serve the same file: locks cover them and those
    that open it later, and all take turns to write. Raises StoreTooNew, StoreTooOld and
    StoreUnavailable.
    """

    def __init__(
        self, path: str | Path, *, durability: str = "full", is_shared: bool = False
    ) -> None:
        if durability not in ("full", "normal"):
            raise ValueError(f"durability must be full or normal, not {durability!r}")
        self._path, self._durability, self.is_shared = Path(path), durability, is_shared
        self._inside = threading.local()
        self._reader_slots = threading.BoundedSemaphore(READERS_MAX)
        self._idle: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        self._names = NamedLocks()
        self._ranges = self._open_ranges(create=is_shared)
        self._writer = SqliteWriter(
            self._path, self._connect(), self._connect, self._inside, self._ranges
        )

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` on the writer thread; see Store.write. Raises RuntimeError within another
        action.

        A caller that is interrupted while waiting does not know whether the write happened.
        """
        self._refuse_nesting()
        return self._writer.write(action, account_id=account_id, flush=flush)  # type: ignore[no-any-return]

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """Run `action` on one snapshot in this thread; see Store.read.

        Raises RuntimeError within another action.
        """
        self._refuse_nesting()
        with self._reader() as connection:
            transaction = SqliteTransaction(connection, self._path, account_id)
            self._inside.transaction = True
            try:
                connection.execute("begin")
                return action(transaction)
            finally:
                self._inside.transaction = False
                transaction.end()

    def count(self, sql: str, **values: Any) -> Row | None:
        """See Store.count."""
        return self.write(lambda tx: tx.one_or_none(sql, **values), flush=False)

    def look_up(self, sql: str, **values: Any) -> Row | None:
        """Run one query in this thread; see Store.look_up."""
        self._refuse_nesting()
        with self._reader() as connection:
            return SqliteTransaction(connection, self._path).one_or_none(sql, **values)

    @contextmanager
    def lock(self, *names: str, wait: bool = True) -> Iterator[bool]:
        """See Store.lock. Covers this process only, unless the store is or was shared."""
        self._refuse_nesting()
        if self._closed:
            raise StoreUnavailable(f"sqlite {self._path}: the store is closed")
        # first among the threads of this process, which share the locks of the file
        with self._names.lock(names, wait=wait) as is_ours:
            if not is_ours or self._ranges is None or not names:
                yield is_ours
                return
            with self._ranges.lock(names, wait=wait) as is_locked:
                yield is_locked

    @property
    def index_folder(self) -> Path:
        """Return the folder beside the file; see Store.index_folder."""
        return self._path.with_name(self._path.name + _INDEXES)

    @property
    def supports_vector_search(self) -> bool:
        """Always False: rows are loaded and searched in memory."""
        return False

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """Raise StoreUnavailable: not supported; see Store.run_outside_transaction."""
        raise StoreUnavailable(
            f"sqlite: cannot run outside of transactions (memory_bytes={memory_bytes}): {statement}"
        )

    def schema_version(self) -> int:
        """Return the number of the last migration applied."""
        with self._reader() as connection:
            return version_of(connection)

    def check_writes(self) -> None:
        """See Store.check_writes."""
        if self._writer.is_failing:
            # writes the page of the version
            self.write(lambda tx: tx.run(f"pragma user_version = {len(migrations('sqlite'))}"))

    def close(self) -> None:
        """Finish pending writes and close all connections. Idempotent."""
        self._refuse_nesting()
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        self._writer.close()  # last: the writer merges the log back into the file
        if self._ranges is not None:
            self._ranges.close()

    def _open_ranges(self, *, create: bool) -> RangeLocks | None:
        """Open the locks of all processes that use the file.

        A command that runs beside a server of several processes takes its turn among them.
        """
        path = self._path.with_name(self._path.name + SUFFIX)
        if not create and not path.exists():
            return None
        with engine_errors(path):
            return RangeLocks(path)

    def _connect(self) -> apsw.Connection:
        with engine_errors(self._path):
            connection = open_writer(self._path, durability=self._durability)
            migrate(connection, self._path)
            enforce_references(connection, self._path)
            return connection

    def _refuse_nesting(self) -> None:
        if getattr(self._inside, "transaction", False):
            raise RuntimeError(
                "the store was called within an action; use the transaction passed to the action"
            )

    @contextmanager
    def _reader(self) -> Iterator[apsw.Connection]:
        """Lend a connection for the block. Raises StoreUnavailable."""
        connection = None
        with self._reader_slots:
            try:
                with self._lock:
                    if self._closed:
                        raise StoreUnavailable(f"sqlite {self._path}: the store is closed")
                    connection = self._idle.pop() if self._idle else None
                connection = connection or open_reader(self._path)
                yield connection
            except ENGINE_FAILURES as error:
                raise unavailable(self._path, error, connection) from error
            finally:
                if connection is not None:
                    self._give_back(connection)

    def _give_back(self, connection: apsw.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("rollback")
        except apsw.Error:
            connection.close(True)
            return
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()


class _Write:
    """One caller's action, and its result after `finish`."""

    __slots__ = ("_finished", "account_id", "action", "error", "flush", "result")

    def __init__(
        self, action: Callable[[Transaction], Any], *, account_id: int | None, flush: bool
    ) -> None:
        self.action, self.account_id, self.flush = action, account_id, flush
        self.result: Any = None
        self.error: BaseException | None = None
        self._finished = threading.Lock()  # a latch: a third of an Event's cost
        self._finished.acquire()

    def finish(self) -> None:
        self._finished.release()

    def wait(self) -> Any:
        self._finished.acquire()
        if self.error is None:
            return self.result
        try:
            raise self.error
        finally:
            self.error = None  # else error, traceback and this frame hold each other


class SqliteWriter:
    """Group commit over one connection, reopened by `connect` after a failure.

    `inside` marks the thread that runs an action.
    """

    def __init__(
        self,
        path: Path,
        connection: apsw.Connection,
        connect: Callable[[], apsw.Connection],
        inside: threading.local,
        ranges: RangeLocks | None,
    ) -> None:
        self._path, self._connect, self._inside = path, connect, inside
        self._turn = nullcontext if ranges is None else ranges.turn
        self._synchronous = int(connection.pragma("synchronous"))
        self._connection: apsw.Connection | None = connection
        self._queue: FairQueue[_Write] = FairQueue()  # by account
        self._postponed: _Write | None = None  # taken from the queue for the next commit
        self._flushes: bool | None = None  # current mode of the connection; None = unknown
        self.is_failing = False  # the last commit failed
        # when the log is emptied next, monotonic: a process that was killed may have left one
        self._log_due: float | None = time.monotonic() + LOG_SECONDS
        # A daemon, so that a program that forgot to close can exit; only unanswered writes
        # are lost then.
        self._thread = threading.Thread(target=self._work, name="remembrancer-writer", daemon=True)
        self._thread.start()

    def write(
        self, action: Callable[[Transaction], Any], *, account_id: int | None, flush: bool
    ) -> Any:
        """Run `action` in one commit with others; see Store.write."""
        write = _Write(action, account_id=account_id, flush=flush)
        try:
            self._queue.put(account_id, write)
        except RuntimeError:
            raise StoreUnavailable(f"sqlite {self._path}: the store is closed") from None
        return write.wait()

    def close(self) -> None:
        """Finish queued writes, then close the connection. Idempotent."""
        self._queue.close()
        self._thread.join()

    def _work(self) -> None:
        while True:
            batch: list[_Write] = []
            write: _Write | None
            try:
                write = self._postponed or self._next()
                if write is None:
                    break
                batch, self._postponed = [write], None
                with self._turn():
                    self._commit(batch)
            except BaseException as error:  # noqa: BLE001  the callers get it
                self._fail(batch, error)
            while batch:
                batch.pop().finish()
            write = None  # free the result while waiting for the next write
        if self._log_due is not None:
            self._empty_log()  # other processes may still have the file open
        if self._connection is not None:
            self._connection.close()

    def _fail(self, batch: list[_Write], error: BaseException) -> None:
        """Give up, also without memory for it: callers of a thread that ended would wait for ever.

        Without a connection, the next write opens another one.
        """
        try:
            self._give_up(batch, error)
        except MemoryError:
            self._connection = None
            for write in batch:
                write.error = write.error or error

    def _next(self) -> _Write | None:
        """Wait for a write, and empty the log when it is time; None at the end."""
        while True:
            left = None if self._log_due is None else self._log_due - time.monotonic()
            try:
                if left is None or left > 0:
                    item = self._queue.get(left)
                    return None if item is None else item[1]
            except TimeoutError:
                pass
            self._empty_log()

    def _empty_log(self) -> None:
        """Move the pages of the log into the file and truncate it; later if somebody reads it."""
        connection, self._log_due = self._connection, None
        if connection is None:
            return  # the next write opens another one, and has the log emptied
        connection.set_busy_timeout(_LOG_BUSY_MS)
        try:
            with self._turn():
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except (OSError, *ENGINE_FAILURES):  # if it lasts, the next commit reports it
            self._log_due = time.monotonic() + _LOG_AGAIN_SECONDS
        finally:
            connection.set_busy_timeout(BUSY_MS_MAX)

    def _commit(self, batch: list[_Write]) -> None:
        """Run the batch, and writes that arrive meanwhile, in one transaction."""
        if self._connection is None:
            self._connection, self._flushes = self._connect(), None
        connection = self._connection
        if self._flushes is not batch[0].flush:  # possible only between transactions
            connection.pragma(
                "synchronous", self._synchronous if batch[0].flush else _SYNCHRONOUS_NORMAL
            )
            self._flushes = batch[0].flush
        connection.execute("begin immediate")
        while True:
            self._run(connection, batch[-1])
            if len(batch) == BATCH_MAX or not self._another(batch):
                break
        if all(write.error for write in batch):
            connection.execute("rollback")  # nothing to commit, nothing to flush
        else:
            connection.execute("commit")
            self._log_due = self._log_due or time.monotonic() + LOG_SECONDS
        self.is_failing = any(isinstance(write.error, StoreUnavailable) for write in batch)

    def _another(self, batch: list[_Write]) -> bool:
        """Move one more queued write into the batch; return False if there is none.

        A write that must be flushed never joins a batch that need not be.
        """
        if self._postponed is not None:
            return False
        item = self._queue.get_nowait()
        if item is None:
            return False
        write = item[1]
        if write.flush and not batch[0].flush:
            self._postponed = write
            return False
        batch.append(write)
        return True

    def _run(self, connection: apsw.Connection, write: _Write) -> None:
        start = time.perf_counter()
        connection.execute("savepoint action")
        transaction = SqliteTransaction(connection, self._path, write.account_id)
        self._inside.transaction = True
        try:
            write.result = write.action(transaction)
        except BaseException as error:  # noqa: BLE001  raised again in the calling thread
            write.error = error
        finally:
            self._inside.transaction = False
            transaction.end()
            self._queue.charge(write.account_id, time.perf_counter() - start)
        # after a full disk, for example, SQLite has rolled back everything, neighbours included
        if not connection.in_transaction:
            raise write.error or RuntimeError("an action ended its transaction")
        if write.error is not None:
            connection.execute("rollback to action")
        connection.execute("release action")

    def _give_up(self, batch: list[_Write], error: BaseException) -> None:
        """Fail every write of the batch, and reconnect unless SQLite is merely busy."""
        while len(batch) < BATCH_MAX and self._another(batch):
            pass  # queued writes would wait for the same failure
        connection = self._connection
        failure = (
            error
            if isinstance(error, StoreUnavailable)
            else unavailable(self._path, error, connection)
        )
        kind = OutcomeUnknown if is_unflushed(error) else StoreUnavailable
        self.is_failing = True
        for write in batch:
            if write.error is None:
                # one error each, because a traceback belongs to one thread
                write.result, write.error = None, kind(str(failure), reason=failure.reason)
                write.error.__cause__ = error
        if connection is None:
            return
        try:
            if connection.in_transaction:
                connection.execute("rollback")
            if isinstance(error, apsw.BusyError):
                return
            connection.close(True)
        except apsw.Error:
            pass  # it is discarded in any case
        self._connection = None
