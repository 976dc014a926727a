"""The interface of the runners, one for each way of confining programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class WorkerLost(Exception):
    """The process that runs programs failed or went away; the message has its error."""


class Runner(ABC):
    """Runs each program in a process of its own. Safe to use from many threads.

    The sandbox maintains the attributes: `runs` counts programs so far, `in_use` programs now, and
    `retired` is True once another runner has replaced this one.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.in_use = 0
        self.retired = False

    @abstractmethod
    def run(
        self, code: str, seconds: float, content_bytes_max: int
    ) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        """Run one program and return the worker's report and the files. Raises WorkerLost."""

    @abstractmethod
    def close(self) -> None:
        """Stop all programs. Idempotent."""
