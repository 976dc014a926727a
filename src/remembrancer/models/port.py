"""The port: what is asked of a model, what it answers, what it may cost, and the one way in which
it fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from ..settings import Settings

Slot: TypeAlias = Literal["chat", "repair_1", "repair_2", "repair_3", "summarize", "judge"]
Reason: TypeAlias = Literal[
    "none",  # no model is configured that may be asked
    "timeout",  # the time of the request is used up
    "unreachable",  # nobody listens there, or hung up
    "refused",  # 401, 403: the key is not good
    "busy",  # 429
    "broken",  # 5xx
    "rejected",  # any other status: the endpoint does not take what we send
    "garbled",  # 200, but not what an endpoint of this kind answers
    "empty",  # it said nothing
    "cut_off",  # the stream ended in the middle
    "too_large",  # more than we read
    "budget",  # the calls of the request are used up
    "stopped",  # the service is going down
]
WHY: Mapping[str, str] = {
    "none": "no model is configured",
    "timeout": "it took too long",
    "unreachable": "nobody answered there",
    "refused": "the key was refused",
    "busy": "it takes no more requests now",
    "broken": "it is out of order",
    "rejected": "it does not take such requests",
    "garbled": "what it sent is not an answer",
    "empty": "it said nothing",
    "cut_off": "its answer broke off",
    "too_large": "its answer was too large",
    "budget": "no more calls were allowed",
    "stopped": "the service is stopping",
}
OnText: TypeAlias = Callable[
    [str | None], None
]  # the next piece of a text; None: what was said so far is void, it begins anew


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message to a model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What is asked of the models of a slot. What is None is as the settings have it."""

    slot: Slot
    messages: tuple[ModelMessage, ...]
    tokens_max: int | None = None
    temperature: float | None = None
    schema: Mapping[str, Any] | None = (
        None  # JSON schema that the answer is to fit, where the endpoint can do that
    )
    outside: bool = True  # False: only models on this machine may read it


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAttempt:
    """One call of one model.

    `outcome` is `ok` or a reason; `detail` is for the operator, not for callers.
    """

    slot: Slot
    model: str
    outcome: str
    ms: float
    prompt_tokens: int = 0
    completion_tokens: int = 0
    detail: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutput:
    """What one model answered.

    Tokens are the endpoint's count, else about a quarter of the characters.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    is_cut: bool = False  # it had no more tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """The answer of the first model that gave one, and every try it took."""

    text: str
    model: str
    tries: tuple[ModelAttempt, ...]
    is_cut: bool = False


class ModelFailed(Exception):
    """No model answered."""

    def __init__(self, reason: Reason, tries: tuple[ModelAttempt, ...] = ()) -> None:
        """`reason` is why the last one did not; `tries` are all that were made."""
        self.reason, self.tries = reason, tries
        super().__init__(f"No model answered: {WHY[reason]}.")


class Budget:
    """What one request may spend on models, over all its questions. Used by one thread."""

    def __init__(
        self, *, seconds: float, calls: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self.ends, self.calls_left = now() + seconds, calls

    @classmethod
    def of(cls, settings: Settings) -> Budget:
        """What the settings let one request spend."""
        return cls(seconds=settings.model_seconds, calls=settings.model_calls_max)

    @property
    def seconds_left(self) -> float:
        """Until its end; 0 after it."""
        return max(self.ends - self._now(), 0.0)


class Models(Protocol):
    """Every slot with its models."""

    def has(self, slot: Slot, *, outside: bool = True) -> bool:
        """Whether a model may be asked; `outside` False: one on this machine."""
        ...

    def ask(
        self, question: ModelRequest, budget: Budget, on_text: OnText | None = None
    ) -> ModelResponse:
        """Ask the models of the slot, one after another, until one answers; `on_text` is told the
        answer piece by piece.

        Raises ModelFailed.
        """
        ...

    def watch(self, watcher: Callable[[ModelAttempt], None]) -> None:
        """Have every try told to `watcher`, from any thread."""
        ...

    def close(self) -> None:
        """Break off what is under way. Idempotent."""
        ...


def tokens_of(text: str) -> int:
    """About how many tokens a text takes."""
    return -(-len(text) // 4)
