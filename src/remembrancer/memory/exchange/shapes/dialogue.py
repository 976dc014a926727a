"""Make turns of messages: a user's message with the assistant's answers that follow it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .records import (
    TURN_BYTES_MAX,
    InvalidRecord,
    LeftOutRecord,
    Record,
    ShapeTurn,
    digest,
    readable_id,
)
from .times import TimeUnknown, moment

# Reasons why a part of a conversation is not imported.
SYSTEM = "system prompt"
THINKING = "thinking"
TOOL_CALL = "tool call"
TOOL_RESULT = "tool result"
MACHINE = "notice of the program"
MEDIA = "image, audio or file"
BRANCH = "other branch"
EMPTY = "no text"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueMessage:
    """One message of the dialogue. `role` is "user" or "assistant"."""

    place: str
    role: str
    text: str
    id: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueSession:
    """The conversation that messages belong to. `key` identifies it in its product.

    `has_unique_ids`: ids of messages are unique beyond the conversation, and copies keep them.
    """

    shape: str
    key: str
    user_id: str | None = None
    topic: str | None = None
    started_at: datetime | None = None
    has_unique_ids: bool = False


@dataclass(slots=True)
class _Open:
    """A turn whose answers are still being read."""

    first: DialogueMessage
    queries: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    size: int = 0


def turns(
    messages: Iterable[DialogueMessage | LeftOutRecord | InvalidRecord],
    conversation: DialogueSession,
) -> Iterator[Record]:
    """Yield the turns of one conversation, in order; pass other records through.

    Answers up to the next message of the user are joined by a blank line. A message without an
    answer is a turn of its own, as is an answer without a message. The turn has the time of its
    first message.
    """
    current: _Open | None = None
    for message in messages:
        if not isinstance(message, DialogueMessage):
            yield message
            continue
        if not message.text.strip():
            yield LeftOutRecord(place=message.place, reason=EMPTY)
            continue
        if current is None or message.role == "user":
            if current is not None:
                yield _turn(current, conversation)
            current = _Open(message)
        # A turn above the limit is refused anyway: its further text need not be held in memory.
        if current.size <= TURN_BYTES_MAX:
            side = current.queries if message.role == "user" else current.responses
            side.append(message.text)
        current.size += len(message.text)
    if current is not None:
        yield _turn(current, conversation)


def _turn(current: _Open, conversation: DialogueSession) -> ShapeTurn | InvalidRecord:
    first = current.first
    if current.size > TURN_BYTES_MAX:
        return InvalidRecord(
            place=first.place,
            detail=f"the turn has more than {TURN_BYTES_MAX:,} bytes",
        )
    query, response = "\n\n".join(current.queries), "\n\n".join(current.responses)
    key = "" if conversation.has_unique_ids and first.id else conversation.key
    return ShapeTurn(
        place=first.place,
        query=query,
        response=response,
        # With the texts: a conversation that grew after an import has more to say in this turn.
        origin=digest(conversation.shape, key, first.id, query, response),
        session_id=readable_id(conversation.key) or "default",
        user_id=conversation.user_id,
        topic=conversation.topic,
        occurred_at=first.at or conversation.started_at,
    )


def content_texts(
    content: object, place: str, others: dict[str, str]
) -> tuple[str, list[LeftOutRecord]]:
    """Return the text of a message's content: a string, or a list of parts with a `type`.

    Parts of type text, input_text and output_text are joined by line feeds. Others are left out,
    with the reason that `others` has for their type (default: an image, audio or file).
    """
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    left_out: list[LeftOutRecord] = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("text") if isinstance(part, dict) else None
        if kind in ("text", "input_text", "output_text") and isinstance(text, str):
            texts.append(text)
        else:
            left_out.append(LeftOutRecord(place=place, reason=others.get(str(kind), MEDIA)))
    return "\n".join(texts), left_out


PART_REASONS = {
    "thinking": THINKING,
    "redacted_thinking": THINKING,
    "reasoning": THINKING,
    "omitted_reasoning": THINKING,
    "tool_use": TOOL_CALL,
    "tool_call": TOOL_CALL,
    "function_call": TOOL_CALL,
    "server_tool_use": TOOL_CALL,
    "tool_result": TOOL_RESULT,
    "tool_return": TOOL_RESULT,
    "web_search_tool_result": TOOL_RESULT,
    "token_budget": MACHINE,
    "flag": MACHINE,
}


def time_of(value: object, place: str) -> tuple[datetime | None, InvalidRecord | None]:
    """Return a time, or the invalid record that says why it cannot be read."""
    try:
        return moment(value), None
    except TimeUnknown as error:
        return None, InvalidRecord(place=place, detail=str(error))


def text_of(record: dict[str, Any], *keys: str) -> str:
    """Return the first of these members that is a string with text, or an empty string."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; an empty list for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
