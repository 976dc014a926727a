"""The interface of the runners, one for each way of confining programs."""

from __future__ import annotations

import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


class WorkerLost(Exception):
    """The process that runs programs failed or went away; the message has its error."""


class RunCancelled(Exception):
    """The client of a program is gone, so the program was stopped or not started."""


class Cancellation:
    """Stops the programs of one request when its client is gone. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_requested = False
        self._stops: list[Callable[[], None]] = []

    def request(self) -> None:
        """Stop the programs that run, and let no further one start. Idempotent."""
        with self._lock:
            self._is_requested = True
            for stop in self._stops:
                stop()

    def check(self) -> None:
        """Raise RunCancelled if the client is gone."""
        if self._is_requested:
            raise RunCancelled

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop` if the client goes during the block. Raises RunCancelled if it is gone."""
        with self._lock:
            self.check()
            self._stops.append(stop)
        try:
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)


@contextmanager
def conversation(
    control: socket.socket, lock: threading.Lock, cancellation: Cancellation
) -> Iterator[socket.socket]:
    """Send one end of a new socket pair over `control`; yield the other end.

    It is shut down when the client goes, so that the other side stops the program. Raises OSError,
    RunCancelled.
    """
    local, remote = socket.socketpair()

    def stop() -> None:
        with suppress(OSError):  # the other side may have hung up
            local.shutdown(socket.SHUT_RDWR)

    with local, remote, cancellation.stopping(stop):
        with lock, remote:
            socket.send_fds(control, [b"J"], [remote.fileno()])
        yield local


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
        self, code: str, seconds: float, cancellation: Cancellation
    ) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
        """Run one program and return the worker's report and the files.

        Raises WorkerLost, RunCancelled.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop all programs. Idempotent."""
