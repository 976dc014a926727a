"""Targets for hostile programs: files, sockets and processes, watched for any access."""

from __future__ import annotations

import os
import resource
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_VICTIM = "import sys; sys.stdin.read()"
_NAMES = ("fill*", "poison*", "w", "w_sbx", "x", "*.png", "*.txt")
_WATCHED = ("/tmp", "/dev/shm", "/var/tmp")  # noqa: S108 - read only


class Surroundings:
    """Canaries in `folder`, a victim process, and listeners. `changed_targets()` reports accesses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secret, self.other = folder / "server.db", folder / "tenant2" / "secret.txt"
        self.other.parent.mkdir()
        self.secret.write_text("sk_canary_db", "ascii")
        self.other.write_text("sk_canary_t2", "ascii")
        self.secret.chmod(0o600)
        self.victim = subprocess.Popen(
            [sys.executable, "-S", "-c", _VICTIM],
            stdin=subprocess.PIPE,
            env={**os.environ, "CANARY_KEY": "sk_canary_env"},
        )
        self._abstract = f"canary-{os.getpid()}"
        self._listeners: list[socket.socket] = [
            self._listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            self._listening(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            self._listening(socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "s.sock")),
            self._listening(socket.AF_UNIX, socket.SOCK_DGRAM, str(folder / "d.sock")),
            self._listening(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self._abstract}"),
        ]
        self._before = self._state()

    @staticmethod
    def _listening(family: int, kind: int, address: Any) -> socket.socket:
        one = socket.socket(family, kind)
        one.bind(address)
        if kind == socket.SOCK_STREAM:
            one.listen(8)
        return one

    def insert_targets(self, code: str) -> str:
        """Insert the names of the targets into a program."""
        tcp, udp = (one.getsockname()[1] for one in self._listeners[:2])
        names = {
            "C": self.folder,
            "PID": self.victim.pid,
            "SPID": os.getpid(),
            "TCP": tcp,
            "UDP": udp,
            "ABS": self._abstract,
        }
        for name, value in names.items():
            code = code.replace(f"@{name}@", str(value))
        return code

    def changed_targets(self) -> list[str]:
        """Return everything that has changed."""
        after = self._state()
        differences = [name for name, was in self._before.items() if after[name] != was]
        ready, _, _ = select.select(self._listeners, [], [], 0)
        return differences + [f"connection {one.getsockname()!r}" for one in ready]

    def _state(self) -> dict[str, object]:
        return {
            **{f"file {path.name}": _snapshot(path) for path in (self.secret, self.other)},
            "files": sorted(str(path) for path in self.folder.rglob("*")),
            "mode": self.folder.stat().st_mode,
            "victim": self.victim.poll(),
            "victim's limits": resource.prlimit(self.victim.pid, resource.RLIMIT_NOFILE),
            "orphans": [name for name in _commands() if "sbxorphan" in name],
            "machine": socket.gethostname(),
        }

    def close(self) -> None:
        """Stop the victim and close the listeners."""
        self.victim.communicate()
        for one in self._listeners:
            one.close()


def _snapshot(path: Path) -> object:
    """Return content, mode and times except atime, or None if the file is gone."""
    try:
        status = path.stat()
        return path.read_text("ascii"), status.st_mode, status.st_mtime_ns, status.st_ctime_ns
    except OSError:
        return None


def _commands() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield process.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue


def processes(first: int) -> set[int]:
    """Return the ids of the process `first` and its descendants."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = process.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(process.parent.name)] = int(fields[1])
    ours = {first}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return ours


def left_on_the_host() -> set[str]:
    """Return files in world-writable folders with names that the programs or the sandbox use."""
    return {str(path) for folder in _WATCHED for name in _NAMES for path in Path(folder).glob(name)}


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
    """Set up targets in an empty folder and remove them at the end."""
    box = Surroundings(folder)
    try:
        yield box
    finally:
        box.close()
