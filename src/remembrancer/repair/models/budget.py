"""What models may cost for one program: calls, tokens that they write, and time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from ...models import Budget, ModelAttempt, Models, Slot, tokens_of
from ...protocol import limits
from ...settings import Settings

SLOTS: tuple[Slot, ...] = ("repair_1", "repair_2", "repair_3")
_TOKENS_LEAST = 64  # no program is shorter
_TOKENS_BESIDE = 256  # for the words around a program


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPanel:
    """The models that may be asked for a program, and the settings that bound what they cost.

    `outside`: those on other machines, too.
    """

    models: Models
    settings: Settings
    outside: bool = True

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots that have a model that may be asked."""
        return tuple(slot for slot in SLOTS if self.models.has(slot, outside=self.outside))

    @property
    def why_silent(self) -> str:
        """Why no slot may be asked."""
        if any(self.models.has(slot) for slot in SLOTS):
            return "this account lets no language model on another machine read what it sends"
        return "no model is configured"


@dataclass(slots=True)
class SlotBudget:
    """What one question may cost, taken from the whole."""

    budget: Budget
    tokens: int
    calls: int = field(default=0)


class RepairBudget:
    """What is left for one request. Safe to use from many threads."""

    def __init__(self, settings: Settings) -> None:
        self.calls_left, self.tokens_left = settings.repair_calls_max, settings.repair_tokens_max
        self._least, self._ends = (
            settings.model_tokens_max,
            time.monotonic() + settings.repair_seconds,
        )
        self._lock = threading.Lock()

    @property
    def seconds_left(self) -> float:
        """Until its end; 0 after it."""
        return max(self._ends - time.monotonic(), 0.0)

    @property
    def exhausted(self) -> str | None:
        """What is used up, as people call it; None while there is some of everything."""
        with self._lock:
            if self.calls_left <= 0:
                return "calls of models"
            if self.tokens_left < _TOKENS_LEAST:
                return "tokens of models"
        return None if self.seconds_left else "time for repair"

    def take(self, code: str, *, among: int, calls: int) -> SlotBudget | None:
        """What one of `among` questions may cost, with at most so many calls; None when something
        is used up.
        """
        if self.exhausted:
            return None
        with self._lock:
            taken = min(calls, self.calls_left)
            tokens = min(self.tokens_left, max(self._least, 2 * tokens_of(code) + _TOKENS_BESIDE))
            self.calls_left -= taken
            self.tokens_left -= tokens
        seconds = min(limits.REPAIR_CALL_SECONDS_MAX, self.seconds_left / max(among, 1))
        return SlotBudget(budget=Budget(seconds=seconds, calls=taken), tokens=tokens, calls=taken)

    def give_back(self, share: SlotBudget, tries: tuple[ModelAttempt, ...]) -> None:
        """What a question did not cost."""
        with self._lock:
            self.calls_left += share.budget.calls_left
            self.tokens_left += max(share.tokens - sum(one.completion_tokens for one in tries), 0)
