"""Files that only their owner can read, and that a power cut does not take."""

from __future__ import annotations

import os
from pathlib import Path


def private(path: str, flags: int) -> int:
    """Open a file so that a new one is readable by its owner only: an `opener` for `open`."""
    return os.open(path, flags, 0o600)


def private_folder(path: Path) -> None:
    """Make a folder that its owner alone can enter, or close an existing one to everybody else."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)


def flush_path(path: Path) -> None:
    """Write a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
