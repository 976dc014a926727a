"""Fix a failing program, or improve a working one, with up to three models.

A fix asks the models one after another or in parallel. An improvement is accepted only if output,
result and files are identical. Guards inspect each proposal, and the sandbox runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from statistics import median

from ...models import ModelMessage, Slot
from ...protocol import limits
from ...protocol.execution import ExecutionError, Guard, Optimized, Strategy
from ...sandbox.port import SandboxRun
from ..outcomes import ms, outcome_of
from .job import SLOTS, GuardReport, ModelProposal, RepairJob, prints_constant
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
CPU_RATIO_MAX = 0.9  # CPU time of a faster program, relative to the original
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
    guard: Guard | None = "unequal" if not is_same(run, new_run) else None
    guard = guard or ("hard_codes" if prints_constant(new_run, report.constants) else None)
    optimized = None
    if purpose == "optimize" and not guard:
        optimized, guard = measure(job, code, proposal.code, run)
        if job.stop_reason and optimized is None and not guard:
            return None
    job.record(purpose, proposal, run=new_run, guard=guard)
    return None if guard else ImproveResult(code=proposal.code, run=new_run, optimized=optimized)


# --- Comparison of a changed program with the original --------------------------------------------


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


def why_unmeasurable(run: SandboxRun) -> str | None:
    """Return why no shorter time of this program can be measured, or None if one can."""
    if run.cpu_ms >= limits.OPTIMIZE_CPU_MS_MIN:
        return None
    return (
        f"it takes less than {limits.OPTIMIZE_CPU_MS_MIN} ms of CPU time, "
        "which is too short to measure"
    )


def measure(
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
