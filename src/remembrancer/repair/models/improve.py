"""Make a working program faster or easier to read with a model.

A change is accepted only if its output, result and files are identical.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...protocol.execution import Guard, Optimized
from ...sandbox.port import SandboxRun
from ..comparison import is_same, measure, why_unmeasurable
from ..outcomes import outcome_of
from .job import GuardReport, ModelProposal, RepairJob, prints_constant


@dataclass(frozen=True, slots=True, kw_only=True)
class ImproveResult:
    """A changed program with identical output, and its run."""

    code: str
    run: SandboxRun
    optimized: Optimized | None = None


def faster(job: RepairJob, code: str, run: SandboxRun) -> ImproveResult | str:
    """Return the program with at least 10 % less CPU time, or the reason why it stays unchanged."""
    if reason := why_unmeasurable(run):
        return reason
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
    return measure(job, code, candidate.code, run) if purpose == "optimize" else (None, None)
