"""Work of a hook that no agent waits for, in a process of its own."""

from __future__ import annotations

import fcntl
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LOCK = "background"  # a file that every such process holds, shared


def run_in_background(folder: str, work: Callable[[], None]) -> None:
    """Run a function in another process, which outlives the agent and writes nothing to it.

    `folder` is that of the states; failures of the function are not reported.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)  # the child inherits it
    if os.fork():
        os.close(lock)
        return
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        work()
    finally:
        os._exit(0)
