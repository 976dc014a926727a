"""Message lists as the APIs of OpenAI take them, and JSON lines of them for fine-tuning.

The shape was read from openai/openai-python,
src/openai/types/chat/chat_completion_message_param.py and
src/openai/types/responses/response_input_item_param.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from .documents import Entry, Sample, SourceDocument, entries, numbered_messages
from .records import (
    PART_REASONS,
    SYSTEM,
    THINKING,
    TOOL_CALL,
    TOOL_RESULT,
    DialogueMessage,
    DialoguePart,
    DialogueSession,
    InvalidRecord,
    LeftOutRecord,
    Record,
    content_texts,
    objects,
    text_of,
    turns,
)

_ITEMS = {  # items of the Responses API beside messages
    "reasoning": THINKING,
    "function_call": TOOL_CALL,
    "function_call_output": TOOL_RESULT,
}
_ROLES = ("user", "assistant", "system", "developer", "tool", "function")


def matches(sample: Sample) -> bool:
    """Return True for objects with role and content, or with `messages` of them."""
    return any(
        _is_message(item) or any(map(_is_message, objects(item.get("messages"))))
        for item in sample.items
    )


def _is_message(item: dict[str, Any]) -> bool:
    return item.get("role") in _ROLES and ("content" in item or "tool_calls" in item)


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield turns: a list of messages is one session, named after the file; of lines or elements
    with `messages` each is one.
    """
    name = str(PurePosixPath(document.name).with_suffix("")) or "messages"
    rest = entries(document)
    for first in rest:
        if isinstance(first, InvalidRecord):
            yield first
            continue
        every = chain([first], rest)
        if first.key is None and isinstance(first.value.get("messages"), list):
            yield from _sessions(every, name)
        else:
            yield from turns(_listed(every), DialogueSession(shape="openai-messages", key=name))


def _sessions(every: Iterable[Entry | InvalidRecord], name: str) -> Iterator[Record]:
    for number, entry in enumerate(every, 1):
        if isinstance(entry, InvalidRecord):
            yield entry
        elif isinstance(entry.value.get("messages"), list):
            yield from _session(entry.value["messages"], f"{name}-{number}", entry.place)
        else:
            yield InvalidRecord(place=entry.place, detail="expected an object with `messages`")


def _listed(every: Iterable[Entry | InvalidRecord]) -> Iterator[DialoguePart]:
    for entry in every:
        if isinstance(entry, InvalidRecord):
            yield entry
        elif entry.key in (None, "messages"):
            yield from _message(entry.value, entry.place)


def _session(messages: Iterable[object], name: str, place: str) -> Iterator[Record]:
    parts = _listed(numbered_messages(messages, place))
    yield from turns(parts, DialogueSession(shape="openai-messages", key=name))


def _message(message: dict[str, Any], place: str) -> Iterator[DialoguePart]:
    role, kind = message.get("role"), message.get("type")
    if isinstance(kind, str) and kind in _ITEMS:
        yield LeftOutRecord(place=place, reason=_ITEMS[kind])
        return
    if role not in _ROLES:
        yield InvalidRecord(place=place, detail="`role` is not one of " + ", ".join(_ROLES))
        return
    if role in ("system", "developer"):
        yield LeftOutRecord(place=place, reason=SYSTEM)
        return
    if role in ("tool", "function"):
        yield LeftOutRecord(place=place, reason=TOOL_RESULT)
        return
    calls = len(objects(message.get("tool_calls"))) + ("function_call" in message)
    yield from (LeftOutRecord(place=place, reason=TOOL_CALL) for _ in range(calls))
    content = message.get("content")
    text, left_out = content_texts(content, place, PART_REASONS)
    if not text and isinstance(content, list):
        text = "\n".join(text_of(part, "refusal") for part in objects(content)).strip()
        left_out = [] if text else left_out
    yield from left_out
    if content is not None and not isinstance(content, str | list):
        yield InvalidRecord(place=place, detail="`content` is neither a string nor a list")
        return
    if text.strip() or not (calls or left_out):
        key = text_of(message, "id") or _number(place)
        at = message.get("created_at", message.get("timestamp"))
        yield DialogueMessage(place=place, role=str(role), text=text, id=key, at=at)


def _number(place: str) -> str:
    """Return the number of a message within its session, which ends its place."""
    return place.rpartition(" ")[2]
