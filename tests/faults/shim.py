"""System calls of a real server that fail while a test wants them to: a library for LD_PRELOAD.

with Shim(folder) as shim, Server(data, **shim.settings()) as server:
    with shim.failing("write", "-wal", errno.ENOSPC) as fault:
        assert server.post(...).status == 503
    assert fault.hits
"""

from __future__ import annotations

import atexit
import mmap
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from needed import program

SOURCE = Path(__file__).with_name("faults.c")
RULES = 32
# as in faults.c: clock and blocks, then the rules of call, path, errno, seconds, skip, hits
_HEAD = struct.Struct("<qq")
_RULE = struct.Struct("<16s224siiqq")
_HITS = struct.Struct("<q")


@cache
def library() -> Path:
    """Return the compiled library, made once per process. Skip the test without a compiler."""
    program("cc", "gcc libc6-dev")
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "faults.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(path), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return path


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule of the table."""

    shim: Shim
    number: int

    @property
    def hits(self) -> int:
        """The number of calls that it failed or delayed."""
        at = _HEAD.size + (self.number + 1) * _RULE.size - _HITS.size
        return int(_HITS.unpack_from(self.shim.table, at)[0])


class Shim:
    """The table that the library in a process reads. All its processes share it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "faults.table"
        self._path.write_bytes(bytes(_HEAD.size + RULES * _RULE.size))
        with self._path.open("r+b") as file:
            self.table = mmap.mmap(file.fileno(), 0)
        self._rules = 0

    def settings(self) -> dict[str, str]:
        """Return the environment of a process whose calls may fail."""
        return {"LD_PRELOAD": str(library()), "FAULTS": str(self._path)}

    @contextmanager
    def failing(
        self, call: str, path: str, error: int = 0, *, after: int = 0, seconds: int = 0
    ) -> Iterator[Fault]:
        """Let this call fail with `error` on files with `path` in their path, within the block.

        `path` is the end of the path if it ends with `$`.
        `call`: write, read, fsync, ftruncate, mmap, mkdir, unlink, rename, open, or create (an open
        for writing). The first `after` calls succeed. `seconds`: wait before each; without an error
        the call then succeeds.
        """
        fault = Fault(self, self._rules)
        at = _HEAD.size + self._rules * _RULE.size
        self._rules += 1
        rule = _RULE.pack(b"", path.encode(), error, seconds, after, 0)
        self.table[at : at + _RULE.size] = rule
        self.table[at : at + 16] = call.encode().ljust(16, b"\0")  # last: now it is on
        try:
            yield fault
        finally:
            self.table[at : at + 16] = bytes(16)

    def move_clock(self, by_ms: int) -> None:
        """Set the distance of the wall clock from the real one. The monotonic clock is not moved."""
        _HEAD.pack_into(self.table, 0, by_ms, 0)

    @contextmanager
    def without_blocks_over(self, size_bytes: int) -> Iterator[None]:
        """Let no larger block of memory be allocated within the block."""
        _HEAD.pack_into(self.table, 0, 0, size_bytes)
        try:
            yield
        finally:
            _HEAD.pack_into(self.table, 0, 0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.table.close()
