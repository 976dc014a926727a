"""One program under repair by models: requests, inspections, runs and the remaining budget."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from ...models import (
    Budget,
    ModelAttempt,
    ModelFailed,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    Models,
    Slot,
    tokens_of,
)
from ...protocol import limits
from ...protocol.execution import Attempt, Guard
from ...sandbox.port import ProgramSandbox, SandboxBusy, SandboxRun, SandboxUnavailable
from ...settings import Settings
from ..outcomes import ms, outcome_of
from .prompts import RejectedProgram, SecretMask, build_messages, extract_program

SLOTS: tuple[Slot, ...] = ("repair_1", "repair_2", "repair_3")
_TOKENS_MIN = 64  # below this no call can return a program
_TOKENS_OVERHEAD = 256  # for the text around a program
# The guards as a program for the sandbox.
_GUARD_PROGRAM = resources.files(__package__).joinpath("guards.py").read_text("utf-8")
_INSPECT_SECONDS = 5
# A proposal may grow to the larger of this factor and this many more characters.
_GROWTH_FACTOR_MAX = 4
_GROWTH_CHARACTERS_MAX = 2_000
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPanel:
    """The models that may repair a program, and the settings that limit their cost.

    `outside` also allows models on other machines.
    """

    models: Models
    settings: Settings
    outside: bool = True

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Return the slots that have an allowed model."""
        return tuple(slot for slot in SLOTS if self.models.has(slot, outside=self.outside))

    @property
    def unavailable_reason(self) -> str:
        """Return why no slot has an allowed model."""
        if any(self.models.has(slot) for slot in SLOTS):
            return "this account does not allow language models on other machines to read its data"
        return "no model is configured"


@dataclass(slots=True)
class SlotBudget:
    """The share of the budget for one model request."""

    budget: Budget
    tokens: int


class RepairBudget:
    """The remaining budget of one repair request. Safe to use from many threads."""

    def __init__(self, settings: Settings) -> None:
        self.calls_left, self.tokens_left = settings.repair_calls_max, settings.repair_tokens_max
        self._share_tokens_min = settings.model_tokens_max
        self._deadline = time.monotonic() + settings.repair_seconds
        self._lock = threading.Lock()

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the deadline; 0 after it."""
        return max(self._deadline - time.monotonic(), 0.0)

    @property
    def exhausted(self) -> str | None:
        """Return the limit that is reached, in words for a note, or None."""
        with self._lock:
            if self.calls_left <= 0:
                return "limit of model calls"
            if self.tokens_left < _TOKENS_MIN:
                return "limit of model tokens"
        return None if self.seconds_left else "time limit for repair"

    def take(self, code: str, *, among: int, calls: int) -> SlotBudget | None:
        """Reserve a share for one of `among` requests, with at most `calls` calls.

        Return None if a limit is reached.
        """
        if self.exhausted:
            return None
        with self._lock:
            calls = min(calls, self.calls_left)
            tokens = min(
                self.tokens_left,
                max(self._share_tokens_min, 2 * tokens_of(code) + _TOKENS_OVERHEAD),
            )
            self.calls_left -= calls
            self.tokens_left -= tokens
        seconds = min(limits.REPAIR_CALL_SECONDS_MAX, self.seconds_left / max(among, 1))
        return SlotBudget(budget=Budget(seconds=seconds, calls=calls), tokens=tokens)

    def release(self, share: SlotBudget, attempts: tuple[ModelAttempt, ...]) -> None:
        """Return the unused part of a share."""
        completion_tokens = sum(attempt.completion_tokens for attempt in attempts)
        with self._lock:
            self.calls_left += share.budget.calls_left
            self.tokens_left += max(share.tokens - completion_tokens, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """The result of inspecting a change.

    `guard` rejects it, or is None. `constants` lists new constants of the program. See guards.py.
    """

    guard: Guard | None
    digest: str
    constants: Sequence[str]
    has_tests: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProposal:
    """The answer of a slot: its program, or None; the model's name; the tokens and time it took."""

    slot: Slot
    code: str | None
    model: str
    tokens: int
    ms: float
    failure: str | None = None  # why no model answered


class RepairJob:
    """The program of one request. Not thread-safe, except `propose`."""

    def __init__(
        self,
        sandbox: ProgramSandbox,
        panel: ModelPanel,
        attempts: list[Attempt],
        seconds: float,
        code: str,
    ) -> None:
        """Create the job for `code`, the program as it was sent.

        `seconds` is the time limit of one run. The job appends to `attempts`.
        """
        self.sandbox = sandbox
        self.panel = panel
        self.attempts = attempts
        self.seconds = seconds
        self.code = code
        self.budget = RepairBudget(panel.settings)
        self.mask = SecretMask(code)
        self.stop_reason: str | None = None  # why no more proposals can be tried
        self.digests: set[str] = set()  # of the programs that ran

    @property
    def is_over(self) -> bool:
        """Return True if no more requests are possible; `stop_reason` says why."""
        if self.stop_reason is None and (limit := self.budget.exhausted):
            self.stop_reason = f"the {limit} per request is reached"
        return self.stop_reason is not None

    def request_proposal(
        self, slot: Slot, messages: tuple[ModelMessage, ...], *, among: int, temperature: float
    ) -> ModelProposal | None:
        """Request a proposal from a slot, with one of `among` equal shares of the remaining time.

        Return None if a limit is reached; `stop_reason` says which.
        """
        share = (
            None
            if self.is_over
            else self.budget.take(
                self.code, among=among, calls=self.panel.settings.repair_calls_max
            )
        )
        if share is None:
            self.stop_reason = self.stop_reason or "the model budget per request is used up"
            return None
        return self.propose(slot, messages, share, temperature)

    def propose(
        self, slot: Slot, messages: tuple[ModelMessage, ...], share: SlotBudget, temperature: float
    ) -> ModelProposal:
        """Request a proposal from a slot within a share of the budget. Thread-safe."""
        start = time.monotonic()
        request = ModelRequest(
            slot=slot,
            messages=messages,
            tokens_max=share.tokens,
            temperature=temperature,
            outside=self.panel.outside,
        )
        response: ModelResponse | None = None
        failure: str | None = None
        attempts: tuple[ModelAttempt, ...]
        try:
            response = self.panel.models.ask(request, share.budget)
            attempts = response.tries
        except ModelFailed as error:
            attempts, failure = error.tries, error.reason
        self.budget.release(share, attempts)
        code = extract_program(response.text, is_cut=response.is_cut) if response else None
        return ModelProposal(
            slot=slot,
            code=None if code is None else self.mask.restore(code),
            model=response.model if response else slot,
            tokens=sum(attempt.prompt_tokens + attempt.completion_tokens for attempt in attempts),
            ms=(time.monotonic() - start) * 1_000,
            failure=failure,
        )

    def messages(
        self, task: str, code: str, details: str, rejections: Sequence[RejectedProgram] = ()
    ) -> tuple[ModelMessage, ...]:
        """Return the messages for a model, with secrets masked."""
        mask = self.mask.apply
        rejections = [
            RejectedProgram(code=mask(rejection.code), reason=mask(rejection.reason))
            for rejection in rejections
        ]
        return build_messages(task, mask(code), mask(details), rejections)

    def run(self, code: str) -> SandboxRun | None:
        """Run a program within the remaining time.

        Return None if it cannot run; `stop_reason` says why.
        """
        return self._run(code, min(self.budget.seconds_left, self.seconds))

    def _run(self, code: str, seconds: float) -> SandboxRun | None:
        if self.budget.seconds_left <= 0:
            self.stop_reason = (
                f"the limit of {self.panel.settings.repair_seconds} seconds per request is reached"
            )
            return None
        try:
            return self.sandbox.run(code, seconds=seconds)
        except (SandboxBusy, SandboxUnavailable) as error:
            # Not raised: the request is answered with the outcome of the original program.
            self.stop_reason = error.detail
            return None

    def inspect(self, before: str, after: str, purpose: str) -> GuardReport | None:
        """Check a change with the guards. Return None if nothing more can run.

        Both programs are parsed in the sandbox, but not run.
        """
        characters_max = max(_GROWTH_FACTOR_MAX * len(before), len(before) + _GROWTH_CHARACTERS_MAX)
        if len(after) > min(limits.REPAIR_CHARACTERS_MAX, characters_max):
            return GuardReport(guard="grows", digest="", constants=(), has_tests=False)
        if self.mask.is_secret_missing(after):
            return GuardReport(guard="loses_secrets", digest="", constants=(), has_tests=False)
        program = f"{_GUARD_PROGRAM}\n\nprint_report({before!r}, {after!r}, {purpose!r})\n"
        run = self._run(program, _INSPECT_SECONDS)
        if run is None:
            return None
        # Inspection fails, for example, if a tree is nested too deeply.
        if outcome_of(run)[0] != "ok" or run.stdout_truncated:
            return GuardReport(guard="unreadable", digest="", constants=(), has_tests=False)
        report = json.loads(run.stdout)
        is_repeated = (
            before.split() == after.split()
            if purpose == "tidy"
            else report["digest"] in {report["old_digest"], *self.digests}
        )
        return GuardReport(
            guard="repeated" if is_repeated else report["guard"],
            digest=report["digest"],
            constants=report["constants"],
            has_tests=report["has_tests"],
        )

    def record(
        self,
        stage: str,
        proposal: ModelProposal,
        *,
        run: SandboxRun | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Append the outcome of a proposal to the attempts."""
        status, error = (
            outcome_of(run) if run else ("unanswered" if proposal.failure else "refused", None)
        )
        attempt = {
            "stage": stage,
            "model": proposal.model,
            "outcome": "refused" if guard else status,
            "error": error.type if error and not guard else proposal.failure,
            "guard": guard,
            "tokens": proposal.tokens,
            "ms": ms(proposal.ms + (run.wall_ms if run else 0)),
        }
        self.attempts.append(Attempt.model_validate(attempt))


def prints_constant(run: SandboxRun, constants: Sequence[str]) -> bool:
    """Return True if the output contains one of the constants, ignoring very short ones."""
    output = f"{run.stdout}\n{run.result or ''}"
    numbers = set(_NUMBER.findall(output))
    for text in constants:
        if _NUMBER.fullmatch(text):
            if len(text) > 1 and text in numbers:
                return True
        elif len(text.strip()) > 2 and text.strip() in output:
            return True
    return False
