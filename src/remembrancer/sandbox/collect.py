"""Collect the files that a program created.

The program is dead by then, but its files may be anything: links, pipes, sparse files of many
terabytes, unprintable names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
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


def collect(folder: int, bounds: RunLimits) -> CollectedFiles:
    """Return the regular files below the folder open as descriptor `folder`.

    Files are opened by name relative to open folders. Links are not followed and no call blocks.
    Hidden files and folders (a leading dot) are skipped.
    """
    collected = CollectedFiles()
    _walk(folder, bounds, collected, "", 0)
    return collected


def _walk(
    folder: int, bounds: RunLimits, collected: CollectedFiles, prefix: str, depth: int
) -> None:
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    for name in names[:FOLDER_ENTRIES_MAX]:
        path = prefix + name.encode("utf-8", "replace").decode()
        if not path.isprintable() or len(path.encode()) > NAME_BYTES_MAX:
            collected.leave_out(
                _printable(path), "its name has unprintable characters or is too long"
            )
            continue
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                if depth == DEPTH_MAX:
                    collected.leave_out(
                        path, f"it lies in folders nested more than {DEPTH_MAX} deep"
                    )
                    continue
                inner = _open(name, folder, os.O_RDONLY | os.O_DIRECTORY, 0o700)
                try:
                    _walk(inner, bounds, collected, f"{path}/", depth + 1)
                finally:
                    os.close(inner)
            elif stat.S_ISREG(status.st_mode):
                _collect_file(name, folder, bounds, collected, path)
            else:
                collected.leave_out(path, "it is not a regular file")
        except OSError as error:
            collected.leave_out(path, f"it could not be read: {error.strerror}")
    if len(names) > FOLDER_ENTRIES_MAX:
        collected.not_named += len(names) - FOLDER_ENTRIES_MAX


def _collect_file(
    name: str, folder: int, bounds: RunLimits, collected: CollectedFiles, path: str
) -> None:
    if len(collected.files) >= bounds.files:
        collected.leave_out(path, f"a run returns at most {bounds.files} files")
        return
    file = _open(name, folder, os.O_RDONLY | os.O_NONBLOCK, 0o600)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            collected.leave_out(path, "it is not a regular file")
        # The apparent size, holes included: reading a sparse file returns all its zeros.
        elif collected.size + status.st_size > bounds.disk_bytes:
            collected.leave_out(path, f"a run returns at most {bounds.disk_bytes} bytes")
        else:
            content = b"".join(_read_chunks(file, status.st_size))
            collected.files.append((path, content))
            collected.size += len(content)
    finally:
        os.close(file)


def _open(name: str, folder: int, flags: int, mode: int) -> int:
    """Open a file or folder, restoring permissions that the program removed.

    Raises OSError for a link.
    """
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except PermissionError:
        os.chmod(name, mode, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder)


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
