"""Fix a failing program, or improve a working one, with up to three models.

A fix asks the models one after another or in parallel. An improvement is accepted only if output,
result and files are identical. Guards inspect each proposal, and the sandbox runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from ...models import ModelMessage, Slot
from ...protocol import limits
from ...protocol.execution import ExecutionError, Guard, Optimized, Strategy
from ...sandbox.port import SandboxRun
from ..outcomes import ms, outcome_of
from .job import SLOTS, GuardReport, ModelProposal, RepairJob, prints_constant
from .prompts import GUARD_REASONS, Purpose, failure_text

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
class AcceptedChange:
    """A changed program that was accepted, its run, and whether it contains tests.

    `optimized` has the measurements of one that was made faster.
    """

    code: str
    run: SandboxRun
    has_tests: bool
    optimized: Optimized | None = None


def fix(
    job: RepairJob, failed_run: SandboxRun, error: ExecutionError, strategy: Strategy
) -> AcceptedChange | None:
    """Return the program fixed by a model, or None if no model could fix it.

    The job records the attempts.
    """
    if error.type in UNFIXABLE_ERRORS:
        job.stop_reason = f"a model cannot fix {error.type}"
        return None
    task = _Task(
        job=job,
        purpose="fix",
        code=job.code,
        run=failed_run,
        details=failure_text(error),
        tries=limits.REPAIR_MODEL_TRIES,
    )
    return task.first_accepted(task.race() if strategy == "race" else task.cascade())


def improve(job: RepairJob, purpose: Purpose, code: str, run: SandboxRun) -> AcceptedChange | str:
    """Return the program with at least 10 % less CPU time, or made easier to read.

    Return the reason instead if it stays unchanged.
    """
    if purpose == "optimize" and run.cpu_ms < limits.OPTIMIZE_CPU_MS_MIN:
        return (
            f"it takes less than {limits.OPTIMIZE_CPU_MS_MIN} ms of CPU time, "
            "which is too short to measure"
        )
    details = {
        "optimize": f"It takes {run.cpu_ms:.0f} ms of CPU time. Make it take less.",
        "tidy": "It works. Make it easy to read.",
    }
    task = _Task(job=job, purpose=purpose, code=code, run=run, details=details[purpose])
    accepted = task.first_accepted(task.cascade())
    return accepted or job.stop_reason or "no proposal of a model was accepted"


@dataclass(kw_only=True)
class _Task:
    """A program that models are asked to change, and the proposals so far."""

    job: RepairJob
    purpose: Purpose
    code: str
    run: SandboxRun  # of this code
    details: str  # for the models
    tries: int = 1  # of each slot
    rejected: dict[Slot, tuple[str, str]] = field(default_factory=dict)  # last program, and why
    failed_slots: set[Slot] = field(default_factory=set)  # not requested again

    def first_accepted(self, proposals: Iterable[ModelProposal]) -> AcceptedChange | None:
        """Evaluate proposals until one is accepted, or nothing more can run."""
        for proposal in proposals:
            change = self._evaluate(proposal)
            if change or self.job.stop_reason:
                return change
        return None

    def cascade(self) -> Iterator[ModelProposal]:
        """Yield the proposals of one slot after another."""
        job, slots = self.job, self.job.panel.slots
        for position, slot in enumerate(slots):
            for number in range(self.tries):
                if slot in self.failed_slots:
                    break
                among = (len(slots) - position) * self.tries - number
                share = job.take(among=among, calls=job.panel.settings.repair_calls_max)
                if share is None:
                    return
                temperature = TEMPERATURES[min(number, 1)]
                yield job.propose(slot, self._messages(slot), share, temperature)

    def race(self) -> Iterator[ModelProposal]:
        """Yield the proposals of all slots in parallel as they arrive, then those of a next round.

        Requests still in flight when the caller stops are not awaited.
        """
        job = self.job
        threads = ThreadPoolExecutor(len(SLOTS), "repair")
        try:
            for temperature in TEMPERATURES[: self.tries]:
                futures = []
                for slot in job.panel.slots:
                    if slot in self.failed_slots:
                        continue
                    if share := job.take(among=1, calls=_CALLS_PER_RACER):
                        messages = self._messages(slot)
                        futures.append(
                            threads.submit(job.propose, slot, messages, share, temperature)
                        )
                for future in as_completed(futures):
                    yield future.result()
                if job.is_over:
                    return
        finally:
            threads.shutdown(wait=False, cancel_futures=True)

    def _messages(self, slot: Slot) -> tuple[ModelMessage, ...]:
        return self.job.messages(self.purpose, self.code, self.details, self.rejected.get(slot))

    def _evaluate(self, proposal: ModelProposal) -> AcceptedChange | None:
        """Inspect and run a proposal. Return None if it is rejected, or nothing more can run."""
        job, code = self.job, proposal.code
        if proposal.failure:
            self.failed_slots.add(proposal.slot)
            job.record(self.purpose, proposal)
        elif code is None:
            self._reject(proposal, "no_program")
        elif report := job.inspect(self.code, code, self.purpose):
            if not report.guard:
                job.digests.add(report.digest)
                if run := job.run(code):
                    return self._evaluate_run(proposal, code, report, run)
            else:
                self._reject(proposal, report.guard)
        return None

    def _evaluate_run(
        self, proposal: ModelProposal, code: str, report: GuardReport, run: SandboxRun
    ) -> AcceptedChange | None:
        if error := outcome_of(run)[1]:
            self.rejected[proposal.slot] = code, failure_text(error)
            self.job.record(self.purpose, proposal, run=run)
            return None
        guard = self._effect_guard(run)
        guard = guard or ("hard_codes" if prints_constant(run, report.constants) else None)
        optimized = None
        if self.purpose == "optimize" and not guard:
            optimized, guard = measure(self.job, self.code, code, self.run)
            if not optimized and not guard:
                return None  # the time is up
        if guard:
            self._reject(proposal, guard, run)
            return None
        self.job.record(self.purpose, proposal, run=run)
        return AcceptedChange(code=code, run=run, has_tests=report.has_tests, optimized=optimized)

    def _reject(self, proposal: ModelProposal, guard: Guard, run: SandboxRun | None = None) -> None:
        if proposal.code:
            self.rejected[proposal.slot] = proposal.code, GUARD_REASONS[guard]
        self.job.record(self.purpose, proposal, run=run, guard=guard)

    def _effect_guard(self, run: SandboxRun) -> Guard | None:
        """Return the guard that rejects what a run printed and the files it left, or None.

        A fix prints everything that the failed run printed, and writes its files. If the output
        differs between runs of the original program, any output is accepted. Other changes have the
        same effects.
        """
        if self.purpose != "fix":
            return None if is_same(self.run, run) else "unequal"
        old_files, new_files = ({name for name, _ in one.files} for one in (self.run, run))
        if run.stdout.startswith(self.run.stdout) and old_files <= new_files:
            return None
        return "drops_output" if self._has_stable_output or not run.stdout else None

    @cached_property
    def _has_stable_output(self) -> bool:
        rerun = self.job.run(self.code)
        return rerun is None or rerun.stdout == self.run.stdout


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
