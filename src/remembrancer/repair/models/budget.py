"""The budget of one repair request: model calls, completion tokens and time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from ...models import Budget, ModelAttempt, Models, Slot, tokens_of
from ...protocol import limits
from ...settings import Settings

SLOTS: tuple[Slot, ...] = ("repair_1", "repair_2", "repair_3")
_TOKENS_MIN = 64  # below this no call can return a program
_TOKENS_OVERHEAD = 256  # for the text around a program


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
    calls: int = field(default=0)


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
        return SlotBudget(budget=Budget(seconds=seconds, calls=calls), tokens=tokens, calls=calls)

    def release(self, share: SlotBudget, attempts: tuple[ModelAttempt, ...]) -> None:
        """Return the unused part of a share."""
        completion_tokens = sum(attempt.completion_tokens for attempt in attempts)
        with self._lock:
            self.calls_left += share.budget.calls_left
            self.tokens_left += max(share.tokens - completion_tokens, 0)
