"""The interface of the sandbox, whether it runs in this process or is shared by several."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..protocol import limits
from ..protocol.errors import TooManyRequests, Unavailable
from ..protocol.execution import Level
from ..protocol.status import SandboxState
from ..settings import Settings
from .plan import RunLimits
from .runner import Cancellation


class SandboxUnavailable(Unavailable):
    """The sandbox cannot confine programs on this machine, so it runs none.

    `missing` lists what the machine lacks and how to enable it.
    """


class SandboxBusy(TooManyRequests):
    """The sandbox and its queue are full. Retry after the seconds in the `Retry-After` header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRun:
    """The outcome of a program. Times in milliseconds.

    `stopped` is the reason for stopping it (`timeout`, `output`, `disk`), None if it exited.
    `error` has type, message, line and traceback as the program reported them. `files` holds pairs
    of name and content, `left_out` pairs of name and reason, and `not_named` counts further files
    that were left out.
    """

    level: Level
    stopped: str | None
    exit_code: int | None
    signal: str | None
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    result: str | None
    result_truncated: bool
    error: dict[str, Any] | None
    files: list[tuple[str, bytes]]
    left_out: list[tuple[str, str]]
    not_named: int
    wall_ms: float
    cpu_ms: float
    max_rss_kb: int

    @classmethod
    def from_report(cls, report: dict[str, Any], files: list[tuple[str, bytes]]) -> SandboxRun:
        """Read a run from JSON; `files` travel beside it."""
        left_out = [(str(name), str(reason)) for name, reason in report["left_out"]]
        return cls(**{**report, "left_out": left_out, "files": files})


class SandboxPort(ABC):
    """Runs programs. Safe to use from many threads."""

    def __init__(self, settings: Settings) -> None:
        # Repairs that wait for models, each in a thread of the server.
        self.repairs = threading.BoundedSemaphore(limits.REPAIRS_MAX)
        self.bounds = RunLimits(
            seconds=settings.sandbox_seconds,
            seconds_max=limits.RUN_SECONDS_MAX,
            memory_bytes=settings.sandbox_memory_bytes,
            disk_bytes=settings.sandbox_disk_bytes,
            files=settings.sandbox_files_max,
            output_bytes=settings.sandbox_output_bytes,
            threads=settings.sandbox_threads,
        )

    @property
    @abstractmethod
    def state(self) -> SandboxState:
        """The confinement level, `not started`, or `unavailable`."""

    @abstractmethod
    def start(self) -> Level:
        """Start the sandbox and return its confinement level.

        Idempotent. Raises SandboxUnavailable.
        """

    @abstractmethod
    def run(
        self,
        code: str,
        *,
        seconds: float | None = None,
        cancellation: Cancellation | None = None,
        account_id: int | None = None,
    ) -> SandboxRun:
        """Run a program for at most `seconds`, and only until `cancellation`.

        Accounts take turns (fair_queue.py); those without an id are one. Raises
        SandboxUnavailable, SandboxBusy, RunCancelled.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop all programs and release resources; abort a start in progress.

        Idempotent. Later runs fail.
        """

    def for_client(self, cancellation: Cancellation | None, account_id: int) -> ClientSandbox:
        """Return this sandbox for the programs of one request of an account."""
        return ClientSandbox(self, cancellation or Cancellation(), account_id)


class ClientSandbox:
    """The sandbox for one request: its programs stop when the client is gone."""

    def __init__(self, sandbox: SandboxPort, cancellation: Cancellation, account_id: int) -> None:
        self._sandbox, self._cancellation, self._account_id = sandbox, cancellation, account_id
        self.bounds, self.repairs = sandbox.bounds, sandbox.repairs

    def run(self, code: str, *, seconds: float | None = None) -> SandboxRun:
        """Run a program. See SandboxPort.run."""
        return self._sandbox.run(
            code,
            seconds=seconds,
            cancellation=self._cancellation,
            account_id=self._account_id,
        )


ProgramSandbox: TypeAlias = SandboxPort | ClientSandbox


def lost_twice() -> SandboxUnavailable:
    """Return the error of a program whose process went away at both attempts."""
    return SandboxUnavailable(
        "The sandbox process died twice while it ran this program. "
        "The machine may be out of memory; see the server's log.",
        missing=[],
    )
