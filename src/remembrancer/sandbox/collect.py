"""Take the files that a program left.

It is dead by now; what it left may be anything: links, pipes, sparse terabytes, odd names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from .plan import (
    DEPTH_MAX,
    INODES_MAX,
    LEFT_OUT_MAX,
    NAME_BYTES_MAX,
    NAMES_LOOKED_AT_MAX,
    RunLimits,
)

_PIECE = 1 << 20


@dataclass(slots=True)
class CollectedFiles:
    """What was found.

    `taken` are path from the working folder and content; `left_out` path and why.
    """

    taken: list[tuple[str, bytes]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    not_named: int = 0  # left out beyond those that are named
    size: int = 0

    def leave(self, name: str, why: str) -> None:
        """Say that a file was not taken."""
        if len(self.left_out) < LEFT_OUT_MAX:
            self.left_out.append((name, why))
        else:
            self.not_named += 1


def collect(folder: int, bounds: RunLimits) -> CollectedFiles:
    """Take regular files below the open `folder`, by name within open folders only: no link is
    followed, nothing is waited for.

    Hidden files and folders (a leading dot) are the program's own business and not taken.
    """
    left = CollectedFiles()
    _walk(folder, bounds, left, "", 0)
    return left


def _walk(folder: int, bounds: RunLimits, left: CollectedFiles, above: str, depth: int) -> None:
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    for name in names[:NAMES_LOOKED_AT_MAX]:
        shown = above + name.encode("utf-8", "replace").decode()
        if not shown.isprintable() or len(shown.encode()) > NAME_BYTES_MAX:
            left.leave(
                _printable(shown), "its name has characters that cannot be shown, or is too long"
            )
            continue
        try:
            kind = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(kind.st_mode):
                if depth == DEPTH_MAX:
                    left.leave(shown, f"folders are looked into {DEPTH_MAX} deep")
                    continue
                inner = _opened(name, folder, os.O_RDONLY | os.O_DIRECTORY, 0o700)
                try:
                    _walk(inner, bounds, left, f"{shown}/", depth + 1)
                finally:
                    os.close(inner)
            elif stat.S_ISREG(kind.st_mode):
                _take(name, folder, bounds, left, shown)
            else:
                left.leave(shown, "it is not a regular file")
        except OSError as error:
            left.leave(shown, f"it could not be read: {error.strerror}")
    if len(names) > NAMES_LOOKED_AT_MAX:
        left.not_named += len(names) - NAMES_LOOKED_AT_MAX


def _take(name: str, folder: int, bounds: RunLimits, left: CollectedFiles, shown: str) -> None:
    if len(left.taken) >= bounds.files:
        left.leave(shown, f"a run gives back {bounds.files} files at most")
        return
    file = _opened(name, folder, os.O_RDONLY | os.O_NONBLOCK, 0o600)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            left.leave(shown, "it is not a regular file")
        elif (
            left.size + found.st_size > bounds.disk_bytes
        ):  # also for holes: a sparse file is as long as it says
            left.leave(shown, f"a run gives back {bounds.disk_bytes} bytes at most")
        else:
            content = b"".join(_pieces(file, found.st_size))
            left.taken.append((shown, content))
            left.size += len(content)
    finally:
        os.close(file)


def _opened(name: str, folder: int, flags: int, mode: int) -> int:
    """Open it, also when the program took its rights away. Never a link."""
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except PermissionError:
        os.chmod(name, mode, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder)


def _pieces(file: int, most: int) -> Iterator[bytes]:
    while most and (piece := os.read(file, min(most, _PIECE))):
        most -= len(piece)
        yield piece


def _printable(name: str) -> str:
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in name)[
        :200
    ]


def used(folder: int, depth: int = 0) -> tuple[int, int]:
    """Bytes on the disk and number of things below `folder`, while a program may be at work in it:
    what vanishes is not counted.

    Folders deeper than anybody needs count as too many things: counting them would be the server's
    work.
    """
    if depth > 4 * DEPTH_MAX:
        return 0, INODES_MAX + 1
    size = count = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                more = _used_by(entry, folder, depth)
                size, count = size + more[0], count + more[1] + 1
    except OSError:
        pass
    return size, count


def _used_by(entry: os.DirEntry[str], folder: int, depth: int) -> tuple[int, int]:
    try:
        size = entry.stat(follow_symlinks=False).st_blocks * 512
        if not entry.is_dir(follow_symlinks=False):
            return size, 0
        inner = os.open(
            entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder
        )
    except OSError:
        return 0, 0
    try:
        below, count = used(inner, depth + 1)
        return size + below, count
    finally:
        os.close(inner)
