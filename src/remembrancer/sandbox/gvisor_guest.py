"""Run one job in a gVisor container.

The guest reads the job, runs it as an unprivileged user, sends the outcome and exits, which ends
the container.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from pathlib import Path
from typing import NoReturn

from . import kernel
from . import messages as wire
from .plan import WORK, from_json
from .worker import RunWatch, fork_ready_process

_SERVER, _OUT = 0, 1
_HIDDEN = ("/proc", "/sys")
# gVisor's own, not the host's; no program needs them, and each is a part of its kernel to attack.
_CLOSED_DEVICES = ("fuse", "net/tun", "ptmx", "pts/ptmx", "tty")


def main() -> NoReturn:
    """Run one job from standard input and write its outcome to standard output."""

    def read(size: int) -> bytes:
        return os.read(_SERVER, size)

    plan = from_json(wire.read_block(read))
    seconds, code = wire.read_job(read)
    memory_bytes_now = (
        int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    )
    for folder in _HIDDEN:
        kernel.mount(
            "none", folder, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=4k,mode=755"
        )
    for device in _CLOSED_DEVICES:
        with contextlib.suppress(FileNotFoundError):
            os.chmod(f"/dev/{device}", 0)  # noqa: PTH101  pathlib takes as long as the rest
    os.chown(WORK, plan.uid, plan.uid)
    exit_pipe, wake = os.pipe()  # gVisor has no pidfd
    os.set_blocking(wake, False)
    os.set_blocking(exit_pipe, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    sys.path[:] = filter(plan.can_read, sys.path)
    ready = fork_ready_process(plan, WORK, memory_bytes_now)
    wire.send_outcome(_OUT, *RunWatch(plan, _SERVER, ready, exit_pipe).run(code, seconds))
    os._exit(0)
