"""Limit processes to a share of a processor core, with a Linux control group (v1 or v2)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 20_000  # short, so that a process that used its share does not pause for long


class NoControlGroups(SystemExit):
    """The control groups of this machine cannot be written."""

    def __init__(self, reason: object) -> None:
        """Create the error."""
        super().__init__(
            f"cannot limit processes to a share of a core: {reason}. Run as root where "
            f"{ROOT}/cpu (version 1) or {ROOT} with the controller cpu (version 2) is writable, or "
            "leave out --server-cores."
        )


@contextmanager
def core_share(cores: float, pids: Sequence[int]) -> Iterator[None]:
    """Limit these processes, and those that they start, together to so many cores.

    Raises NoControlGroups.
    """
    group = _parent() / f"remembrancer-bench-{os.getpid()}-{time.monotonic_ns()}"
    try:
        group.mkdir()
        for name, value in _limits(group, max(int(cores * PERIOD_US), 1_000)).items():
            (group / name).write_text(value, "ascii")
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid), "ascii")
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        raise NoControlGroups(error) from error
    try:
        yield
    finally:
        _remove(group)


def _parent() -> Path:
    """Return the group to create groups in."""
    if (ROOT / "cpu" / "cpu.cfs_quota_us").exists():
        return ROOT / "cpu"
    try:
        if "cpu" not in (ROOT / "cgroup.controllers").read_text("ascii").split():
            raise NoControlGroups("there is no controller cpu")
        (ROOT / "cgroup.subtree_control").write_text("+cpu", "ascii")
    except OSError as error:
        raise NoControlGroups(error) from error
    return ROOT


def _limits(group: Path, quota_us: int) -> dict[str, str]:
    """Return the values of the files of a group that limit its processor time."""
    if (group / "cpu.max").exists():
        return {"cpu.max": f"{quota_us} {PERIOD_US}"}
    return {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}


def _remove(group: Path) -> None:
    """Remove a group; processes that still run return to its parent."""
    for pid in (group / "cgroup.procs").read_text("ascii").split():
        with suppress(OSError):  # it has ended
            (group.parent / "cgroup.procs").write_text(pid, "ascii")
    with suppress(OSError):  # one has just ended: the kernel still counts it
        group.rmdir()
