"""The indexes of the spaces in use, within a budget of memory."""

from __future__ import annotations

from pathlib import Path


class Shelf:
    """Keeps the indexes of spaces lately searched."""

    def __init__(self, *, folder: Path, memory_bytes: int) -> None:
        self.folder, self.memory_bytes = folder, memory_bytes

    def close(self) -> None:
        """Let go of every index. Idempotent."""
