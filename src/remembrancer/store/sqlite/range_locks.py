"""Locks between the processes that use one SQLite file: byte ranges of a file beside it.

The locks belong to the open file, not to the process (fcntl(2), "Open file description locks"), so
threads need another lock among themselves. The kernel releases them when the process dies.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

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
        places: list[int] = []
        try:
            # in order, so that two processes never wait for each other
            for place in sorted({_place(name) for name in names}):
                if not self._try(place):
                    if not wait:
                        break
                    self._wait(place)
                places.append(place)
            else:
                yield True
                return
            self._release(places)
            yield False
        finally:
            self._release(places)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this process's turn to write, and hold it for the block. Raises OSError.

        The process that waits next holds the queue, so that one which writes without a pause does
        not take the turn again and again.
        """
        places: list[int] = []
        try:
            for place in (_WRITE_QUEUE, _WRITE):
                if not self._try(place):
                    self._wait(place)
                places.append(place)
            self._release([places.pop(0)])
            yield
        finally:
            self._release(places)

    def _try(self, place: int) -> bool:
        request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
        if self._fcntl(self._file, fcntl.F_OFD_SETLK, request) == 0:
            return True
        number = ctypes.get_errno()
        if number in (11, 13):  # EAGAIN, EACCES: another process has it
            return False
        raise OSError(number, os.strerror(number))

    def _wait(self, place: int) -> None:
        request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLKW, request)

    def _release(self, places: list[int]) -> None:
        while places:
            request = struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, places.pop(), 1, 0)
            self._fcntl(self._file, fcntl.F_OFD_SETLK, request)


def _place(name: str) -> int:
    """Return the byte of a name. Two names that share one only wait for each other."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2
