"""Agent files of Letta (.af): agents with messages, and memory blocks.

The shape was read from letta-ai/letta, letta/schemas/agent_file.py and
letta/schemas/letta_message.py, and from letta-ai/agent-file,
memgpt_agent/memgpt_agent_with_convo.af.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from .documents import Entry, Sample, SourceDocument, entries, numbered_messages
from .json_stream import parse
from .records import (
    MACHINE,
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
    ShapeFact,
    content_texts,
    digest,
    objects,
    readable_topic,
    statement,
    text_of,
    time_of,
    turns,
)

TEMPLATE = "template"
_ANSWER_TOOL = "send_message"
_USER_MESSAGE = "user_message"
_LISTED = {"user_message": "user", "assistant_message": "assistant"}  # messages that the API lists
_LISTED_OTHERS = {
    "system_message": SYSTEM,
    "reasoning_message": THINKING,
    "hidden_reasoning_message": THINKING,
    "tool_call_message": TOOL_CALL,
    "tool_return_message": TOOL_RESULT,
    "approval_request_message": TOOL_CALL,
    "approval_response_message": TOOL_CALL,
}
# Agents of these types answer with a tool; what they write beside it is thinking.
_SPEAKS_BY_TOOL = ("memgpt_agent", "memgpt_v2_agent", "sleeptime_agent", "split_thread_agent")


def matches(sample: Sample) -> bool:
    """Return True for `agents` with `messages`, for `blocks` with a `label`, or for a list of
    blocks or of messages with a `message_type`.
    """
    return any(
        any(isinstance(agent.get("messages"), list) for agent in objects(item.get("agents")))
        or any(map(_is_block, objects(item.get("blocks"))))
        or _is_block(item)
        or item.get("message_type") in (*_LISTED, *_LISTED_OTHERS)
        for item in sample.items
    )


def _is_block(item: dict[str, Any]) -> bool:
    return isinstance(item.get("label"), str) and isinstance(item.get("value"), str)


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of every agent, and every memory block as a fact "label: value"."""
    if any("message_type" in item for item in document.sample().items):
        name = PurePosixPath(document.base).stem
        yield from turns(map(_listed, entries(document)), DialogueSession(shape="letta", key=name))
        return
    for entry in entries(document):
        if isinstance(entry, InvalidRecord):
            yield entry
        elif entry.key == "agents":
            yield from _agent(entry)
        elif entry.key in (None, "blocks"):
            yield _block(entry)


def _listed(entry: Entry | InvalidRecord) -> DialoguePart:
    if isinstance(entry, InvalidRecord):
        return entry
    kind = text_of(entry.value, "message_type")
    if kind not in _LISTED:
        return LeftOutRecord(place=entry.place, reason=_LISTED_OTHERS.get(kind, MACHINE))
    text, _ = content_texts(entry.value.get("content"), entry.place, PART_REASONS)
    key, at = text_of(entry.value, "id"), entry.value.get("date")
    return DialogueMessage(place=entry.place, role=_LISTED[kind], text=text, id=key, at=at)


def _block(entry: Entry) -> Record:
    block, place = entry.value, entry.place
    if not _is_block(block):
        return InvalidRecord(place=place, detail="a block needs a `label` and a `value`")
    if block.get("is_template"):
        return LeftOutRecord(place=place, reason=TEMPLATE)
    if not block["value"].strip():
        return LeftOutRecord(place=place, reason="empty block")
    at, invalid = time_of(block.get("updated_at", block.get("created_at")), place)
    text = f"{block['label']}: {block['value'].strip()}"
    return invalid or statement(
        ShapeFact(place=place, text=text, origin=digest("letta", text), valid_from=at),
        session_id="letta",
        topic=readable_topic(block["label"]),
    )


def _agent(entry: Entry) -> Iterator[Record]:
    agent = entry.value
    name = text_of(agent, "name") or text_of(agent, "id") or "letta"
    speaks_by_tool = agent.get("agent_type") in _SPEAKS_BY_TOOL
    messages = agent.get("messages")

    def parts() -> Iterator[DialoguePart]:
        listed = messages if isinstance(messages, list) else []
        for message in numbered_messages(listed, entry.place):
            if isinstance(message, InvalidRecord):
                yield message
            else:
                yield from _message(message.value, message.place, speaks_by_tool=speaks_by_tool)

    if not isinstance(messages, list):
        yield InvalidRecord(place=entry.place, detail="it has no list `messages`")
    if text_of(agent, "system"):
        yield LeftOutRecord(place=entry.place, reason=SYSTEM)
    yield from turns(parts(), DialogueSession(shape="letta", key=name, topic=readable_topic(name)))


def _message(
    message: dict[str, Any], place: str, *, speaks_by_tool: bool
) -> Iterator[DialoguePart]:
    role = text_of(message, "role")
    if role == "system":
        yield LeftOutRecord(place=place, reason=SYSTEM)
        return
    if role not in ("user", "assistant"):
        yield LeftOutRecord(place=place, reason=TOOL_RESULT)
        return
    text, left_out = content_texts(message.get("content"), place, PART_REASONS)
    yield from left_out
    if role == "user":
        text = _typed(text)
        if not text:
            yield LeftOutRecord(place=place, reason=MACHINE)
            return
    else:
        answer, calls = _answers(message)
        yield from (LeftOutRecord(place=place, reason=TOOL_CALL) for _ in range(calls))
        if text.strip() and (answer or speaks_by_tool):
            yield LeftOutRecord(place=place, reason=THINKING)
            text = ""
        text = answer or text
        if not text.strip():
            return
    key = digest(text_of(message, "id"), text_of(message, "created_at"))
    at = message.get("created_at")
    yield DialogueMessage(place=place, role=role, text=text, id=key, at=at)


def _typed(text: str) -> str:
    """Return the user's words: Letta packs them into JSON, as it does with its own notices."""
    try:
        packed = parse(text) if text.lstrip().startswith("{") else None
    except ValueError:
        packed = None
    if not isinstance(packed, dict) or "type" not in packed:
        return text
    return text_of(packed, "message") if packed["type"] == _USER_MESSAGE else ""


def _answers(message: dict[str, Any]) -> tuple[str, int]:
    """Return what the agent sent to the user with its tool, and the number of other tool calls."""
    texts, others = [], 0
    for call in objects(message.get("tool_calls")):
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        answer = ""
        if function.get("name") == _ANSWER_TOOL:
            try:
                arguments = json.loads(str(function.get("arguments")))
            except (ValueError, RecursionError):
                arguments = None
            answer = text_of(arguments, "message") if isinstance(arguments, dict) else ""
        if answer:
            texts.append(answer)
        else:
            others += 1
    return "\n\n".join(texts), others
