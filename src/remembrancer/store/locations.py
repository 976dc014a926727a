"""Places of stores: their URLs, their data folder, and its lock."""

from __future__ import annotations

import fcntl
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from ..settings import SettingInvalid
from .durable import private
from .engine import DataFolderBusy, DataFolderReadable, Pool, Store, StoreUnavailable

# --- One server per data folder, by an advisory lock that dies with it; no other user may enter

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FILE = "server.lock"


def require_private(folder: Path) -> None:
    """Raise DataFolderReadable, with the command that mends it, unless only its owner may enter."""
    status = folder.stat()
    if not status.st_mode & _OTHERS:
        return
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    remedy = f"Run: chmod 700 {shlex.quote(str(folder))}"
    if status.st_uid != os.geteuid():
        # such as a volume of Kubernetes, which belongs to root
        remedy = (
            "It belongs to another user, so name a new folder in it, which the server creates: "
            f"REMEMBRANCER_DATA={shlex.quote(str(folder / 'server'))}"
        )
    raise DataFolderReadable(f"other users may enter the data folder {folder} ({mode}). {remedy}")


def hold(folder: Path) -> IO[bytes]:
    """Lock an existing folder for this process, until the file that this returns is closed.

    The file stays: removing it would let two servers lock two files of one name. Raises
    DataFolderBusy with the process that holds it, and StoreUnavailable if locking fails.
    """
    path = folder / _FILE
    try:
        with ExitStack() as until_held:
            lock = until_held.enter_context(open(path, "a+b", buffering=0, opener=private))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n".encode())
            until_held.pop_all()
            return lock
    except BlockingIOError as error:
        holder = path.read_text("ascii", "replace").strip()
        raise DataFolderBusy(
            f"another server{f' (process {holder})' if holder else ''} runs on {folder}"
        ) from error
    except OSError as error:
        raise StoreUnavailable(f"cannot lock {path}: {error}") from error


# --- Store URLs: open the store at one, and inspect it while no server has it open -----------

# Several processes may serve a SQLite file where locks can belong to an open file: on Linux.
IS_SHAREABLE = hasattr(fcntl, "F_OFD_SETLK")


def open_store(
    url: str, *, durability: str = "full", pool: Pool | None = None, is_shared: bool = False
) -> Store:
    """Open the store at `sqlite:PATH` or `postgresql://...`, creating or migrating it as needed.

    `pool` configures PostgreSQL connections. `is_shared`: other processes serve the same SQLite
    file; PostgreSQL is always shared. Raises StoreTooNew, StoreTooOld, StoreUnavailable,
    and SettingInvalid for a URL of an unknown engine or when the engine's driver is not installed.
    """
    if engine_of(url) == "sqlite":
        from .sqlite.store import SqliteStore

        return SqliteStore(url.partition(":")[2], durability=durability, is_shared=is_shared)
    from .postgresql.store import PostgresqlStore

    return PostgresqlStore(url, durability=durability, pool=pool)


def engine_of(url: str) -> str:
    """Return the engine that a store URL names: `sqlite` or `postgresql`.

    Raises SettingInvalid as open_store does.
    """
    engine, _, rest = url.partition(":")
    if engine == "sqlite" and rest:
        return engine
    if engine in ("postgresql", "postgres") and rest.startswith("//"):
        try:
            import psycopg  # noqa: F401  only an extra brings it
        except ImportError as error:
            raise SettingInvalid(
                "`store`: PostgreSQL needs its driver: "
                f"python -m pip install 'remembrancer[postgresql]' ({error})"
            ) from error
        return "postgresql"
    raise SettingInvalid(
        f"`store`: there is no storage engine {engine!r}; use sqlite:PATH or"
        " postgresql://USER@HOST/DATABASE"
    )


def is_missing_file(url: str) -> bool:
    """Return True if a store URL names a SQLite file that does not exist.

    A PostgreSQL store counts as present: only a connection could tell. Raises SettingInvalid as
    open_store does.
    """
    return engine_of(url) == "sqlite" and not _file(url).exists()


def place_of(url: str) -> str:
    """Return the location of a store URL in a normal form without password.

    Raises SettingInvalid as open_store does.
    """
    if engine_of(url) == "sqlite":
        return f"sqlite:{_file(url)}"
    # a local import: the driver may not be installed
    from .postgresql import pool as postgresql_connections

    return postgresql_connections.place_of(url)


def schema_at(url: str) -> int:
    """Return the schema version of the store at a URL; 0 if there is none.

    Raises StoreTooOld and StoreUnavailable.
    """
    if engine_of(url) == "sqlite":
        from .sqlite import store as sqlite_store

        return sqlite_store.schema_at(_file(url))
    from .postgresql import schema as postgresql_schema

    return postgresql_schema.schema_at(url)


@contextmanager
def without_server(url: str, data_folder: Path | None = None) -> Iterator[None]:
    """Ensure that no server uses the store at a URL, and that none starts on this machine in the
    block.

    `data_folder`: data folder of its server, if the store is elsewhere. Raises DataFolderBusy.
    """
    with ExitStack() as locks:
        folders = {data_folder.resolve()} if data_folder and data_folder.is_dir() else set()
        if engine_of(url) == "sqlite":
            folders.add(_file(url).parent)
        else:
            from .postgresql import pool as postgresql_connections

            if others := postgresql_connections.sessions_at(url):
                raise DataFolderBusy(
                    f"{others} connections of Remembrancer to {place_of(url)} are open: stop its"
                    " servers"
                )
        for folder in sorted(folders):
            locks.enter_context(hold(folder))
        yield


def _file(url: str) -> Path:
    return Path(url.partition(":")[2]).resolve()
