"""Mend a program that failed:

up to three models in a row, or all at once, each answer guarded and run.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from ...models import ModelMessage, Slot
from ...protocol import limits
from ...protocol.execution import ExecutionError, Guard, Strategy
from ...sandbox.sandbox import SandboxRun
from ..outcomes import outcome_of
from .budget import SLOTS
from .job import GuardReport, ModelProposal, RepairJob, summary_of
from .prompts import WHY, RejectedProgram, failure_text

# Failures that are no fault of the program's text: what it lacks here, what it may not do, and ends
# that it chose.
OWN_AFFAIR = frozenset(
    {
        "ModuleNotFoundError",
        "PermissionError",
        "MemoryError",
        "SystemExit",
        "KeyboardInterrupt",
        "EOFError",
    }
    | {
        "ConnectionError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "gaierror",
        "URLError",
        "TimeoutError",
        "BlockingIOError",
    }
)
TEMPERATURES = (0.0, 0.5)  # of the first try and of the next
_CALLS_IN_A_RACE = 2  # that one answer may cost: the port asks again where that may help


@dataclass(frozen=True, slots=True, kw_only=True)
class FixResult:
    """A program of a model that ends well, its run, and whether it has tests of its own."""

    code: str
    run: SandboxRun
    tested: bool


@dataclass(slots=True, kw_only=True)
class _Fix:
    """The failure that is to be mended, and what was said to it so far."""

    work: RepairJob
    failed: SandboxRun
    error: ExecutionError
    rejected: dict[Slot, list[RejectedProgram]] = field(default_factory=dict)
    silent: set[Slot] = field(default_factory=set)  # slots that gave no answer are not asked again
    _steady: bool | None = None

    def take(self, proposed: ModelProposal) -> FixResult | None:
        """What a model proposed, if it holds."""
        if proposed.failed:
            self.silent.add(proposed.slot)
            self.work.note("model", proposed)
            return None
        if proposed.code is None:
            self._refuse(proposed, "no_program", "")
            return None
        look = self.work.look(self.work.code, proposed.code, "fix")
        if look is None:
            return None
        if look.guard:
            self._refuse(proposed, look.guard, proposed.code)
            return None
        self.work.seen.add(look.digest)
        run = self.work.run(proposed.code)
        return None if run is None else self._judged(proposed, proposed.code, look, run)

    def _judged(
        self, proposed: ModelProposal, code: str, look: GuardReport, run: SandboxRun
    ) -> FixResult | None:
        status, error = outcome_of(run)
        if status != "ok":
            told = (
                failure_text(error.type, error.message, error.traceback)
                if error
                else f"It ended: {status}."
            )
            self.rejected.setdefault(proposed.slot, []).append(RejectedProgram(code=code, why=told))
            self.work.note("model", proposed, run=run)
            return None
        guard: Guard | None = None if self._keeps_output(run) else "drops_output"
        guard = guard or ("hard_codes" if summary_of(run, look.given) else None)
        if guard:
            self._refuse(proposed, guard, code, run)
            return None
        self.work.note("model", proposed, run=run)
        return FixResult(code=code, run=run, tested=look.tested)

    def _refuse(
        self, proposed: ModelProposal, guard: Guard, code: str, run: SandboxRun | None = None
    ) -> None:
        self.rejected.setdefault(proposed.slot, []).append(
            RejectedProgram(code=code, why=WHY[guard])
        )
        self.work.note("model", proposed, run=run, guard=guard)

    def _keeps_output(self, run: SandboxRun) -> bool:
        """Whether it prints all that was printed before the failure; of a program that prints
        something else each time nobody knows.
        """
        if run.stdout.startswith(self.failed.stdout) and {
            name for name, _ in self.failed.files
        } <= {name for name, _ in run.files}:
            return True
        if self._steady is None:
            again = self.work.run(self.work.code)
            self._steady = again is None or again.stdout == self.failed.stdout
        return not self._steady and bool(run.stdout)


def fix(
    work: RepairJob, failed: SandboxRun, error: ExecutionError, strategy: Strategy
) -> FixResult | None:
    """The program mended by a model; None when none of them could.

    What was tried is among the work's attempts.
    """
    if error.type in OWN_AFFAIR:
        work.ended = f"{error.type} is not for a model to mend"
        return None
    one = _Fix(work=work, failed=failed, error=error)
    for proposed in _raced(one) if strategy == "race" else _one_by_one(one):
        fixed = one.take(proposed)
        if fixed is not None:
            return fixed
        if work.ended:
            return None
    return None


def _one_by_one(one: _Fix) -> Iterator[ModelProposal]:
    slots = one.work.panel.slots
    for place, slot in enumerate(slots):
        for number in range(limits.REPAIR_MODEL_TRIES):
            if slot in one.silent:
                break
            left = (len(slots) - place) * limits.REPAIR_MODEL_TRIES - number
            proposed = one.work.ask(
                slot, _messages(one, slot), among=left, temperature=TEMPERATURES[min(number, 1)]
            )
            if proposed is None:
                return
            yield proposed


def _raced(one: _Fix) -> Iterator[ModelProposal]:
    """All slots at once, as they answer; then all once more.

    Who answers after the first that holds is not waited for.
    """
    work = one.work
    threads = ThreadPoolExecutor(len(SLOTS), "repair")
    try:
        for temperature in TEMPERATURES[: limits.REPAIR_MODEL_TRIES]:
            slots = [slot for slot in work.panel.slots if slot not in one.silent]
            asked = []
            for slot in slots:
                share = (
                    None
                    if work.over
                    else work.spending.take(work.code, among=1, calls=_CALLS_IN_A_RACE)
                )
                if share is not None:
                    asked.append(
                        threads.submit(work.answer, slot, _messages(one, slot), share, temperature)
                    )
            for answer in as_completed(asked):
                yield answer.result()
            if work.over:
                return
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _messages(one: _Fix, slot: Slot) -> tuple[ModelMessage, ...]:
    told = failure_text(one.error.type, one.error.message, one.error.traceback)
    return one.work.messages(
        "fix", one.work.code, told, [each for each in one.rejected.get(slot, []) if each.code][-1:]
    )
