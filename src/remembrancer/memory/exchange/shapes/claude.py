"""Claude's data export: conversations.json, a list of conversations with `chat_messages`.

Anthropic publishes no schema. The shape was read from basicmachines-co/basic-memory,
src/basic_memory/importers/claude_conversations_importer.py, and Sinity/polylogue,
docs/providers/claude-ai.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .documents import ConversationExport, Sample, SourceDocument, read_conversations
from .records import (
    BRANCH,
    MEDIA,
    PART_REASONS,
    SYSTEM,
    DialogueMessage,
    DialoguePart,
    InvalidRecord,
    LeftOutRecord,
    Record,
    content_texts,
    objects,
    text_of,
)

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


_EXPORT = ConversationExport(
    shape="claude",
    field="chat_messages",
    kind=list,
    problem="it has no list `chat_messages`",
    key=("uuid",),
    title="name",
    created="created_at",
)


def matches(sample: Sample) -> bool:
    """Return True if an object has a list `chat_messages`."""
    return any(isinstance(item.get("chat_messages"), list) for item in sample.items)


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of every conversation; of branches, the one with the last message."""
    yield from read_conversations(document, _EXPORT, _messages)


def _messages(conversation: dict[str, Any], place: str) -> Iterator[DialoguePart]:
    messages = objects(conversation["chat_messages"])
    branch = _branch(messages, text_of(conversation, "current_leaf_message_uuid"))
    for number, message in enumerate(messages, 1):
        where = f"{place}, message {number}"
        role = _ROLES.get(text_of(message, "sender"))
        if branch and text_of(message, "uuid") not in branch:
            yield LeftOutRecord(place=where, reason=BRANCH)
        elif role is None:
            yield LeftOutRecord(place=where, reason=SYSTEM)
        else:
            yield from _message(message, role, where)
    for _ in range(len(conversation["chat_messages"]) - len(messages)):
        yield InvalidRecord(place=place, detail="a message is not an object")


def _branch(messages: list[dict[str, Any]], leaf: str) -> set[str]:
    """Return the ids of the messages on the branch of the last one; empty without branches."""
    parents = {text_of(one, "uuid"): text_of(one, "parent_message_uuid") for one in messages}
    if not messages or "" in parents or len(parents) != len(messages):
        return set()  # an older export: one list without parents
    current = leaf if leaf in parents else text_of(messages[-1], "uuid")
    branch: set[str] = set()
    while current in parents and current not in branch:
        branch.add(current)
        current = parents[current]
    # A chain that ends at another parent than the first message's is broken: take all.
    is_whole = current == parents[text_of(messages[0], "uuid")]
    return branch if is_whole and all(parents.values()) else set()


def _message(message: dict[str, Any], role: str, place: str) -> Iterator[DialoguePart]:
    content = message.get("content")
    if isinstance(content, list) and content:
        text, left_out = content_texts(content, place, PART_REASONS)
        yield from left_out
    else:
        text, left_out = text_of(message, "text"), []
    files = len(objects(message.get("attachments"))) + len(objects(message.get("files")))
    yield from (LeftOutRecord(place=place, reason=MEDIA) for _ in range(files))
    if text.strip() or not (files or left_out):
        key, at = text_of(message, "uuid"), message.get("created_at")
        yield DialogueMessage(place=place, role=role, text=text, id=key, at=at)
