"""Run a program in the sandbox, mend it by rule where it fails, and say how it went."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ..protocol import limits
from ..protocol.execution import (
    Attempt,
    Confinement,
    Executed,
    Execution,
    ExecutionError,
    ExecutionLimits,
    FileLeftOut,
    RunUsage,
)
from ..sandbox.sandbox import Sandbox, SandboxBusy, SandboxRun, SandboxUnavailable
from .models.budget import ModelPanel
from .models.fix import fix
from .models.improve import faster, tidier, why_unproven
from .models.job import RepairJob
from .outcomes import failure_of, ms, outcome_of
from .rules.proposal import Proposal, Trial
from .rules.repair import diff, repair

_NO_MODEL = "no model is configured"


def run_program(
    sandbox: Sandbox, asked: Execution, panel: ModelPanel | None = None, *, as_is: bool = False
) -> tuple[Executed, list[tuple[str, bytes]]]:
    """The outcome of the program as it was sent; or, where a rule or a model of `panel` mended or
    improved it, of the changed one.

    And the files it left. `as_is`: nothing is mended or improved, whatever the mode says. Raises
    SandboxBusy, SandboxUnavailable.
    """
    began = time.monotonic()
    run = sandbox.run(asked.code, seconds=asked.timeout_s)
    status, error = outcome_of(run)
    course = _Course(sandbox=sandbox, asked=asked, panel=panel, code=asked.code, run=run)
    course.attempts.append(
        Attempt(
            stage="run", outcome=status, error=error.type if error else None, ms=ms(run.wall_ms)
        )
    )
    try:
        if not as_is:
            course.change()
    finally:
        course.close()
    told = _executed(course.run, asked, sandbox)
    more: dict[str, object] = {
        **course.told,
        "attempts": course.attempts,
        "duration_ms": ms((time.monotonic() - began) * 1_000),
    }
    more["note"] = " ".join(course.notes) or None
    if course.code != asked.code:
        more |= {"code": course.code, "diff": diff(asked.code, course.code)}
    return told.model_copy(update=more), course.run.files


@dataclass(slots=True, kw_only=True)
class _Course:
    """What has become of a program so far.

    `told` are the members of the answer that only some programs have.
    """

    sandbox: Sandbox
    asked: Execution
    panel: ModelPanel | None
    code: str
    run: SandboxRun
    attempts: list[Attempt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    told: dict[str, object] = field(default_factory=dict)
    _work: RepairJob | None = None

    @property
    def _why_silent(self) -> str:
        """Why no model may be asked."""
        if self.panel is not None and self.panel.slots:
            return f"{limits.REPAIRS_MAX} programs wait for models already"
        return _NO_MODEL if self.panel is None else self.panel.why_silent

    def close(self) -> None:
        """Let another program go to the models."""
        if self._work is not None:
            self.sandbox.repairs.release()

    def _asking(self) -> RepairJob | None:
        """What asks the models; None when there are none that may be asked now."""
        if (
            self._work is None
            and self.panel
            and self.panel.slots
            and self.sandbox.repairs.acquire(blocking=False)
        ):
            seconds = self.asked.timeout_s or self.sandbox.bounds.seconds
            self._work = RepairJob(
                self.sandbox, self.panel, self.attempts, seconds, self.asked.code
            )
        return self._work

    def change(self) -> None:
        """Mend and improve it, as far as was asked and can be."""
        status, error = outcome_of(self.run)
        mode = self.asked.mode
        if status in ("timeout", "killed"):
            self.notes.append("A program that was stopped is not repaired.")
            return
        if (status == "failed" or mode != "fix") and len(self.code) > limits.REPAIR_CHARACTERS_MAX:
            what = "repaired" if status == "failed" else "improved"
            self.notes.append(
                f"A program of more than {limits.REPAIR_CHARACTERS_MAX} characters is not {what}."
            )
            return
        if status == "failed" and error and mode != "optimize":
            self._mend(error)
        if mode != "fix":
            self._improve()

    def _mend(self, error: ExecutionError) -> None:
        repairs = _Repairs(self.sandbox, self.asked, self.attempts)
        changed = repair(self.code, failure_of(error), repairs.attempt)
        if changed and repairs.last:
            self._fixed(changed.code, repairs.last)
            return
        if repairs.ended:
            self.notes.append(repairs.ended)
            return
        work = self._asking()
        if work is None:
            self.notes.append(f"Only repair by rule was tried: {self._why_silent}.")
            return
        fixed = fix(work, self.run, error, self.asked.strategy)
        if fixed:
            self._fixed(fixed.code, fixed.run)
            self.told["verified"] = "tests" if fixed.tested else "runs"
        elif work.ended:
            self.notes.append(f"Repair by model ended: {work.ended.rstrip('.')}.")

    def _fixed(self, code: str, run: SandboxRun) -> None:
        self.code, self.run = code, run
        self.told |= {"status": "fixed", "fixed": True}

    def _improve(self) -> None:
        """Make it faster; for `all` also easier to read."""
        work = self._asking()
        if work is None:
            self.notes += (
                []
                if self._is_failed and self.asked.mode == "all"
                else [f"Nothing was made faster: {self._why_silent}."]
            )
            return
        why = (
            "the program fails"
            if self._is_failed
            else work.ended or why_unproven(work, self.code, self.run)
        )
        if why:
            self.notes.append(f"Nothing was made faster: {why.rstrip('.')}.")
            return
        better = faster(work, self.code, self.run)
        if isinstance(better, str):
            self.notes.append(f"Nothing was made faster: {better.rstrip('.')}.")
        else:
            self.code, self.run = better.code, better.run
            self.told["optimized"] = better.optimized
        if self.asked.mode == "all":
            tidied = tidier(work, self.code, self.run)
            if isinstance(tidied, str):
                self.notes.append(f"Nothing was tidied: {tidied.rstrip('.')}.")
            else:
                self.code, self.run = tidied.code, tidied.run
                self.told["tidied"] = True

    @property
    def _is_failed(self) -> bool:
        return outcome_of(self.run)[0] != "ok"


class _Repairs:
    """Runs of what the program was changed to, within the time that they have together."""

    def __init__(self, sandbox: Sandbox, asked: Execution, attempts: list[Attempt]) -> None:
        self._sandbox, self._asked, self._attempts = sandbox, asked, attempts
        self._until = time.monotonic() + limits.REPAIR_SECONDS_MAX
        self.last: SandboxRun | None = None
        self.ended: str | None = None  # why no more could be tried

    def attempt(self, proposal: Proposal) -> Trial | None:
        left = self._until - time.monotonic()
        if left <= 0:
            self.ended = f"Repair ended after {limits.REPAIR_SECONDS_MAX} seconds."
            return None
        try:
            run = self._sandbox.run(
                proposal.code,
                seconds=min(left, self._asked.timeout_s or self._sandbox.bounds.seconds),
            )
        except (
            SandboxBusy,
            SandboxUnavailable,
        ) as refused:  # the program was run, and how it went is the answer
            self.ended = f"Repair ended: {refused.detail}"
            return None
        self.last = run
        status, error = outcome_of(run)
        self._attempts.append(
            Attempt(
                stage="deterministic",
                repair=proposal.name,
                outcome=status,
                error=error.type if error else None,
                ms=ms(run.wall_ms),
            )
        )
        return Trial(
            good=status == "ok", failure=failure_of(error) if status == "failed" and error else None
        )


def _executed(run: SandboxRun, asked: Execution, sandbox: Sandbox) -> Executed:
    status, error = outcome_of(run)
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
        usage=RunUsage(wall_ms=ms(run.wall_ms), cpu_ms=ms(run.cpu_ms), max_rss_kb=run.max_rss_kb),
        sandbox=Confinement.model_validate({"level": run.level, "limits": limits_of_run}),
        duration_ms=0,
    )
