"""The number of processors that this process may use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def processors() -> int:
    """Return how many processors this process may use: by affinity and by its cgroup."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        count = os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        count = min(count, max(round(int(quota) / int(period)), 1))
    return count
