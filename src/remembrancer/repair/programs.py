"""Run a program in the sandbox and repair or improve it as requested."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

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
from ..sandbox.port import ProgramSandbox, SandboxBusy, SandboxRun, SandboxUnavailable
from .models.fix import fix, improve, why_incomparable
from .models.job import ModelPanel, RepairJob
from .models.prompts import Purpose
from .outcomes import failure_of, ms, outcome_of
from .rules.repair import diff, repair
from .rules.source import Proposal, Trial

_NO_MODEL = "no model is configured"


def run_program(
    sandbox: ProgramSandbox,
    request: Execution,
    panel: ModelPanel | None = None,
    *,
    as_is: bool = False,
) -> tuple[Executed, list[tuple[str, bytes]]]:
    """Run the program and return its outcome and its files.

    If a rule or a model of `panel` repaired or improved the program, the outcome is that of the
    changed one. `as_is` disables both, whatever the mode. Raises SandboxBusy, SandboxUnavailable.
    """
    start = time.monotonic()
    run = sandbox.run(request.code, seconds=request.timeout_s)
    status, error = outcome_of(run)
    state = _ProgramState(sandbox=sandbox, request=request, panel=panel, code=request.code, run=run)
    state.attempts.append(
        Attempt(
            stage="run", outcome=status, error=error.type if error else None, ms=ms(run.wall_ms)
        )
    )
    try:
        if not as_is:
            state.repair_and_improve()
    finally:
        state.close()
    return state.executed(ms((time.monotonic() - start) * 1_000)), state.run.files


@dataclass(slots=True, kw_only=True)
class _ProgramState:
    """The current version of a program, its run, and the attempts that led to it."""

    sandbox: ProgramSandbox
    request: Execution
    panel: ModelPanel | None
    code: str
    run: SandboxRun
    attempts: list[Attempt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_fixed: bool = False
    evidence: dict[str, Any] = field(default_factory=dict)  # fields that only some programs have
    _job: RepairJob | None = None

    @property
    def _no_model_reason(self) -> str:
        """Return why no model is available."""
        if self.panel is not None and self.panel.slots:
            return f"{limits.REPAIRS_MAX} programs are already waiting for models"
        return _NO_MODEL if self.panel is None else self.panel.unavailable_reason

    @property
    def seconds_max(self) -> float:
        """The time limit of a run."""
        return self.request.timeout_s or self.sandbox.bounds.seconds

    def close(self) -> None:
        """Release the place among the programs that wait for models."""
        if self._job is not None:
            self.sandbox.repairs.release()

    def _start_job(self) -> RepairJob | None:
        """Return the job for the models, or None if no model is available now."""
        if (
            self._job is None
            and self.panel
            and self.panel.slots
            and self.sandbox.repairs.acquire(blocking=False)
        ):
            self._job = RepairJob(
                self.sandbox, self.panel, self.attempts, self.seconds_max, self.request.code
            )
        return self._job

    def repair_and_improve(self) -> None:
        """Repair and improve the program as far as the mode asks for it."""
        status, error = outcome_of(self.run)
        mode = self.request.mode
        if status in ("timeout", "killed"):
            self.notes.append("A stopped program is not repaired.")
            return
        if (status == "failed" or mode != "fix") and len(self.code) > limits.REPAIR_CHARACTERS_MAX:
            action = "repaired" if status == "failed" else "improved"
            self.notes.append(
                f"A program of more than {limits.REPAIR_CHARACTERS_MAX} characters is not {action}."
            )
            return
        if error and mode != "optimize":
            self._repair(error)
        if mode != "fix":
            self._improve()

    def _repair(self, error: ExecutionError) -> None:
        trials = _RuleTrials(self)
        proposal = repair(self.code, failure_of(error), trials.attempt)
        if proposal and trials.last_run:
            self.code, self.run, self.is_fixed = proposal.code, trials.last_run, True
            return
        if trials.stop_reason:
            self.notes.append(trials.stop_reason)
            return
        job = self._start_job()
        if job is None:
            self.notes.append(f"Only repair by rule was tried: {self._no_model_reason}.")
            return
        change = fix(job, self.run, error, self.request.strategy)
        if change:
            self.code, self.run, self.is_fixed = change.code, change.run, True
            self.evidence["verified"] = "tests" if change.has_tests else "runs"
        elif job.stop_reason:
            self.notes.append(f"Repair by model stopped: {job.stop_reason.rstrip('.')}.")

    def _improve(self) -> None:
        """Make the program faster by model, and in mode `all` easier to read."""
        if outcome_of(self.run)[0] != "ok":
            if self.request.mode == "optimize":
                self.notes.append("Not optimized: the program fails.")
            return
        job = self._start_job()
        reason = self._no_model_reason if job is None else job.stop_reason
        if job is None or (reason := reason or why_incomparable(job, self.code, self.run)):
            self.notes.append(f"Not optimized: {(reason or '').rstrip('.')}.")
            return
        purposes: tuple[tuple[Purpose, str], ...] = (("optimize", "optimized"), ("tidy", "tidied"))
        for purpose, outcome in purposes if self.request.mode == "all" else purposes[:1]:
            change = improve(job, purpose, self.code, self.run)
            if isinstance(change, str):
                self.notes.append(f"Not {outcome}: {change.rstrip('.')}.")
            else:
                self.code, self.run = change.code, change.run
                self.evidence[outcome] = change.optimized or True

    def executed(self, duration_ms: float) -> Executed:
        """Return the outcome of the current version."""
        run, request, bounds = self.run, self.request, self.sandbox.bounds
        status, error = outcome_of(run)
        run_limits = ExecutionLimits(
            seconds=self.seconds_max,
            memory_bytes=bounds.memory_bytes,
            disk_bytes=bounds.disk_bytes,
            files=bounds.files,
            output_bytes=bounds.output_bytes,
            threads=bounds.threads,
        )
        return Executed(
            status="fixed" if self.is_fixed else status,
            stdout=run.stdout,
            stderr=run.stderr,
            stdout_truncated=run.stdout_truncated,
            stderr_truncated=run.stderr_truncated,
            result=run.result if status == "ok" else None,
            result_truncated=run.result_truncated and status == "ok",
            error=error,
            code=self.code,
            mode=request.mode,
            fixed=self.is_fixed,
            diff=None if self.code == request.code else diff(request.code, self.code),
            note=" ".join(self.notes) or None,
            attempts=self.attempts,
            files=[],  # set when they are stored
            files_left_out=[FileLeftOut(name=name, why=why) for name, why in run.left_out],
            files_not_named=run.not_named,
            exit_code=run.exit_code,
            signal=run.signal,
            usage=RunUsage(
                wall_ms=ms(run.wall_ms), cpu_ms=ms(run.cpu_ms), max_rss_kb=run.max_rss_kb
            ),
            sandbox=Confinement(level=run.level, limits=run_limits),
            duration_ms=duration_ms,
            **self.evidence,
        )


class _RuleTrials:
    """Runs of the proposals of rules, within a common time limit."""

    def __init__(self, program: _ProgramState) -> None:
        self._program = program
        self._deadline = time.monotonic() + limits.REPAIR_SECONDS_MAX
        self.last_run: SandboxRun | None = None
        self.stop_reason: str | None = None  # why no more proposals can run

    def attempt(self, proposal: Proposal) -> Trial | None:
        program = self._program
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            self.stop_reason = f"Repair stopped after {limits.REPAIR_SECONDS_MAX} seconds."
            return None
        try:
            run = program.sandbox.run(proposal.code, seconds=min(remaining, program.seconds_max))
        except (SandboxBusy, SandboxUnavailable) as unavailable:
            # Not raised: the request is answered with the outcome of the original program.
            self.stop_reason = f"Repair stopped: {unavailable.detail}"
            return None
        self.last_run = run
        status, error = outcome_of(run)
        drops_output = status == "ok" and self._drops_output(run)
        program.attempts.append(
            Attempt(
                stage="deterministic",
                repair=proposal.name,
                outcome="refused" if drops_output else status,
                error=error.type if error else None,
                guard="drops_output" if drops_output else None,
                ms=ms(run.wall_ms),
            )
        )
        return Trial(
            is_success=status == "ok" and not drops_output,
            failure=failure_of(error) if error and status == "failed" else None,
        )

    def _drops_output(self, run: SandboxRun) -> bool:
        """Return True if the run lacks what the original always prints before it fails."""
        program, printed = self._program, self._program.run.stdout
        if run.stdout.startswith(printed):
            return False
        try:
            rerun = program.sandbox.run(program.code, seconds=program.request.timeout_s)
        except (SandboxBusy, SandboxUnavailable):
            return True
        return rerun.stdout == printed
