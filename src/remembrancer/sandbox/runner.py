"""What runs programs at one level, as the server sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class WorkerLost(Exception):
    """The processes that were to run a program, or ran it, went away; the message says what they
    said.
    """


class Runner(ABC):
    """Runs programs, each in a process of its own, until it is closed. Safe to use from many
    threads.

    What follows is the sandbox's, which counts: `runs` so far, `in_use` now, and `retired` once
    another has taken its place.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.in_use = 0
        self.retired = False

    @abstractmethod
    def run(
        self, code: str, seconds: float, content_bytes_max: int
    ) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        """The outcome of one program: what `worker` tells of it, and its files. Raises Lost."""

    @abstractmethod
    def close(self) -> None:
        """End all that runs. Idempotent."""
