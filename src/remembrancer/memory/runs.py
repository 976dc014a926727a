"""Run a program and, when a session is named, keep the run as an event that can be found and cited."""

from __future__ import annotations

import re
import time

from ..accounts import may_write, space_user_id
from ..accounts.once import Once, first_answer, once
from ..context import Caller, Context
from ..protocol import limits
from ..protocol.execution import (
    Attempt,
    Confinement,
    Executed,
    Execution,
    ExecutionError,
    ExecutionLimits,
    FileLeftOut,
    ProgramFile,
    Status,
    Usage,
)
from ..protocol.memory import TurnText
from ..tools.repair.mend import diff, mend
from ..tools.repair.proposal import Failure, Proposal, Trial
from ..tools.sandbox.plan import OUTPUT_BYTES_LAST
from ..tools.sandbox.sandbox import Run, Sandbox, SandboxBusy, SandboxUnavailable
from .keep import Kept, Place, keep_once

_TOPIC = "program run"
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # escapes that would steer a terminal, or that no text may hold
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


def execute(context: Context, sandbox: Sandbox, caller: Caller, asked: Execution, given: Once | None = None) -> Executed:
    """Run it, wait for its end, and say how it went; what it did is durable and searchable by then when `session_id` is given.

    Raises ReadOnly, Pinned, Conflict as `once`, SandboxBusy, SandboxUnavailable,
    StoreUnavailable, EmbedderUnavailable.
    """
    may_write(caller)
    space_user_id(caller, asked.user_id)
    if given is not None and (first := context.store.read(lambda tx: first_answer(tx, given, context.clock()))) is not None:
        return Executed.model_validate_json(first)
    executed = run_and_mended(sandbox, asked)
    if asked.session_id is None:
        if given is None:
            return executed
        said = context.store.write(lambda tx: once(tx, given, context.clock(), executed.model_dump_json))
        return Executed.model_validate_json(said)

    def answer(kept: Kept, _noticed: str | None) -> str:
        return executed.model_copy(update={"event_id": kept.event_id}).model_dump_json()

    turn = TurnText(query=asked.code, response=told(executed), topic=_TOPIC)
    place = Place(user_id=asked.user_id, session_id=asked.session_id)
    return Executed.model_validate_json(keep_once(context, caller, place, turn, given, answer))


def told(executed: Executed) -> str:
    """How a run went, as the text of an event: nothing that steers a terminal, and long output cut with a word that says so."""
    parts = [f"The program ended: {executed.status}."]
    for name, text in (
        ("changed", executed.diff or ""),
        ("stdout", executed.stdout),
        ("stderr", executed.stderr),
        ("result", executed.result or ""),
    ):
        if text.strip():
            parts.append(f"{name}:\n{_shown(text)}")
    if executed.error:
        line = f" (line {executed.error.line})" if executed.error.line else ""
        parts.append(f"error: {executed.error.type}{line}: {_shown(executed.error.message)}")
    if executed.files:
        parts.append("files: " + ", ".join(file.name for file in executed.files))
    return "\n\n".join(parts)


def run_and_mended(sandbox: Sandbox, asked: Execution) -> Executed:
    """The outcome of the program as it was sent; or, where it failed and a rule mends it, of the mended one."""
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
    return told.model_copy(update=more)


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
        files=[ProgramFile(name=name, size_bytes=len(content)) for name, content in run.files],
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


def _shown(text: str) -> str:
    text = _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
    more = len(text) - limits.RUN_TOLD_CHARACTERS_MAX
    return text if more <= 0 else f"{text[: limits.RUN_TOLD_CHARACTERS_MAX]}\n({more} more characters)"


def _ms(value: float) -> float:
    return round(value, 2)
