"""One server per data folder, by an advisory lock that dies with it; no other user may enter."""

from __future__ import annotations

import fcntl
import os
import shlex
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from .engine import DataFolderBusy, DataFolderReadable, StoreUnavailable

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FILE = "server.lock"


class Lock:
    """The lock of a data folder, until `close` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def close(self) -> None:
        """Release the lock. Idempotent.

        The file stays: removing it would let two servers lock two files of one name.
        """
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


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


def hold(folder: Path) -> Lock:
    """Lock an existing folder for this process.

    Raises DataFolderBusy with the process that holds it, and StoreUnavailable if locking fails.
    """
    path = folder / _FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailable(f"cannot lock {path}: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise DataFolderBusy(
            f"another server{f' (process {holder})' if holder else ''} runs on {folder}"
        ) from error
    except OSError as error:
        os.close(descriptor)
        raise StoreUnavailable(f"cannot lock {path}: {error}") from error
    return Lock(descriptor)
