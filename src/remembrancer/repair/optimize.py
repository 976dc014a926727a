"""Make a working program faster by rule, without a model.

A change is accepted only if its output, result, error output and files are identical, and it uses
less CPU time in several pairs of runs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..protocol import limits
from ..protocol.execution import Attempt, Guard, Optimized
from ..sandbox.port import ProgramSandbox, SandboxBusy, SandboxRun, SandboxUnavailable
from .outcomes import is_same, measure, ms, outcome_of, why_incomparable, why_unmeasurable
from .rules import faster


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedByRule:
    """A faster program, its run, the names of its changes, and their last measurement."""

    code: str
    run: SandboxRun
    changes: tuple[str, ...]
    optimized: Optimized


class RuleRunner:
    """Runs a program and its changed versions within a common time limit."""

    def __init__(
        self, sandbox: ProgramSandbox, seconds: float | None, attempts: list[Attempt]
    ) -> None:
        self._sandbox = sandbox
        self._seconds = seconds or sandbox.bounds.seconds
        self._attempts = attempts
        self._deadline = time.monotonic() + limits.REPAIR_SECONDS_MAX
        self.stop_reason: str | None = None

    def run(self, code: str) -> SandboxRun | None:
        """Run a program. Return None if it cannot run; `stop_reason` says why."""
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            self.stop_reason = f"the limit of {limits.REPAIR_SECONDS_MAX} seconds is reached"
            return None
        try:
            return self._sandbox.run(code, seconds=min(remaining, self._seconds))
        except (SandboxBusy, SandboxUnavailable) as error:
            # Not raised: the request is answered with the outcome of the original program.
            self.stop_reason = error.detail
            return None

    def record(self, change: str, run: SandboxRun, guard: Guard | None) -> None:
        """Append the outcome of a change to the attempts."""
        status, error = outcome_of(run)
        self._attempts.append(
            Attempt(
                stage="optimize",
                repair=change,
                outcome="refused" if guard else status,
                error=error.type if error and not guard else None,
                guard=guard,
                ms=ms(run.wall_ms),
            )
        )


def optimize(runner: RuleRunner, code: str, run: SandboxRun) -> OptimizedByRule | str:
    """Return the program with the changes that make it faster, or the reason why none does."""
    reason = why_unmeasurable(run)
    candidates = [] if reason else [change.name for change in faster.proposals(code)]
    if not reason and not candidates:
        reason = "no rule makes it faster"
    reason = reason or why_incomparable(runner, code, run)
    if reason:
        return reason
    result: OptimizedByRule | None = None
    for name in candidates:
        current, current_run = (result.code, result.run) if result else (code, run)
        change = next((one for one in faster.proposals(current) if one.name == name), None)
        accepted = _evaluate(runner, current, current_run, change.code, name) if change else None
        if accepted:
            new_run, optimized = accepted
            if result:
                before = result.optimized.cpu_ms_before
                optimized = optimized.model_copy(update={"cpu_ms_before": before})
            changes = (*(result.changes if result else ()), name)
            assert change is not None
            result = OptimizedByRule(
                code=change.code, run=new_run, changes=changes, optimized=optimized
            )
    return result or runner.stop_reason or "no rule made it faster"


def _evaluate(
    runner: RuleRunner, code: str, run: SandboxRun, new_code: str, change: str
) -> tuple[SandboxRun, Optimized] | None:
    """Return the run and the measurement of a change that is equal and faster."""
    new_run = runner.run(new_code)
    if new_run is None:
        return None
    if outcome_of(new_run)[0] != "ok":
        runner.record(change, new_run, None)
        return None
    optimized: Optimized | None = None
    guard: Guard | None = "unequal"
    if is_same(run, new_run):
        optimized, guard = measure(runner, code, new_code, run)
    if optimized or guard:
        runner.record(change, new_run, guard)
    return (new_run, optimized) if optimized else None


def hint(code: str, run: SandboxRun) -> str | None:
    """Return advice that cannot be proven and is therefore not applied, or None."""
    line = None if why_unmeasurable(run) else faster.vectorizable_line(code)
    return (
        f"The loop in line {line} computes one element at a time; numpy arrays may be faster."
        if line
        else None
    )
