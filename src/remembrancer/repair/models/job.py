"""One program under repair by models: requests, inspections, runs and the remaining budget."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import TypeAlias

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
from .prompts import Purpose, SecretMask, build_messages, extract_program

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
ModelShare: TypeAlias = tuple[Budget, int]  # of the budget, for one request: calls, tokens


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """The result of inspecting a change.

    `guard` rejects it, or is None. `constants` lists new constants of the program. See guards.py.
    """

    guard: Guard | None
    digest: str = ""
    constants: Sequence[str] = ()
    has_tests: bool = False


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
        self.mask = SecretMask(code)
        self.stop_reason: str | None = None  # why no more proposals can be tried
        self.digests: set[str] = set()  # of the programs that ran
        settings = panel.settings
        self._calls_left, self._tokens_left = settings.repair_calls_max, settings.repair_tokens_max
        self._deadline = time.monotonic() + settings.repair_seconds
        self._lock = threading.Lock()  # of calls and tokens

    @property
    def _seconds_left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)

    @property
    def is_over(self) -> bool:
        """Return True if no more requests are possible; `stop_reason` says why."""
        with self._lock:
            is_reached = {
                "limit of model calls": self._calls_left <= 0,
                "limit of model tokens": self._tokens_left < _TOKENS_MIN,
                "time limit for repair": not self._seconds_left,
            }
        limit = next((name for name in is_reached if is_reached[name]), None)
        if limit and self.stop_reason is None:
            self.stop_reason = f"the {limit} per request is reached"
        return self.stop_reason is not None

    def take(self, *, among: int, calls: int) -> ModelShare | None:
        """Reserve a share of the budget for one of `among` requests, with at most `calls` calls.

        Return None if a limit is reached; `stop_reason` says which.
        """
        if self.is_over:
            return None
        tokens_min = max(
            self.panel.settings.model_tokens_max, 2 * tokens_of(self.code) + _TOKENS_OVERHEAD
        )
        with self._lock:
            calls, tokens = min(calls, self._calls_left), min(self._tokens_left, tokens_min)
            self._calls_left -= calls
            self._tokens_left -= tokens
        seconds = min(limits.REPAIR_CALL_SECONDS_MAX, self._seconds_left / among)
        return Budget(seconds=seconds, calls=calls), tokens

    def propose(
        self, slot: Slot, messages: tuple[ModelMessage, ...], share: ModelShare, temperature: float
    ) -> ModelProposal:
        """Request a proposal from a slot within a share of the budget. Thread-safe."""
        start = time.monotonic()
        budget, tokens_max = share
        request = ModelRequest(
            slot=slot,
            messages=messages,
            tokens_max=tokens_max,
            temperature=temperature,
            outside=self.panel.outside,
        )
        response: ModelResponse | None = None
        failure: str | None = None
        attempts: tuple[ModelAttempt, ...]
        try:
            response = self.panel.models.ask(request, budget)
            attempts = response.tries
        except ModelFailed as error:
            attempts, failure = error.tries, error.reason
        written = sum(attempt.completion_tokens for attempt in attempts)
        with self._lock:  # what was not used
            self._calls_left += budget.calls_left
            self._tokens_left += max(tokens_max - written, 0)
        code = extract_program(response.text, is_cut=response.is_cut) if response else None
        return ModelProposal(
            slot=slot,
            code=None if code is None else self.mask.restore(code),
            model=response.model if response else slot,
            tokens=written + sum(attempt.prompt_tokens for attempt in attempts),
            ms=(time.monotonic() - start) * 1_000,
            failure=failure,
        )

    def messages(
        self, purpose: Purpose, code: str, details: str, rejected: tuple[str, str] | None
    ) -> tuple[ModelMessage, ...]:
        """Return the messages for a model, with secrets masked."""
        return tuple(
            replace(message, content=self.mask.apply(message.content))
            for message in build_messages(purpose, code, details, rejected)
        )

    def run(self, code: str, seconds: float | None = None) -> SandboxRun | None:
        """Run a program within the remaining time.

        Return None if it cannot run; `stop_reason` says why.
        """
        seconds = seconds or min(self._seconds_left, self.seconds)
        if not self._seconds_left:
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

    def inspect(self, before: str, after: str, purpose: Purpose) -> GuardReport | None:
        """Check a change with the guards. Return None if nothing more can run.

        Both programs are parsed in the sandbox, but not run.
        """
        characters_max = max(_GROWTH_FACTOR_MAX * len(before), len(before) + _GROWTH_CHARACTERS_MAX)
        if len(after) > min(limits.REPAIR_CHARACTERS_MAX, characters_max):
            return GuardReport(guard="grows")
        if self.mask.is_secret_missing(after):
            return GuardReport(guard="loses_secrets")
        program = f"{_GUARD_PROGRAM}\n\nprint_report({before!r}, {after!r}, {purpose!r})\n"
        run = self.run(program, _INSPECT_SECONDS)
        if run is None:
            return None
        # Inspection fails, for example, if a tree is nested too deeply.
        if outcome_of(run)[0] != "ok" or run.stdout_truncated:
            return GuardReport(guard="unreadable")
        report = json.loads(run.stdout)
        tried = {report.pop("old_digest", ""), *self.digests}
        is_same = before.split() == after.split()
        if is_same if purpose == "tidy" else report.get("digest") in tried:
            report["guard"] = "repeated"
        return GuardReport(**report)

    def record(
        self,
        purpose: Purpose,
        proposal: ModelProposal,
        *,
        run: SandboxRun | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Append the outcome of a proposal to the attempts."""
        status, error = outcome_of(run) if run else (None, None)
        self.attempts.append(
            Attempt(
                stage="model" if purpose == "fix" else purpose,
                model=proposal.model,
                outcome="refused" if guard else status or "unanswered",
                error=error.type if error and not guard else proposal.failure,
                guard=guard,
                tokens=proposal.tokens,
                ms=ms(proposal.ms + (run.wall_ms if run else 0)),
            )
        )


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
