"""The port for language models: requests, responses, budgets and one error type."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Literal, Protocol, TypeAlias, get_args
from urllib.parse import urlsplit

from ..settings import PREFIX, SettingInvalid, Settings

Slot: TypeAlias = Literal["chat", "repair_1", "repair_2", "repair_3", "summarize", "judge"]
Reason: TypeAlias = Literal[
    "none",  # no allowed model is configured
    "timeout",  # the time limit of the request is reached
    "unreachable",  # the connection failed or was closed
    "refused",  # 401, 403: the key is invalid
    "busy",  # 429
    "broken",  # 5xx
    "rejected",  # any other status: the endpoint does not accept the request
    "garbled",  # 200, but not a chat completion
    "empty",  # the answer has no text
    "cut_off",  # the stream ended in the middle
    "too_large",  # the answer exceeds the size limit
    "budget",  # the call limit of the request is reached
    "stopped",  # the service is stopping
]
FAILURE_MESSAGES: Mapping[str, str] = {
    "none": "no model is configured",
    "timeout": "it took too long",
    "unreachable": "the endpoint is unreachable",
    "refused": "the endpoint rejected the key",
    "busy": "the endpoint is busy",
    "broken": "the endpoint had an internal error",
    "rejected": "the endpoint rejected the request",
    "garbled": "the response was not a valid answer",
    "empty": "the answer was empty",
    "cut_off": "the answer broke off",
    "too_large": "the answer was too large",
    "budget": "the limit of calls is reached",
    "stopped": "the service is stopping",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceDelta:
    """One piece of a streamed choice: text, without its thinking, or other fields."""

    index: int = 0  # of the choice
    text: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)  # such as pieces of tool calls


# Receives the next piece of an answer. None discards the pieces so far: the answer starts again.
OnPiece: TypeAlias = Callable[[ChoiceDelta | None], None]


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message to a model."""

    role: Literal["system", "user", "assistant", "tool", "function"]
    content: str
    # Further fields of the message as the endpoint reads them; `content` replaces the text.
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request to the models of a slot. None means the value of the settings."""

    slot: Slot
    messages: tuple[ModelMessage, ...]
    tokens_max: int | None = None
    temperature: float | None = None
    # JSON schema of the answer, if the endpoint supports it.
    schema: Mapping[str, Any] | None = None
    outside: bool = True  # False: only models on this machine
    # Further fields of the request as the endpoint reads them, such as tools.
    fields: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None  # ask only this one: a name of `Models.names`, or a model of it


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
class ModelChoice:
    """One of the answers of a model."""

    text: str
    finish_reason: str  # in the words of the endpoint; empty if it gave none
    fields: Mapping[str, Any]  # such as tool calls


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """The answer of a model, and all attempts; `text` is that of its first choice.

    Tokens are the endpoint's counts, or else about a quarter of the characters.
    """

    text: str
    model: str = ""
    tries: tuple[ModelAttempt, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_cut: bool = False  # it reached the token limit
    choices: tuple[ModelChoice, ...] = ()


class ModelFailed(Exception):
    """No model answered."""

    def __init__(self, reason: Reason, tries: tuple[ModelAttempt, ...] = ()) -> None:
        """Create the error; `reason` is that of the last attempt, `tries` are all attempts."""
        self.reason, self.tries = reason, tries
        super().__init__(f"No model answered: {FAILURE_MESSAGES[reason]}.")


class Budget:
    """The budget of one request for all its model calls. Not thread-safe."""

    def __init__(
        self, *, seconds: float, calls: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self.deadline, self.calls_left = now() + seconds, calls

    @classmethod
    def of(cls, settings: Settings) -> Budget:
        """Return the budget that the settings allow for one request."""
        return cls(seconds=settings.model_seconds, calls=settings.model_calls_max)

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the deadline; 0 after it."""
        return max(self.deadline - self._now(), 0.0)


class Models(Protocol):
    """The models of all slots."""

    def has(self, slot: Slot, *, outside: bool = True) -> bool:
        """Return True if the slot has a model; `outside=False` excludes those on other machines."""
        ...

    def names(self, slot: Slot, *, outside: bool = True) -> tuple[str, ...]:
        """Return the allowed models of the slot, in order, each as MODEL@HOST."""
        ...

    def ask(
        self, request: ModelRequest, budget: Budget, on_piece: OnPiece | None = None
    ) -> ModelResponse:
        """Call the models of the slot one after another until one answers.

        `on_piece` receives the answer piece by piece. Raises ModelFailed.
        """
        ...

    def watch(self, watcher: Callable[[ModelAttempt], None]) -> None:
        """Call `watcher` after every attempt, from any thread."""
        ...

    def close(self) -> None:
        """Cancel all calls. Idempotent."""
        ...


def tokens_of(text: str) -> int:
    """Return the approximate number of tokens of a text."""
    return -(-len(text) // 4)


SLOTS: tuple[Slot, ...] = get_args(Slot)
# Greedy, since the name of a model may contain an @.
_TARGET = re.compile(r"(?P<model>[^\s,]+)@(?P<url>https?://[^\s,]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTarget:
    """One model at one endpoint."""

    model: str
    base_url: str  # without a trailing slash
    key: str = field(default="", repr=False)

    @property
    def is_outside(self) -> bool:
        """Return True if its host is neither a loopback address nor `localhost`."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return host != "localhost"

    @property
    def name(self) -> str:
        """The model and the host of its endpoint, as MODEL@HOST."""
        return f"{self.model}@{urlsplit(self.base_url).netloc}"

    def __str__(self) -> str:
        return f"{self.model}@{self.base_url}"


def targets_of(settings: Settings, slot: Slot) -> tuple[ModelTarget, ...]:
    """Return the models of a slot, in the order in which they are tried.

    Raises SettingInvalid. Its message does not repeat the value, which may contain a key.
    """
    name = f"{PREFIX}MODEL_{slot.upper()}"
    value, keys = (str(getattr(settings, f"model_{slot}{end}")).strip() for end in ("", "_key"))
    if not value:
        if keys:
            raise SettingInvalid(f"`{name}_KEY` is set, but `{name}` is not.")
        return ()
    matches = [_TARGET.fullmatch(part.strip()) for part in value.split(",")]
    urls = []
    for position, match in enumerate(matches, 1):
        if match is None or not _is_usable(match["url"]):
            raise SettingInvalid(
                f"`{name}`, model {position}: write MODEL@BASE_URL, "
                "such as llama3.2@http://127.0.0.1:11434/v1, without a key."
            )
        urls.append(match["url"].rstrip("/"))
    key_list = [key.strip() for key in keys.split(",")] if keys else [""] * len(urls)
    if len(key_list) == 1 and len({_origin(url) for url in urls}) == 1:
        key_list *= len(urls)
    if len(key_list) != len(urls):
        raise SettingInvalid(
            f"`{name}_KEY` must have as many keys as `{name}` has models, separated by commas; "
            "a key may be empty."
        )
    if any(not key.isascii() or not (key or "-").isprintable() or " " in key for key in key_list):
        raise SettingInvalid(f"`{name}_KEY` contains an invalid key.")
    models = [match["model"] for match in matches if match]
    return tuple(
        ModelTarget(model=model, base_url=url, key=key)
        for model, url, key in zip(models, urls, key_list, strict=True)
    )


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
            and not parts.query
            and not parts.fragment
        )
    except ValueError:
        return False


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
