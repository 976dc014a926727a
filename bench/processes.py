"""Read which processes a process has started."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def children(pid: int) -> list[int]:
    """Return the child processes that a process has now."""
    pids: list[int] = []
    with suppress(OSError):  # it has ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            pids += [int(child) for child in (task / "children").read_text("ascii").split()]
    return pids


def family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    pids = [pid]
    for one in pids:
        pids += children(one)
    return pids
