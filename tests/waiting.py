"""Wait for a condition that gives no signal, without using the processor."""

from __future__ import annotations

import threading
from collections.abc import Callable

_PAUSE_S = 0.01
_PAUSES_MAX = 6_000


def wait_until(holds: Callable[[], object]) -> None:
    """Return as soon as the condition holds. Raises TimeoutError after a minute of pauses.

    For what another thread, process or server does without an event that a test could wait for.
    """
    pause = threading.Event()
    for _ in range(_PAUSES_MAX):
        if holds():
            return
        pause.wait(_PAUSE_S)
    raise TimeoutError("the condition did not come about")
