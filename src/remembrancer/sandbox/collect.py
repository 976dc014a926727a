"""Collect the files that a program created.

The program is dead by then, but its files may be anything: links, pipes, sparse files of many
terabytes, unprintable names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .plan import (
    DEPTH_MAX,
    FOLDER_ENTRIES_MAX,
    INODES_MAX,
    LEFT_OUT_MAX,
    NAME_BYTES_MAX,
    RunLimits,
)

_CHUNK_BYTES = 1 << 20


@dataclass(slots=True)
class CollectedFiles:
    """The files of one run.

    `files` holds pairs of path (from the working folder) and content, `left_out` pairs of path and
    reason.
    """

    bounds: RunLimits
    files: list[tuple[str, bytes]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    not_named: int = 0  # files left out beyond those that `left_out` names
    size: int = 0  # bytes of content

    def leave_out(self, name: str, reason: str) -> None:
        """Record that a file was left out."""
        if len(self.left_out) < LEFT_OUT_MAX:
            self.left_out.append((name, reason))
        else:
            self.not_named += 1

    def add_folder(self, folder: int, prefix: str = "", depth: int = 0) -> None:
        """Add what lies in the folder open as descriptor `folder`, whose path is `prefix`."""
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
        for name in names[:FOLDER_ENTRIES_MAX]:
            path = prefix + name.encode("utf-8", "replace").decode()
            if not path.isprintable() or len(path.encode()) > NAME_BYTES_MAX:
                reason = "its name has unprintable characters or is too long"
                self.leave_out(_printable(path), reason)
                continue
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    self.add_file(name, folder, path)
                elif not stat.S_ISDIR(status.st_mode):
                    self.leave_out(path, "it is not a regular file")
                elif depth == DEPTH_MAX:
                    self.leave_out(path, f"it lies in folders nested more than {DEPTH_MAX} deep")
                else:
                    with _opened(name, folder, os.O_RDONLY | os.O_DIRECTORY, 0o700) as inner:
                        self.add_folder(inner, f"{path}/", depth + 1)
            except OSError as error:
                self.leave_out(path, f"it could not be read: {error.strerror}")
        self.not_named += max(len(names) - FOLDER_ENTRIES_MAX, 0)

    def add_file(self, name: str, folder: int, path: str) -> None:
        """Add a regular file of an open folder, if the limits allow it. Raises OSError."""
        if len(self.files) >= self.bounds.files:
            self.leave_out(path, f"a run returns at most {self.bounds.files} files")
            return
        with _opened(name, folder, os.O_RDONLY | os.O_NONBLOCK, 0o600) as file:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                self.leave_out(path, "it is not a regular file")
            # The apparent size, holes included: reading a sparse file returns all its zeros.
            elif self.size + status.st_size > self.bounds.disk_bytes:
                self.leave_out(path, f"a run returns at most {self.bounds.disk_bytes} bytes")
            else:
                content = b"".join(_read_chunks(file, status.st_size))
                self.files.append((path, content))
                self.size += len(content)


def collect(folder: int, bounds: RunLimits) -> CollectedFiles:
    """Return the regular files below the folder open as descriptor `folder`.

    Files are opened by name relative to open folders. Links are not followed and no call blocks.
    Hidden files and folders (a leading dot) are skipped.
    """
    collected = CollectedFiles(bounds)
    collected.add_folder(folder)
    return collected


@contextmanager
def _opened(name: str, folder: int, flags: int, mode: int) -> Iterator[int]:
    """Open a file or folder for the block, restoring permissions that the program removed.

    Raises OSError for a link.
    """
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except PermissionError:
        os.chmod(name, mode, dir_fd=folder)
        descriptor = os.open(name, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read_chunks(file: int, size: int) -> Iterator[bytes]:
    while size and (chunk := os.read(file, min(size, _CHUNK_BYTES))):
        size -= len(chunk)
        yield chunk


def _printable(name: str) -> str:
    characters = (
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name
    )
    return "".join(characters)[:200]


def disk_usage(folder: int, depth: int = 0) -> tuple[int, int]:
    """Return the bytes on disk and the number of entries below `folder`.

    A program may be changing the folder meanwhile: entries that vanish are not counted. Very deep
    nesting counts as too many entries, so that a program cannot make the server walk it.
    """
    if depth > 4 * DEPTH_MAX:
        return 0, INODES_MAX + 1
    size = count = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                entry_size, entry_count = _entry_usage(entry, folder, depth)
                size, count = size + entry_size, count + entry_count + 1
    except OSError:
        pass
    return size, count


def _entry_usage(entry: os.DirEntry[str], folder: int, depth: int) -> tuple[int, int]:
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
        inner_size, count = disk_usage(inner, depth + 1)
        return size + inner_size, count
    finally:
        os.close(inner)
