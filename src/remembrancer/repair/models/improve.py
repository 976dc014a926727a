"""Make a working program faster or easier to read with a model.

A change is accepted only if its output, result and files are identical.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ...protocol import limits
from ...protocol.execution import Guard, Optimized
from ...sandbox.sandbox import SandboxRun
from ..outcomes import ms, outcome_of
from .job import GuardReport, ModelProposal, RepairJob, prints_constant

CPU_RATIO_MAX = 0.9  # CPU time of a faster program, relative to the original


@dataclass(frozen=True, slots=True, kw_only=True)
class ImproveResult:
    """A changed program with identical output, and its run."""

    code: str
    run: SandboxRun
    optimized: Optimized | None = None


def is_same(one: SandboxRun, other: SandboxRun) -> bool:
    """Return True if both runs succeeded with the same output, result and files."""
    return outcome_of(one)[0] == outcome_of(other)[0] == "ok" and _effects(one) == _effects(other)


def _effects(run: SandboxRun) -> tuple[object, ...]:
    return run.stdout, run.stderr, run.result, sorted(run.files)


def why_incomparable(job: RepairJob, code: str, run: SandboxRun) -> str | None:
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
    rerun = job.run(code)
    if rerun is None:
        return job.stop_reason
    return None if is_same(run, rerun) else "its output differs from run to run"


def faster(job: RepairJob, code: str, run: SandboxRun) -> ImproveResult | str:
    """Return the program with at least 10 % less CPU time, or the reason why it stays unchanged."""
    if run.cpu_ms < limits.OPTIMIZE_CPU_MS_MIN:
        return (
            f"it takes less than {limits.OPTIMIZE_CPU_MS_MIN} ms of CPU time, "
            "which is too short to measure"
        )
    instruction = f"It takes {run.cpu_ms:.0f} ms of CPU time. Make it take less."
    return _improve(job, code, run, "optimize", instruction)


def tidier(job: RepairJob, code: str, run: SandboxRun) -> ImproveResult | str:
    """Return the program made easier to read, or the reason why it stays unchanged."""
    return _improve(job, code, run, "tidy", "It works. Make it easy to read.")


def _improve(
    job: RepairJob, code: str, run: SandboxRun, purpose: str, instruction: str
) -> ImproveResult | str:
    """Request a proposal from each slot until one is accepted."""
    slots = job.panel.slots
    for position, slot in enumerate(slots):
        proposal = job.request_proposal(
            slot,
            job.messages(purpose, code, instruction),
            among=len(slots) - position,
            temperature=0.0,
        )
        if proposal is None:
            break
        result = _evaluate(job, code, run, proposal, purpose)
        if result is not None:
            return result
        if job.stop_reason:
            break
    return job.stop_reason or "no proposal of a model was accepted"


def _evaluate(
    job: RepairJob, code: str, run: SandboxRun, proposal: ModelProposal, purpose: str
) -> ImproveResult | None:
    if proposal.failure or proposal.code is None:
        job.record(purpose, proposal, guard=None if proposal.failure else "no_program")
        return None
    report = job.inspect(code, proposal.code, purpose)
    if report is not None and report.guard:
        job.record(purpose, proposal, guard=report.guard)
        return None
    new_run = None if report is None else job.run(proposal.code)
    if report is None or new_run is None:
        return None
    job.digests.add(report.digest)
    if outcome_of(new_run)[0] != "ok":
        job.record(purpose, proposal, run=new_run)
        return None
    candidate = _Candidate(code=proposal.code, run=new_run, report=report)
    optimized, guard = _prove(job, code, run, candidate, purpose)
    lacks_measurement = purpose == "optimize" and optimized is None and not guard
    if job.stop_reason and lacks_measurement:
        return None
    job.record(purpose, proposal, run=new_run, guard=guard)
    return None if guard else ImproveResult(code=proposal.code, run=new_run, optimized=optimized)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A program that passed the guards so far, and its successful run."""

    code: str
    run: SandboxRun
    report: GuardReport


def _prove(
    job: RepairJob, code: str, run: SandboxRun, candidate: _Candidate, purpose: str
) -> tuple[Optimized | None, Guard | None]:
    if not is_same(run, candidate.run):
        return None, "unequal"
    if prints_constant(candidate.run, candidate.report.constants):
        return None, "hard_codes"
    return _measure(job, code, candidate.code, run) if purpose == "optimize" else (None, None)


def _measure(
    job: RepairJob, code: str, new_code: str, expected: SandboxRun
) -> tuple[Optimized | None, Guard | None]:
    """Run both programs alternately until it is clear which is faster.

    Return the figures, or the guard that rejects the change, or neither if the time is up.
    """
    before: list[float] = []
    after: list[float] = []
    wins = 0
    for _ in range(limits.OPTIMIZE_PAIRS):
        old = job.run(code)
        new = None if old is None else job.run(new_code)
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
