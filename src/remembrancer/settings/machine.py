"""This process on its machine: the processors and the memory it may use, and its parent."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MEMORY = Path("/proc/meminfo")
_PR_SET_PDEATHSIG = 1


def processors() -> int:
    """Return how many processors this process may use: by affinity and by its cgroup."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        count = os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = (_CGROUP / "cpu.max").read_text("ascii").split()
        count = min(count, max(round(int(quota) / int(period)), 1))
    return count


def available_bytes() -> int | None:
    """Return how much memory is available, on the machine and in its cgroup; None: unknown."""
    amounts = []
    with suppress(OSError, ValueError, StopIteration):
        lines = _MEMORY.read_text("ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        amounts.append(int(line.split()[1]) * 1024)
    with suppress(OSError, ValueError):  # `max` without a limit
        most = int((_CGROUP / "memory.max").read_text("ascii"))
        amounts.append(most - int((_CGROUP / "memory.current").read_text("ascii")))
    return min(amounts, default=None)


def end_with(parent: int) -> None:
    """Let this process be killed when its parent ends; end it now if that has happened."""
    with suppress(AttributeError):  # of Linux
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call above
        os._exit(1)
