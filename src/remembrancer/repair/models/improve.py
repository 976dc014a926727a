"""Make a program that works faster, or easier to read; each only when what it does is seen to be
the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ...protocol import limits
from ...protocol.execution import Guard, Optimized
from ...sandbox.sandbox import SandboxRun
from ..outcomes import ms, outcome_of
from .job import GuardReport, ModelProposal, RepairJob, summary_of

GAIN = 0.9  # of the work of the processor that it took


@dataclass(frozen=True, slots=True, kw_only=True)
class ImproveResult:
    """A changed program that does the same, and its run."""

    code: str
    run: SandboxRun
    optimized: Optimized | None = None


def same(one: SandboxRun, other: SandboxRun) -> bool:
    """Whether two runs cannot be told from each other by what came of them."""
    return outcome_of(one)[0] == outcome_of(other)[0] == "ok" and _outcome(one) == _outcome(other)


def _outcome(run: SandboxRun) -> tuple[object, ...]:
    return run.stdout, run.stderr, run.result, sorted(run.files)


def why_unproven(work: RepairJob, code: str, run: SandboxRun) -> str | None:
    """Why equal output could not be shown of this program at all; None when it could.

    Runs it once more.
    """
    if (
        run.stdout_truncated
        or run.stderr_truncated
        or run.result_truncated
        or run.left_out
        or run.not_named
    ):
        return "more came of it than is kept, so that nobody could compare it"
    again = work.run(code)
    if again is None:
        return work.ended
    return None if same(run, again) else "what it prints differs from run to run"


def faster(work: RepairJob, code: str, run: SandboxRun) -> ImproveResult | str:
    """The program with at least a tenth less work of the processor and the same outcome; or why it
    stays as it is.
    """
    if run.cpu_ms < limits.OPTIMIZE_CPU_MS_MIN:
        return f"it takes less than {limits.OPTIMIZE_CPU_MS_MIN} ms of the processor, which is too short to measure"
    told = f"It takes {run.cpu_ms:.0f} ms of the processor. Make it take less."
    return _tried(work, code, run, "optimize", told)


def tidier(work: RepairJob, code: str, run: SandboxRun) -> ImproveResult | str:
    """The program made easier to read, with the same outcome; or why it stays as it is."""
    return _tried(work, code, run, "tidy", "It works. Make it easy to read.")


def _tried(
    work: RepairJob, code: str, run: SandboxRun, purpose: str, told: str
) -> ImproveResult | str:
    """Each slot once, until one proposes what holds."""
    slots = work.panel.slots
    for place, slot in enumerate(slots):
        proposed = work.ask(
            slot, work.messages(purpose, code, told), among=len(slots) - place, temperature=0.0
        )
        if proposed is None:
            break
        taken = _taken(work, code, run, proposed, purpose)
        if taken is not None:
            return taken
        if work.ended:
            break
    return work.ended or "no model proposed one that holds"


def _taken(
    work: RepairJob, code: str, run: SandboxRun, proposed: ModelProposal, purpose: str
) -> ImproveResult | None:
    if proposed.failed or proposed.code is None:
        work.note(purpose, proposed, guard=None if proposed.failed else "no_program")
        return None
    look = work.look(code, proposed.code, purpose)
    if look is not None and look.guard:
        work.note(purpose, proposed, guard=look.guard)
        return None
    changed = None if look is None else work.run(proposed.code)
    if look is None or changed is None:
        return None
    work.seen.add(look.digest)
    if outcome_of(changed)[0] != "ok":
        work.note(purpose, proposed, run=changed)
        return None
    optimized, refused = _proven(
        work, code, run, _Candidate(code=proposed.code, run=changed, look=look), purpose
    )
    if (
        work.ended and not refused and purpose == "optimize" and optimized is None
    ):  # no time to measure
        return None
    work.note(purpose, proposed, run=changed, guard=refused)
    return None if refused else ImproveResult(code=proposed.code, run=changed, optimized=optimized)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A program that no guard refused so far, and its run, which ended well."""

    code: str
    run: SandboxRun
    look: GuardReport


def _proven(
    work: RepairJob, code: str, run: SandboxRun, changed: _Candidate, purpose: str
) -> tuple[Optimized | None, Guard | None]:
    if not same(run, changed.run):
        return None, "unequal"
    if summary_of(changed.run, changed.look.given):
        return None, "hard_codes"
    return _measured(work, code, changed.code, run) if purpose == "optimize" else (None, None)


def _measured(
    work: RepairJob, code: str, changed: str, expected: SandboxRun
) -> tuple[Optimized | None, Guard | None]:
    """Run both in turn until it is plain which is faster; the figures, or the guard that refuses.

    Neither when there is no time.
    """
    before: list[float] = []
    after: list[float] = []
    won = 0
    for _ in range(limits.OPTIMIZE_PAIRS):
        old = work.run(code)
        new = None if old is None else work.run(changed)
        if old is None or new is None:
            return None, None
        if not same(old, expected) or not same(new, expected):
            return None, "unequal"
        before.append(old.cpu_ms)
        after.append(new.cpu_ms)
        won += new.cpu_ms <= GAIN * old.cpu_ms
        if (
            won >= limits.OPTIMIZE_PAIRS_WON_MIN
            or len(before) - won > limits.OPTIMIZE_PAIRS - limits.OPTIMIZE_PAIRS_WON_MIN
        ):
            break
    if won < limits.OPTIMIZE_PAIRS_WON_MIN:
        return None, "not_faster"
    return Optimized(
        cpu_ms_before=ms(median(before)),
        cpu_ms_after=ms(median(after)),
        pairs=len(before),
        pairs_won=won,
    ), None
