"""Fix a failing program with up to three models, one after another or in parallel.

Guards inspect each proposal and the sandbox runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from ...models import ModelMessage, Slot
from ...protocol import limits
from ...protocol.execution import ExecutionError, Guard, Strategy
from ...sandbox.port import SandboxRun
from ..outcomes import outcome_of
from .budget import SLOTS
from .job import GuardReport, ModelProposal, RepairJob, prints_constant
from .prompts import GUARD_REASONS, RejectedProgram, failure_text

# Errors that changing the program cannot fix: modules, rights or a network that the sandbox lacks,
# and exits that the program chose.
UNFIXABLE_ERRORS = frozenset(
    {
        "ModuleNotFoundError",
        "PermissionError",
        "MemoryError",
        "SystemExit",
        "KeyboardInterrupt",
        "EOFError",
        "ConnectionError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "gaierror",
        "URLError",
        "TimeoutError",
        "BlockingIOError",
    }
)
TEMPERATURES = (0.0, 0.5)  # of the first and of later requests to a slot
_CALLS_PER_RACER = 2  # calls of one request in a race, retries included


@dataclass(frozen=True, slots=True, kw_only=True)
class FixResult:
    """A fixed program that ran successfully, its run, and whether it contains tests."""

    code: str
    run: SandboxRun
    has_tests: bool


@dataclass(slots=True, kw_only=True)
class _Fix:
    """The failure to fix, and the proposals so far."""

    job: RepairJob
    failed_run: SandboxRun
    error: ExecutionError
    rejections: dict[Slot, list[RejectedProgram]] = field(default_factory=dict)
    failed_slots: set[Slot] = field(default_factory=set)  # not requested again
    _has_stable_output: bool | None = None

    def evaluate(self, proposal: ModelProposal) -> FixResult | None:
        """Inspect and run a proposal. Return None if it is rejected."""
        if proposal.failure:
            self.failed_slots.add(proposal.slot)
            self.job.record("model", proposal)
            return None
        if proposal.code is None:
            self._reject(proposal, "no_program", "")
            return None
        report = self.job.inspect(self.job.code, proposal.code, "fix")
        if report is None:
            return None
        if report.guard:
            self._reject(proposal, report.guard, proposal.code)
            return None
        self.job.digests.add(report.digest)
        run = self.job.run(proposal.code)
        return None if run is None else self._evaluate_run(proposal, proposal.code, report, run)

    def _evaluate_run(
        self, proposal: ModelProposal, code: str, report: GuardReport, run: SandboxRun
    ) -> FixResult | None:
        status, error = outcome_of(run)
        if status != "ok":
            reason = (
                failure_text(error.type, error.message, error.traceback)
                if error
                else f"It ended: {status}."
            )
            self.rejections.setdefault(proposal.slot, []).append(
                RejectedProgram(code=code, reason=reason)
            )
            self.job.record("model", proposal, run=run)
            return None
        guard: Guard | None = None if self._keeps_output(run) else "drops_output"
        guard = guard or ("hard_codes" if prints_constant(run, report.constants) else None)
        if guard:
            self._reject(proposal, guard, code, run)
            return None
        self.job.record("model", proposal, run=run)
        return FixResult(code=code, run=run, has_tests=report.has_tests)

    def _reject(
        self, proposal: ModelProposal, guard: Guard, code: str, run: SandboxRun | None = None
    ) -> None:
        self.rejections.setdefault(proposal.slot, []).append(
            RejectedProgram(code=code, reason=GUARD_REASONS[guard])
        )
        self.job.record("model", proposal, run=run, guard=guard)

    def _keeps_output(self, run: SandboxRun) -> bool:
        """Return True if the run printed everything that the failed run printed, and its files.

        If the output differs between runs of the original program, any output is accepted.
        """
        old_files = {name for name, _ in self.failed_run.files}
        new_files = {name for name, _ in run.files}
        if run.stdout.startswith(self.failed_run.stdout) and old_files <= new_files:
            return True
        if self._has_stable_output is None:
            rerun = self.job.run(self.job.code)
            self._has_stable_output = rerun is None or rerun.stdout == self.failed_run.stdout
        return not self._has_stable_output and bool(run.stdout)


def fix(
    job: RepairJob, failed_run: SandboxRun, error: ExecutionError, strategy: Strategy
) -> FixResult | None:
    """Return the program fixed by a model, or None if no model could fix it.

    The job records the attempts.
    """
    if error.type in UNFIXABLE_ERRORS:
        job.stop_reason = f"a model cannot fix {error.type}"
        return None
    state = _Fix(job=job, failed_run=failed_run, error=error)
    for proposal in _race(state) if strategy == "race" else _cascade(state):
        result = state.evaluate(proposal)
        if result is not None:
            return result
        if job.stop_reason:
            return None
    return None


def _cascade(state: _Fix) -> Iterator[ModelProposal]:
    """Yield the proposals of one slot after another."""
    slots = state.job.panel.slots
    for position, slot in enumerate(slots):
        for number in range(limits.REPAIR_MODEL_TRIES):
            if slot in state.failed_slots:
                break
            remaining = (len(slots) - position) * limits.REPAIR_MODEL_TRIES - number
            proposal = state.job.request_proposal(
                slot,
                _messages(state, slot),
                among=remaining,
                temperature=TEMPERATURES[min(number, 1)],
            )
            if proposal is None:
                return
            yield proposal


def _race(state: _Fix) -> Iterator[ModelProposal]:
    """Yield the proposals of all slots in parallel as they arrive, then those of a second round.

    Requests still in flight when the caller stops are not awaited.
    """
    job = state.job
    threads = ThreadPoolExecutor(len(SLOTS), "repair")
    try:
        for temperature in TEMPERATURES[: limits.REPAIR_MODEL_TRIES]:
            slots = [slot for slot in job.panel.slots if slot not in state.failed_slots]
            futures = []
            for slot in slots:
                share = (
                    None
                    if job.is_over
                    else job.budget.take(job.code, among=1, calls=_CALLS_PER_RACER)
                )
                if share is not None:
                    messages = _messages(state, slot)
                    futures.append(threads.submit(job.propose, slot, messages, share, temperature))
            for future in as_completed(futures):
                yield future.result()
            if job.is_over:
                return
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _messages(state: _Fix, slot: Slot) -> tuple[ModelMessage, ...]:
    error = failure_text(state.error.type, state.error.message, state.error.traceback)
    rejections = [rejection for rejection in state.rejections.get(slot, []) if rejection.code]
    return state.job.messages("fix", state.job.code, error, rejections[-1:])
