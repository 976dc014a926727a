"""How a run ended, in the words of an answer."""

from __future__ import annotations

from ..protocol.execution import ExecutionError, Status
from ..sandbox.plan import OUTPUT_BYTES_LAST
from ..sandbox.sandbox import SandboxRun
from .rules.proposal import Failure

_STOPPED = {
    "timeout": "The program took longer than it may.",
    "output": f"The program printed more than {OUTPUT_BYTES_LAST} bytes.",
    "disk": "The program wrote more than it may.",
}


def outcome_of(run: SandboxRun) -> tuple[Status, ExecutionError | None]:
    """How a run ended, and why it did not end well.

    What the program says of itself counts only where the kernel says it failed.
    """
    if run.stopped:
        status: Status = "timeout" if run.stopped == "timeout" else "killed"
        kind = "Timeout" if run.stopped == "timeout" else "Killed"
        return status, ExecutionError(
            type=kind,
            message=_STOPPED.get(run.stopped, "The program was stopped."),
            line=None,
            traceback="",
        )
    if run.signal:
        return "killed", ExecutionError(
            type="Killed",
            message=f"The program was ended by {run.signal}.",
            line=None,
            traceback="",
        )
    if run.exit_code == 0:
        return "ok", None
    if run.error and run.error["type"]:
        return "failed", ExecutionError.model_validate(run.error)
    return "failed", ExecutionError(
        type="SystemExit",
        message=f"The program ended with exit status {run.exit_code}.",
        line=None,
        traceback="",
    )


def failure_of(error: ExecutionError) -> Failure:
    """The error as repairs take it."""
    return Failure(error.type, error.message, error.line, error.traceback)


def ms(value: float) -> float:
    """Milliseconds as answers have them."""
    return round(value, 2)
