"""ChatGPT's data export: conversations.json, a list of conversations with a tree of messages.

OpenAI publishes no schema. The shape was read from mitkury/chatgpt-export-parser,
docs/chatgpt-data-export-format.md, and basicmachines-co/basic-memory,
src/basic_memory/importers/chatgpt_importer.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .documents import ConversationExport, Sample, SourceDocument, read_conversations
from .records import (
    BRANCH,
    MACHINE,
    MEDIA,
    SYSTEM,
    THINKING,
    TOOL_CALL,
    TOOL_RESULT,
    DialogueMessage,
    DialoguePart,
    InvalidRecord,
    LeftOutRecord,
    Record,
    objects,
    text_of,
)

_KINDS = {  # reasons to leave out contents that are no text
    "thoughts": THINKING,
    "reasoning_recap": THINKING,
    "code": TOOL_CALL,
    "execution_output": TOOL_RESULT,
    "tether_quote": TOOL_RESULT,
    "tether_browsing_display": TOOL_RESULT,
    "user_editable_context": SYSTEM,
    "model_editable_context": SYSTEM,
}


_EXPORT = ConversationExport(
    shape="chatgpt",
    field="mapping",
    kind=dict,
    problem="it has no `mapping` of messages",
    key=("conversation_id", "id"),
    title="title",
    created="create_time",
)


def matches(sample: Sample) -> bool:
    """Return True if an object has a `mapping` of nodes."""
    return any(isinstance(item.get("mapping"), dict) for item in sample.items)


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of the current branch of every conversation."""
    yield from read_conversations(document, _EXPORT, _messages)


def _messages(conversation: dict[str, Any], place: str) -> Iterator[DialoguePart]:
    nodes: dict[str, Any] = conversation["mapping"]
    branch = _branch(nodes, conversation.get("current_node"))
    for number, key in enumerate(branch, 1):
        where = f"{place}, message {number}"
        node = nodes[key]
        message = node.get("message") if isinstance(node, dict) else None
        if isinstance(message, dict):
            yield from _message(message, key, where)
        elif message is not None:
            yield InvalidRecord(place=where, detail="`message` is not an object")
    current = set(branch)
    for key, node in nodes.items():
        message = node.get("message") if isinstance(node, dict) else None
        if key not in current and isinstance(message, dict) and _role(message) in _SPEAKERS:
            yield LeftOutRecord(place=place, reason=BRANCH)


_SPEAKERS = ("user", "assistant")


def _branch(nodes: dict[str, Any], current: object) -> list[str]:
    """Return the ids from the root to the current node, or to the last node without children."""
    if not isinstance(current, str) or current not in nodes:
        leaves = [
            key
            for key, node in nodes.items()
            if isinstance(node, dict) and not node.get("children")
        ]
        current = leaves[-1] if leaves else None
    branch: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in branch:
        branch[current] = None
        node = nodes[current]
        current = node.get("parent") if isinstance(node, dict) else None
    return list(reversed(branch))


def _role(message: dict[str, Any]) -> str:
    author = message.get("author")
    return text_of(author, "role") if isinstance(author, dict) else ""


def _message(message: dict[str, Any], key: str, place: str) -> Iterator[DialoguePart]:
    role, content = _role(message), message.get("content")
    if not isinstance(content, dict):
        yield InvalidRecord(place=place, detail="`content` is not an object")
        return
    kind = text_of(content, "content_type")
    texts, media = _texts(content)
    if role == "system" and not texts.strip():
        return  # the empty root of most conversations
    reason = _reason(message, role, kind)
    if reason:
        yield LeftOutRecord(place=place, reason=reason)
        return
    yield from (LeftOutRecord(place=place, reason=MEDIA) for _ in range(media))
    if texts.strip() or not media:
        at = message.get("create_time")
        yield DialogueMessage(place=place, role=role, text=texts, id=key, at=at)


def _reason(message: dict[str, Any], role: str, kind: str) -> str | None:
    """Return why a message is left out, or None."""
    metadata = message.get("metadata")
    if role == "system":
        return SYSTEM
    if role not in _SPEAKERS:
        return TOOL_RESULT
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return MACHINE
    if kind in _KINDS:
        return _KINDS[kind]
    is_call = role == "assistant" and text_of(message, "recipient") not in ("", "all")
    return TOOL_CALL if is_call else None


def _texts(content: dict[str, Any]) -> tuple[str, int]:
    """Return the text of a content, and the number of its other parts."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return text_of(content, "text"), 0
    texts = [part for part in parts if isinstance(part, str)]
    spoken = [
        text_of(part, "text")
        for part in objects(parts)
        if part.get("content_type") == "audio_transcription"
    ]
    return "\n".join(text for text in [*texts, *spoken] if text), len(parts) - len(texts) - len(
        spoken
    )
