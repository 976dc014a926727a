"""The embedded store:

one SQLite file, one thread that writes, a few connections that read beside it.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from ..engine import Row, StoreUnavailable, Transaction
from ..named_locks import NamedLocks
from .connection import (
    ENGINE_FAILURES,
    SqliteTransaction,
    enforce_references,
    migrate,
    open_reader,
    open_writer,
    unavailable,
    version_of,
)
from .writer import SqliteWriter

T = TypeVar("T")

READERS_MAX = 16  # a reader is a few MB and three descriptors; threads beyond that wait for one


class SqliteStore:
    """Store of engine.py on the file `path`, made or migrated on opening.

    `durability` "full": an answered write survives power loss; "normal": it survives a killed
    process only. Raises StoreTooNew and StoreUnavailable.
    """

    is_shared = False

    def __init__(self, path: str | Path, *, durability: str = "full") -> None:
        if durability not in ("full", "normal"):
            raise ValueError(f"durability must be full or normal, not {durability!r}")
        self._path, self._durability = Path(path), durability
        self._inside = threading.local()
        self._seats = threading.BoundedSemaphore(READERS_MAX)
        self._idle: list[apsw.Connection] = []
        self._gate = threading.Lock()
        self._closed = False
        self._names = NamedLocks()
        self._writer = SqliteWriter(self._path, self._connect(), self._connect, self._inside)

    def write(
        self,
        action: Callable[[Transaction], T],
        *,
        account_id: int | None = None,
        flush: bool = True,
    ) -> T:
        """Run `action` on the writing thread; see Store.write. RuntimeError from within another
        action.

        A caller that is interrupted while it waits does not know whether the write happened.
        """
        self._refuse_nesting()
        return self._writer.write(action, account_id=account_id, flush=flush)  # type: ignore[no-any-return]

    def read(self, action: Callable[[Transaction], T], *, account_id: int | None = None) -> T:
        """Run `action` on one snapshot in this thread; see Store.read.

        RuntimeError from within another action.
        """
        self._refuse_nesting()
        with self._seats:
            connection = self._take()
            transaction = SqliteTransaction(connection, self._path, account_id)
            self._inside.transaction = True
            try:
                connection.execute("begin")
                return action(transaction)
            except ENGINE_FAILURES as error:
                raise unavailable(self._path, error) from error
            finally:
                self._inside.transaction = False
                transaction.end()
                self._give_back(connection)

    def count(self, sql: str, **values: Any) -> Row | None:
        """See Store.count."""
        return self.write(lambda tx: tx.one_or_none(sql, **values), flush=False)

    def lock(self, *names: str, wait: bool = True) -> AbstractContextManager[bool]:
        """See Store.alone: of the threads of this process, as a data folder has one server."""
        self._refuse_nesting()
        if self._closed:
            raise StoreUnavailable(f"sqlite {self._path}: the store is closed")
        return self._names.lock(names, wait=wait)

    def backup(self, path: str) -> None:
        """Write a consistent copy to the new file `path`: under another name first, so that it is
        whole or not there.

        Raises FileExistsError and StoreUnavailable.
        """
        target = Path(path)
        if target.exists():
            raise FileExistsError(f"{target} exists; a backup never overwrites")
        part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        try:
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            self._copy(part)
            _flush(part)
            part.rename(target)
            _flush(target.parent)
        except (OSError, *ENGINE_FAILURES) as error:
            raise StoreUnavailable(f"backup to {target}: {error}") from error
        finally:
            part.unlink(missing_ok=True)

    @property
    def supports_vector_search(self) -> bool:
        """It does not: rows are read into memory, and searched there."""
        return False

    def run_outside_transaction(self, statement: str, *, memory_bytes: int = 0) -> None:
        """Refuse; see Store.build."""
        raise StoreUnavailable(
            f"sqlite: nothing is built outside of transactions, nor with {memory_bytes} bytes: {statement}"
        )

    def schema_version(self) -> int:
        """Number of the last migration applied."""
        with self._seats:
            connection = self._take()
            try:
                return version_of(connection)
            except ENGINE_FAILURES as error:
                raise unavailable(self._path, error) from error
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Finish the writes under way and let go of everything. Idempotent."""
        self._refuse_nesting()
        with self._gate:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        self._writer.close()  # last: the connection that may write folds the log back into the file

    def _connect(self) -> apsw.Connection:
        try:
            connection = open_writer(self._path, durability=self._durability)
            migrate(connection, self._path)
            enforce_references(connection, self._path)
        except (OSError, *ENGINE_FAILURES) as error:
            raise unavailable(self._path, error) from error
        return connection

    def _refuse_nesting(self) -> None:
        if getattr(self._inside, "transaction", False):
            raise RuntimeError(
                "the store was called from inside an action; use the transaction that the action was given"
            )

    def _take(self) -> apsw.Connection:
        with self._gate:
            if self._closed:
                raise StoreUnavailable(f"sqlite {self._path}: the store is closed")
            if self._idle:
                return self._idle.pop()
        try:
            return open_reader(self._path)
        except ENGINE_FAILURES as error:
            raise unavailable(self._path, error) from error

    def _give_back(self, connection: apsw.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("rollback")
        except apsw.Error:
            connection.close(True)
            return
        with self._gate:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _copy(self, part: Path) -> None:
        with self._seats:
            source = self._take()
            copy = apsw.Connection(str(part))
            try:
                with copy.backup("main", source, "main") as backup:
                    backup.step(
                        -1
                    )  # all at once is one snapshot; step by step would start again at every write
            finally:
                copy.close()
                self._give_back(source)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
