"""Let other threads run more often while one computes for long.

A search passes several threads, and each waits up to the switch interval for one that computes:
with Python's 5 ms, searches took up to fourteen times as long while a turn of 900 KB was analysed.
A short interval costs throughput, so it lasts as long as such work (bench/results.md, large turns).
"""

from __future__ import annotations

import sys
from types import TracebackType

SECONDS = 0.0002


class ShortTurns:
    """A context in which threads switch often. Nests; enter and leave it in one thread."""

    def __init__(self) -> None:
        self._entered = 0
        self._usual_seconds = sys.getswitchinterval()

    def __enter__(self) -> None:
        if self._entered == 0:
            self._usual_seconds = sys.getswitchinterval()
            sys.setswitchinterval(SECONDS)
        self._entered += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered -= 1
        if self._entered == 0:
            sys.setswitchinterval(self._usual_seconds)
