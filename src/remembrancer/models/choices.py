"""The choices of an answer, whole or collected from the pieces of a stream.

A choice has text, and what else its model sent: tool calls, a refusal, reasoning.
Source: OpenAI's API reference, chat completions and their chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from .port import ChoiceDelta, ModelChoice

CHOICES_MAX = 128
TOOL_CALLS_MAX = 1_000  # of one choice
# Fields of a message that are passed on beside its text.
FIELDS = (
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning_content",
    "reasoning",
    "annotations",
    "audio",
)
ANSWERS = ("tool_calls", "function_call", "refusal", "audio")  # those that answer without text
_THINKING_BLOCK = re.compile(r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)\s*", re.DOTALL)
_THINKING_START, _THINKING_END, _THINKING_END_CHARACTERS = (
    "<think",
    re.compile(r"</think(?:ing)?>"),
    11,
)


class NotAChoice(Exception):
    """A choice of another shape. The message says what is wrong with it."""


def whole_choice(choice: Mapping[str, Any]) -> ModelChoice:
    """Return a choice of an answer that came in one piece. Raises NotAChoice."""
    message = choice.get("message")
    if not isinstance(message, dict):
        raise NotAChoice("a choice without a message")
    fields = {name: message[name] for name in FIELDS if message.get(name)}
    if "logprobs" in choice and isinstance(choice["logprobs"], dict):
        fields["logprobs"] = choice["logprobs"]
    return ModelChoice(
        text=without_thinking(text_of(message)),
        finish_reason=finish_reason(choice),
        fields=fields,
    )


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message or of a piece of it. Raises NotAChoice."""
    content = message.get("content")
    if isinstance(content, list):  # some endpoints answer in parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise NotAChoice("its content is not text")
    # JSON may contain lone surrogates, which UTF-8 cannot encode.
    return (content or "").encode("utf-8", "replace").decode().replace("\x00", "")


def finish_reason(choice: Mapping[str, Any]) -> str:
    """Return why a choice ended; empty if it has not ended."""
    reason = choice.get("finish_reason")
    return reason if isinstance(reason, str) else ""


def without_thinking(text: str) -> str:
    """Return a text without the block of thinking before it, and without space around it."""
    if text.lstrip().startswith(_THINKING_START):
        text = _THINKING_BLOCK.sub("", text, count=1)
    return text.strip()


class StreamedChoices:
    """Collects the choices of a stream, and passes on its pieces."""

    def __init__(
        self, on_text: Callable[[str], None], on_delta: Callable[[ChoiceDelta], None]
    ) -> None:
        """Create an empty collection.

        `on_text` receives the text of the first choice without its thinking, `on_delta` all else.
        """
        self._on_text, self._on_delta = on_text, on_delta
        self._choices: dict[int, _StreamedChoice] = {}

    @property
    def has_ended(self) -> bool:
        """Return True if a choice has said why it ended."""
        return any(choice.finish_reason for choice in self._choices.values())

    def add(self, choices: list[dict[str, Any]]) -> None:
        """Take the choices of one chunk. Raises NotAChoice."""
        for piece in choices:
            index = piece.get("index")
            index = index if type(index) is int and 0 <= index < CHOICES_MAX else 0
            if index not in self._choices:
                self._choices[index] = _StreamedChoice(index, self._sender(index), self._on_delta)
            self._choices[index].add(piece)

    def _sender(self, index: int) -> Callable[[str], None]:
        if index == 0:
            return self._on_text
        return lambda text: self._on_delta(ChoiceDelta(index=index, text=text))

    def result(self) -> tuple[ModelChoice, ...]:
        """Return the whole choices, in their order."""
        return tuple(choice.result() for _, choice in sorted(self._choices.items()))


class _StreamedChoice:
    """One choice of a stream."""

    def __init__(
        self, index: int, on_text: Callable[[str], None], on_delta: Callable[[ChoiceDelta], None]
    ) -> None:
        self._index, self._on_delta = index, on_delta
        self._forward = ThinkingFilter(on_text)
        self._pieces: list[str] = []
        self._strings: dict[str, list[str]] = {}  # pieces of fields that are text
        self._others: dict[str, Any] = {}
        self._tool_calls: list[dict[str, Any]] = []
        self.finish_reason = ""

    def add(self, choice: Mapping[str, Any]) -> None:
        self.finish_reason = finish_reason(choice) or self.finish_reason
        delta = choice.get("delta") or {}
        if not isinstance(delta, dict):
            raise NotAChoice("a choice whose delta is no object")
        if piece := text_of(delta):
            self._pieces.append(piece)
            self._forward(piece)
        fields: dict[str, Any] = {name: delta[name] for name in FIELDS if delta.get(name)}
        if isinstance(choice.get("logprobs"), dict):
            fields["logprobs"] = choice["logprobs"]
        if calls := fields.get("tool_calls"):
            fields["tool_calls"] = self._add_calls(calls)
        for name, value in fields.items():
            self._add_field(name, value)
        if fields:
            self._on_delta(ChoiceDelta(index=self._index, fields=fields))

    def _add_field(self, name: str, value: Any) -> None:
        if isinstance(value, str):
            self._strings.setdefault(name, []).append(value)
        elif name == "function_call" and isinstance(value, dict):
            _merge_function(self._others.setdefault(name, {}), value)
        elif name == "logprobs":
            entry = self._others.setdefault(name, {"content": []})
            entry["content"] += value.get("content") or []
        elif name != "tool_calls":
            self._others[name] = value

    def _add_calls(self, calls: Any) -> list[dict[str, Any]]:
        """Merge pieces of tool calls; return them with an index each, which some omit."""
        if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
            raise NotAChoice("its tool calls are no objects")
        pieces = []
        for call in calls:
            index = call.get("index")
            if type(index) is not int or not 0 <= index <= len(self._tool_calls):
                index = len(self._tool_calls) if call.get("id") else len(self._tool_calls) - 1
            if index < 0 or index >= TOOL_CALLS_MAX:
                raise NotAChoice("its tool calls cannot be counted")
            if index == len(self._tool_calls):
                self._tool_calls.append({"type": "function", "function": {"arguments": ""}})
            entry = self._tool_calls[index]
            entry |= {
                name: value
                for name, value in call.items()
                if name not in ("index", "function") and value
            }
            if isinstance(call.get("function"), dict):
                _merge_function(entry["function"], call["function"])
            pieces.append({**call, "index": index})
        return pieces

    def result(self) -> ModelChoice:
        fields = {name: "".join(pieces) for name, pieces in self._strings.items()} | self._others
        if self._tool_calls:
            fields["tool_calls"] = self._tool_calls
        return ModelChoice(
            text=without_thinking("".join(self._pieces)),
            finish_reason=self.finish_reason,
            fields=fields,
        )


def _merge_function(entry: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for name, value in piece.items():
        if name == "arguments":
            entry[name] = entry.get(name, "") + (value if isinstance(value, str) else "")
        elif value:
            entry[name] = value


class ThinkingFilter:
    """Passes on the pieces of a text, except a block of thinking before it. Takes linear time."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        """Create a filter before `on_text`."""
        self._on_text, self._pending = on_text, ""
        self._state: Literal["unknown", "thinking", "answering"] = "unknown"

    def __call__(self, piece: str) -> None:
        """Handle the next piece."""
        if self._state == "answering":
            self._on_text(piece)
            return
        self._pending += piece
        if self._state == "unknown":
            text = self._pending.lstrip()
            if text.startswith(_THINKING_START):
                self._state = "thinking"
            elif text and not _THINKING_START.startswith(text):
                self._answer(self._pending)
        if self._state == "thinking":
            end = _THINKING_END.search(self._pending)
            self._pending = (
                self._pending[end.end() :] if end else self._pending[-_THINKING_END_CHARACTERS:]
            )
            if end:
                self._state = "unknown"
                self("")

    def _answer(self, text: str) -> None:
        self._state = "answering"
        self._on_text(text.lstrip())
