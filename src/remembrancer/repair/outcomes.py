"""Outcomes of runs of a program."""

from __future__ import annotations

from ..protocol.execution import ExecutionError, Status
from ..sandbox.plan import OUTPUT_BYTES_LAST
from ..sandbox.port import SandboxRun
from .rules.source import Failure

_STOP_MESSAGES = {
    "timeout": "The program reached its time limit.",
    "output": f"The program printed more than {OUTPUT_BYTES_LAST} bytes.",
    "disk": "The program reached its disk limit.",
}


def outcome_of(run: SandboxRun) -> tuple[Status, ExecutionError | None]:
    """Return the status of a run, and the error if it failed.

    The program's own error report counts only if its exit status says that it failed.
    """
    if run.stopped == "timeout":
        return "timeout", _ended("Timeout", _STOP_MESSAGES[run.stopped])
    if run.stopped:
        message = _STOP_MESSAGES.get(run.stopped, "The program was stopped.")
        return "killed", _ended("Killed", message)
    if run.signal:
        return "killed", _ended("Killed", f"The program was killed by {run.signal}.")
    if run.exit_code == 0:
        return "ok", None
    if run.error and run.error["type"]:
        return "failed", ExecutionError.model_validate(run.error)
    return "failed", _ended("SystemExit", f"The program exited with status {run.exit_code}.")


def _ended(kind: str, message: str) -> ExecutionError:
    return ExecutionError(type=kind, message=message, line=None, traceback="")


def failure_of(error: ExecutionError) -> Failure:
    """Return the error in the form that the repair rules use."""
    return Failure(error.type, error.message, error.line, error.traceback)


def ms(value: float) -> float:
    """Round milliseconds for a response."""
    return round(value, 2)
