"""In a container:

read one job, run it as a user who owns nothing, tell the outcome. The container ends with it.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from typing import NoReturn

from . import kernel
from . import messages as wire
from .gvisor_runner import PLAN_SIZE
from .plan import WORK, from_json
from .worker import RunWatch, get_ready

_SERVER, _OUT = 0, 1
_HIDDEN = ("/proc", "/sys")


def main() -> NoReturn:
    """Serve the server at the other ends of standard input and output, once."""

    def read(most: int) -> bytes:
        return os.read(_SERVER, most)

    plan = from_json(wire.exactly(read, PLAN_SIZE.unpack(wire.exactly(read, PLAN_SIZE.size))[0]))
    seconds, code = wire.read_job(read)
    memory_bytes_now = (
        int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    )
    for folder in _HIDDEN:
        kernel.mount(
            "none", folder, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=4k,mode=755"
        )
    os.chown(WORK, plan.uid, plan.uid)
    ended, wake = os.pipe()  # its kernel has no pidfd
    os.set_blocking(wake, False)
    os.set_blocking(ended, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    sys.path[:] = [
        path
        for path in sys.path
        if any(path == seen or path.startswith(f"{seen}/") for seen in plan.visible)
    ]
    watch = RunWatch(
        plan=plan, server=_SERVER, ready=get_ready(plan, WORK, memory_bytes_now), ended=ended
    )
    watch.begin(code, seconds)
    head, left = watch.watch()
    wire.send_outcome(_OUT, head, [content for _, content in left.taken])
    os._exit(0)
