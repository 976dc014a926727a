"""One program that models may change:

what was asked, looked at and run for it, and what is left to spend.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from ...models import ModelAttempt, ModelFailed, ModelMessage, ModelRequest, ModelResponse, Slot
from ...protocol import limits
from ...protocol.execution import Attempt, Guard
from ...sandbox.sandbox import Sandbox, SandboxBusy, SandboxRun, SandboxUnavailable
from ..outcomes import ms, outcome_of
from .budget import ModelPanel, RepairBudget, SlotBudget
from .prompts import RejectedProgram, SecretMask, program_in, question

_OURS = re.compile(r"^from (?:__future__|\.\w+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)
_LOOKED_AT = "".join(  # the guards as one program
    _OURS.sub("", resources.files(__package__).joinpath(name).read_text("utf-8"))
    for name in ("syntax_trees.py", "guards.py")
)
_LOOK_SECONDS = 5
_GROWN = 4  # times as long as it was, and
_GROWN_CHARACTERS = 2_000  # more than that
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """What was seen of a changed program:

    the guard that refuses it, its digest, constants it gives, whether it has tests.
    """

    guard: Guard | None
    digest: str
    given: Sequence[str]
    tested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProposal:
    """A slot's answer:

    its program, None where there is none; the model's name, and what it took.
    """

    slot: Slot
    code: str | None
    model: str
    tokens: int
    ms: float
    failed: str | None = None  # why no model answered


class RepairJob:
    """The program of one request. Used by one thread; only `answer` may be called from others."""

    def __init__(
        self,
        sandbox: Sandbox,
        panel: ModelPanel,
        attempts: list[Attempt],
        seconds: float,
        code: str,
    ) -> None:
        """`seconds` are those of one run; `code` the program as it was sent.

        What happens is added to `attempts`.
        """
        self.sandbox, self.panel, self.attempts, self.seconds, self.code = (
            sandbox,
            panel,
            attempts,
            seconds,
            code,
        )
        self.spending = RepairBudget(panel.settings)
        self.veil = SecretMask(code)
        self.ended: str | None = None  # why nothing more can be tried
        self.seen: set[str] = set()  # digests

    @property
    def over(self) -> bool:
        """Whether nothing more can be asked; `ended` says why."""
        if self.ended is None and (spent := self.spending.exhausted):
            self.ended = f"the {spent} that one request may take {'are' if spent[-1] == 's' else 'is'} used up"
        return self.ended is not None

    def ask(
        self, slot: Slot, messages: tuple[ModelMessage, ...], *, among: int, temperature: float
    ) -> ModelProposal | None:
        """What the models of a slot say; None when there is nothing left to spend, see `ended`."""
        share = (
            None
            if self.over
            else self.spending.take(
                self.code, among=among, calls=self.panel.settings.repair_calls_max
            )
        )
        if share is None:
            self.ended = self.ended or "what models may take for one request is used up"
            return None
        return self.answer(slot, messages, share, temperature)

    def answer(
        self, slot: Slot, messages: tuple[ModelMessage, ...], share: SlotBudget, temperature: float
    ) -> ModelProposal:
        """What the models of a slot say, within a share. From any thread."""
        began = time.monotonic()
        asked = ModelRequest(
            slot=slot,
            messages=messages,
            tokens_max=share.tokens,
            temperature=temperature,
            outside=self.panel.outside,
        )
        reply: ModelResponse | None = None
        failed: str | None = None
        tries: tuple[ModelAttempt, ...]
        try:
            reply = self.panel.models.ask(asked, share.budget)
            tries = reply.tries
        except ModelFailed as error:
            tries, failed = error.tries, error.reason
        self.spending.give_back(share, tries)
        code = program_in(reply.text, is_cut=reply.is_cut) if reply else None
        return ModelProposal(
            slot=slot,
            code=None if code is None else self.veil.lifted(code),
            model=reply.model if reply else slot,
            tokens=sum(one.prompt_tokens + one.completion_tokens for one in tries),
            ms=(time.monotonic() - began) * 1_000,
            failed=failed,
        )

    def messages(
        self, task: str, code: str, told: str, rejected: Sequence[RejectedProgram] = ()
    ) -> tuple[ModelMessage, ...]:
        """What to ask, without secrets."""
        shown = [
            RejectedProgram(code=self.veil.over(one.code), why=self.veil.over(one.why))
            for one in rejected
        ]
        return question(task, self.veil.over(code), self.veil.over(told), shown)

    def run(self, code: str) -> SandboxRun | None:
        """Run a program within the time that is left; None when it cannot be run, see `ended`."""
        return self._run(code, min(self.spending.seconds_left, self.seconds))

    def _run(self, code: str, seconds: float) -> SandboxRun | None:
        if self.spending.seconds_left <= 0:
            self.ended = f"the {self.panel.settings.repair_seconds} seconds that one request may take are over"
            return None
        try:
            return self.sandbox.run(code, seconds=seconds)
        except (
            SandboxBusy,
            SandboxUnavailable,
        ) as refused:  # how the program went is the answer all the same
            self.ended = refused.detail
            return None

    def look(self, before: str, after: str, purpose: str) -> GuardReport | None:
        """What guards say of a change; None when nothing more can be run.

        Both programs are parsed in the sandbox, and not run.
        """
        if len(after) > min(
            limits.REPAIR_CHARACTERS_MAX, max(_GROWN * len(before), len(before) + _GROWN_CHARACTERS)
        ):
            return GuardReport(guard="grows", digest="", given=(), tested=False)
        if self.veil.lost(after):
            return GuardReport(guard="loses_secrets", digest="", given=(), tested=False)
        looking = f"from __future__ import annotations\n{_LOOKED_AT}\n\ntell({before!r}, {after!r}, {purpose!r})\n"
        run = self._run(looking, _LOOK_SECONDS)
        if run is None:
            return None
        if outcome_of(run)[0] != "ok" or run.stdout_truncated:  # a tree too deep, say
            return GuardReport(guard="unreadable", digest="", given=(), tested=False)
        told = json.loads(run.stdout)
        is_same = (
            before.split() == after.split()
            if purpose == "tidy"
            else told["digest"] in {told["was"], *self.seen}
        )
        return GuardReport(
            guard="repeated" if is_same else told["guard"],
            digest=told["digest"],
            given=told["given"],
            tested=told["tested"],
        )

    def note(
        self,
        stage: str,
        proposed: ModelProposal,
        *,
        run: SandboxRun | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Put what became of a proposal among the attempts."""
        status, error = (
            outcome_of(run) if run else ("unanswered" if proposed.failed else "refused", None)
        )
        attempt = {
            "stage": stage,
            "model": proposed.model,
            "outcome": "refused" if guard else status,
            "error": error.type if error and not guard else proposed.failed,
            "guard": guard,
            "tokens": proposed.tokens,
            "ms": ms(proposed.ms + (run.wall_ms if run else 0)),
        }
        self.attempts.append(Attempt.model_validate(attempt))


def summary_of(run: SandboxRun, given: Sequence[str]) -> bool:
    """Whether a run's output holds a constant that the program gives as it stands; single digits
    and letters aside.
    """
    output = f"{run.stdout}\n{run.result or ''}"
    numbers = set(_NUMBER.findall(output))
    for text in given:
        if _NUMBER.fullmatch(text):
            if len(text) > 1 and text in numbers:
                return True
        elif len(text.strip()) > 2 and text.strip() in output:
            return True
    return False
