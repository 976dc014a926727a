"""Outcomes of runs of a program, and the comparison of a changed program with the original."""

from __future__ import annotations

from statistics import median
from typing import Protocol

from ..protocol import limits
from ..protocol.execution import ExecutionError, Guard, Optimized, Status
from ..sandbox.plan import OUTPUT_BYTES_LAST
from ..sandbox.port import SandboxRun
from .rules.source import Failure

CPU_RATIO_MAX = 0.9  # CPU time of a faster program, relative to the original
_STOP_MESSAGES = {
    "timeout": "The program reached its time limit.",
    "output": f"The program printed more than {OUTPUT_BYTES_LAST} bytes.",
    "disk": "The program reached its disk limit.",
}


def outcome_of(run: SandboxRun) -> tuple[Status, ExecutionError | None]:
    """Return the status of a run, and the error if it failed.

    The program's own error report counts only if its exit status says that it failed.
    """
    if run.stopped:
        status: Status = "timeout" if run.stopped == "timeout" else "killed"
        kind = "Timeout" if run.stopped == "timeout" else "Killed"
        return status, ExecutionError(
            type=kind,
            message=_STOP_MESSAGES.get(run.stopped, "The program was stopped."),
            line=None,
            traceback="",
        )
    if run.signal:
        return "killed", ExecutionError(
            type="Killed",
            message=f"The program was killed by {run.signal}.",
            line=None,
            traceback="",
        )
    if run.exit_code == 0:
        return "ok", None
    if run.error and run.error["type"]:
        return "failed", ExecutionError.model_validate(run.error)
    return "failed", ExecutionError(
        type="SystemExit",
        message=f"The program exited with status {run.exit_code}.",
        line=None,
        traceback="",
    )


def failure_of(error: ExecutionError) -> Failure:
    """Return the error in the form that the repair rules use."""
    return Failure(error.type, error.message, error.line, error.traceback)


def ms(value: float) -> float:
    """Round milliseconds for a response."""
    return round(value, 2)


class ProgramRunner(Protocol):
    """Runs programs within the time of a request."""

    stop_reason: str | None  # why no more programs can run

    def run(self, code: str) -> SandboxRun | None:
        """Run a program. Return None if it cannot run; `stop_reason` says why."""


def is_same(one: SandboxRun, other: SandboxRun) -> bool:
    """Return True if both runs succeeded with the same output, result and files."""
    return outcome_of(one)[0] == outcome_of(other)[0] == "ok" and _effects(one) == _effects(other)


def _effects(run: SandboxRun) -> tuple[object, ...]:
    return run.stdout, run.stderr, run.result, sorted(run.files)


def why_incomparable(runner: ProgramRunner, code: str, run: SandboxRun) -> str | None:
    """Return why no change of this program can be proven equal, or None if one can.

    Runs the program once more.
    """
    if (
        run.stdout_truncated
        or run.stderr_truncated
        or run.result_truncated
        or run.left_out
        or run.not_named
    ):
        return "its output or files exceed a limit and cannot be compared"
    rerun = runner.run(code)
    if rerun is None:
        return runner.stop_reason
    return None if is_same(run, rerun) else "its output differs from run to run"


def why_unmeasurable(run: SandboxRun) -> str | None:
    """Return why no shorter time of this program can be measured, or None if one can."""
    if run.cpu_ms >= limits.OPTIMIZE_CPU_MS_MIN:
        return None
    return (
        f"it takes less than {limits.OPTIMIZE_CPU_MS_MIN} ms of CPU time, "
        "which is too short to measure"
    )


def measure(
    runner: ProgramRunner, code: str, new_code: str, expected: SandboxRun
) -> tuple[Optimized | None, Guard | None]:
    """Run both programs alternately until it is clear which is faster.

    Return the figures, or the guard that rejects the change, or neither if the time is up.
    """
    before: list[float] = []
    after: list[float] = []
    wins = 0
    for _ in range(limits.OPTIMIZE_PAIRS):
        old = runner.run(code)
        new = None if old is None else runner.run(new_code)
        if old is None or new is None:
            return None, None
        if not is_same(old, expected) or not is_same(new, expected):
            return None, "unequal"
        before.append(old.cpu_ms)
        after.append(new.cpu_ms)
        wins += new.cpu_ms <= CPU_RATIO_MAX * old.cpu_ms
        if (
            wins >= limits.OPTIMIZE_PAIRS_WON_MIN
            or len(before) - wins > limits.OPTIMIZE_PAIRS - limits.OPTIMIZE_PAIRS_WON_MIN
        ):
            break
    if wins < limits.OPTIMIZE_PAIRS_WON_MIN:
        return None, "not_faster"
    return Optimized(
        cpu_ms_before=ms(median(before)),
        cpu_ms_after=ms(median(after)),
        pairs=len(before),
        pairs_won=wins,
    ), None
