"""Turns of a text, a pair, or the messages of a chat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel

from ..protocol import limits
from ..protocol.memory import BatchTurn

# --- Text of messages: what the service can store, and what a message of a chat says ---------

_NOT_STORABLE = re.compile("[\\0\ud800-\udfff]")


def readable(text: str) -> str:
    """Replace what cannot be stored (NUL, lone surrogates) with the replacement character."""
    # Decoding UTF-16 joins two adjacent surrogates into the character they encode.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")


def storable(text: str, name: str) -> str:
    """Return a text with adjacent surrogates as the character that they encode.

    Raises ValueError, naming the text, the character and its place, for what cannot be stored: what
    a program stores is kept word for word, so it is not replaced.
    """
    fault = _NOT_STORABLE.search(text)
    if fault is None:
        return text
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    fault = _NOT_STORABLE.search(joined)
    if fault is None:
        return joined
    code = ord(fault[0])
    kind = f"a lone surrogate (U+{code:04X})" if code else "a NUL character (U+0000)"
    raise ValueError(
        f"{name} has {kind} as character {fault.start() + 1}, which cannot be stored. Text is kept "
        "word for word, so nothing is stored: remove or replace it."
    )


def message_text(content: Any) -> str | None:
    """Return the text of a message's content: a string, or the text blocks of a list.

    None for anything else.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return None
    return "".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    """Return the text of a content block; empty for a block of another kind."""
    if isinstance(block, str):
        return block
    text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", None)
    return text if isinstance(text, str) else ""


# --- Turns of a text, a pair, or the messages of a chat --------------------------------------

M = TypeVar("M", bound=BaseModel)
Content: TypeAlias = str | tuple[str, str] | Mapping[str, Any] | Sequence[Mapping[str, Any]]
USER_ROLES = frozenset({"user", "human"})
ASSISTANT_ROLES = frozenset({"assistant", "ai", "model"})
# What an agent is told, and what its tools return, is neither side of a turn.
OTHER_ROLES = frozenset({"system", "developer", "tool", "function"})
# Half a request body, because JSON may need two characters for one.
BATCH_BYTES_MAX = limits.BODY_BYTES_MAX // 2


@dataclass(slots=True)
class _Sides:
    """The messages of one turn."""

    query: list[str]
    response: list[str]
    occurred_at: Any = None


def turns_of(content: Content, **fields: Any) -> list[BatchTurn]:
    """Return the turns of a content, oldest first, each with these other fields.

    A text is one turn without a response, a pair is one turn, and a list of messages
    (`{"role": …, "content": …}`), or one of them, has a turn for each message of the user. The time
    of a message (`created_at` or `occurred_at`) is that of its turn. Raises TypeError for another
    content, and ValueError if it has no text, or one with a character that cannot be stored.
    """
    match content:
        case str(text):
            sides = [_Sides([text], [])]
        case tuple((str(query), str(response))):
            sides = [_Sides([query], [response])]
        case Mapping():
            sides = list(_conversation([content]))
        case Sequence() if not isinstance(content, tuple):
            sides = list(_conversation(content))
        case _:
            raise TypeError(_expected(content))
    sides = [one for one in sides if "".join((*one.query, *one.response)).strip()]
    if not sides:
        raise ValueError("The content has no text of a user or an assistant, so nothing is stored.")
    return [
        BatchTurn(
            query=storable("\n".join(one.query), f"The query of turn {number}"),
            response=storable("\n".join(one.response), f"The response of turn {number}"),
            **{**({} if one.occurred_at is None else {"occurred_at": one.occurred_at}), **fields},
        )
        for number, one in enumerate(sides, 1)
    ]


def _conversation(messages: Sequence[Any]) -> Iterator[_Sides]:
    """Yield the turns of a chat: each begins with the first message of a user after a response."""
    sides = _Sides([], [])
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or "role" not in message:
            raise TypeError(_expected(messages))
        role = str(message["role"]).lower()
        if role in OTHER_ROLES:
            continue
        if role not in USER_ROLES | ASSISTANT_ROLES:
            raise ValueError(
                f"Message {number} has the role {role!r}. It must be user or assistant; "
                f"{', '.join(sorted(OTHER_ROLES))} are left out."
            )
        text = _text(message, number)
        if role in USER_ROLES and sides.response:
            yield sides
            sides = _Sides([], [])
        if text:
            (sides.query if role in USER_ROLES else sides.response).append(text)
            at = message.get("occurred_at") or message.get("created_at")
            sides.occurred_at = sides.occurred_at or at
    yield sides


def left_out(content: Content) -> str | None:
    """Return a note on the parts of a chat that no turn holds, or None if there are none."""
    if isinstance(content, str | tuple):
        return None
    parts: Counter[str] = Counter()
    for message in [content] if isinstance(content, Mapping) else content:
        role, blocks = str(message["role"]).lower(), message.get("content")
        if role in ("tool", "function"):
            parts["tool result"] += 1
        elif role in OTHER_ROLES:
            parts[f"{role} message"] += 1
        parts["tool call"] += len(message.get("tool_calls") or ())
        parts["tool call"] += message.get("function_call") is not None
        if isinstance(blocks, Sequence) and not isinstance(blocks, str):
            kinds = (one.get("type") for one in blocks if isinstance(one, Mapping))
            parts.update(_BLOCKS.get(str(kind), f"{kind} part") for kind in kinds if kind != "text")
    counts = ", ".join(
        f"{n} {part}{'' if n == 1 else 's'}" for part, n in sorted(parts.items()) if n
    )
    return f"Left out, because a turn holds what was said: {counts}." if counts else None


_BLOCKS = {"tool_use": "tool call", "tool_result": "tool result"}


def _text(message: Mapping[str, Any], number: int) -> str:
    content = message.get("content")
    text = "" if content is None else message_text(content)  # None: only a call of a tool
    if text is None:
        raise TypeError(
            f"The content of message {number} must be a text or a list of parts, not a "
            f"{type(content).__name__}."
        )
    return text


def _expected(content: Any) -> str:
    kind = type(content).__name__
    return (
        "The content must be a text, a pair (query, response), or a list of messages "
        f'{{"role": "user", "content": "…"}}, not a {kind} of other values.'
    )


def batches(records: Iterable[M]) -> Iterator[list[M]]:
    """Yield turns or other records in batches that a request can carry."""
    batch: list[M] = []
    size = 0
    for record in records:
        own = len(record.model_dump_json(exclude_none=True).encode("utf-8"))
        if batch and (len(batch) == limits.BATCH_TURNS_MAX or size + own > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += own
    if batch:
        yield batch
