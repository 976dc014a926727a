"""Run a program in the sandbox, mend it by rule where it fails, and say how it went."""

from __future__ import annotations

import time

from ..protocol import limits
from ..protocol.execution import Attempt, Confinement, Executed, Execution, ExecutionError, ExecutionLimits, FileLeftOut, Status, Usage
from .repair.mend import diff, mend
from .repair.proposal import Failure, Proposal, Trial
from .sandbox.plan import OUTPUT_BYTES_LAST
from .sandbox.sandbox import Run, Sandbox, SandboxBusy, SandboxUnavailable

_NOTES = {  # by status, else by mode
    "optimize": "Nothing was made faster: no model is configured.",
    "all": "Nothing was made faster: no model is configured.",
    "timeout": "A program that was stopped is not repaired.",
    "killed": "A program that was stopped is not repaired.",
}
_STOPPED = {
    "timeout": "The program took longer than it may.",
    "output": f"The program printed more than {OUTPUT_BYTES_LAST} bytes.",
    "disk": "The program wrote more than it may.",
}


def run_program(sandbox: Sandbox, asked: Execution) -> tuple[Executed, list[tuple[str, bytes]]]:
    """The outcome of the program as it was sent; or, where it failed and a rule mends it, of the mended one. And the files it left.

    Raises SandboxBusy, SandboxUnavailable.
    """
    began = time.monotonic()
    run = sandbox.run(asked.code, seconds=asked.timeout_s)
    status, error = judge(run)
    attempts = [Attempt(stage="run", outcome=status, error=error.type if error else None, ms=_ms(run.wall_ms))]
    note = _NOTES.get(status if status in _NOTES else asked.mode)
    changed = None
    if status == "failed" and len(asked.code) > limits.REPAIR_CHARACTERS_MAX:
        note = f"A program of more than {limits.REPAIR_CHARACTERS_MAX} characters is not repaired."
    elif status == "failed" and error and asked.mode != "optimize":
        repairs = _Repairs(sandbox, asked, attempts)
        changed = mend(asked.code, _failure(error), repairs.attempt)
        run = repairs.last if changed and repairs.last else run
        note = repairs.note if changed is None else _NOTES.get(asked.mode)
    told = _executed(run, asked, sandbox)
    more: dict[str, object] = {"attempts": attempts, "note": note, "duration_ms": _ms((time.monotonic() - began) * 1_000)}
    if changed:
        more |= {"status": "fixed", "fixed": True, "code": changed.code, "diff": diff(asked.code, changed.code)}
    return told.model_copy(update=more), run.files


class _Repairs:
    """Runs of what the program was changed to, within the time that they have together."""

    def __init__(self, sandbox: Sandbox, asked: Execution, attempts: list[Attempt]) -> None:
        self._sandbox, self._asked, self._attempts = sandbox, asked, attempts
        self._until = time.monotonic() + limits.REPAIR_SECONDS_MAX
        self.last: Run | None = None
        self.note = "Only repair by rule was tried: no model is configured."

    def attempt(self, proposal: Proposal) -> Trial | None:
        left = self._until - time.monotonic()
        if left <= 0:
            self.note = f"Repair ended after {limits.REPAIR_SECONDS_MAX} seconds."
            return None
        try:
            run = self._sandbox.run(proposal.code, seconds=min(left, self._asked.timeout_s or self._sandbox.bounds.seconds))
        except (SandboxBusy, SandboxUnavailable) as refused:  # the program was run, and how it went is the answer
            self.note = f"Repair ended: {refused.detail}"
            return None
        self.last = run
        status, error = judge(run)
        self._attempts.append(
            Attempt(stage="deterministic", repair=proposal.name, outcome=status, error=error.type if error else None, ms=_ms(run.wall_ms))
        )
        return Trial(good=status == "ok", failure=_failure(error) if status == "failed" and error else None)


def _failure(error: ExecutionError) -> Failure:
    return Failure(error.type, error.message, error.line, error.traceback)


def _executed(run: Run, asked: Execution, sandbox: Sandbox) -> Executed:
    status, error = judge(run)
    bounds = sandbox.bounds
    limits_of_run = ExecutionLimits(
        seconds=asked.timeout_s or bounds.seconds,
        memory_bytes=bounds.memory_bytes,
        disk_bytes=bounds.disk_bytes,
        files=bounds.files,
        output_bytes=bounds.output_bytes,
        threads=bounds.threads,
    )
    return Executed(
        status=status,
        stdout=run.stdout,
        stderr=run.stderr,
        stdout_truncated=run.stdout_truncated,
        stderr_truncated=run.stderr_truncated,
        result=run.result if status == "ok" else None,
        result_truncated=run.result_truncated and status == "ok",
        error=error,
        code=asked.code,
        mode=asked.mode,
        fixed=False,
        diff=None,
        attempts=[],
        files=[],  # until they are kept
        files_left_out=[FileLeftOut(name=name, why=why) for name, why in run.left_out],
        files_not_named=run.not_named,
        exit_code=run.exit_code,
        signal=run.signal,
        usage=Usage(wall_ms=_ms(run.wall_ms), cpu_ms=_ms(run.cpu_ms), max_rss_kb=run.max_rss_kb),
        sandbox=Confinement.model_validate({"level": run.level, "limits": limits_of_run}),
        duration_ms=0,
    )


def judge(run: Run) -> tuple[Status, ExecutionError | None]:
    """How a run ended, and why it did not end well. What the program says of itself counts only where the kernel says it failed."""
    if run.stopped:
        status: Status = "timeout" if run.stopped == "timeout" else "killed"
        kind = "Timeout" if run.stopped == "timeout" else "Killed"
        return status, ExecutionError(type=kind, message=_STOPPED.get(run.stopped, "The program was stopped."), line=None, traceback="")
    if run.signal:
        return "killed", ExecutionError(type="Killed", message=f"The program was ended by {run.signal}.", line=None, traceback="")
    if run.exit_code == 0:
        return "ok", None
    if run.error and run.error["type"]:
        return "failed", ExecutionError.model_validate(run.error)
    return "failed", ExecutionError(
        type="SystemExit", message=f"The program ended with exit status {run.exit_code}.", line=None, traceback=""
    )


def _ms(value: float) -> float:
    return round(value, 2)
