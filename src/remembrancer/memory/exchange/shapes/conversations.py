"""Conversations: exports of chats, transcripts of coding agents, message lists, our own JSON lines.

Where a company publishes no schema, the comment above a reader says where its shape was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from ....protocol.imports import ImportTurn
from .documents import Sample, SourceDocument, entries, numbered_messages, whole_objects
from .json_stream import json_lines, raw_lines
from .records import (
    BRANCH,
    MACHINE,
    MEDIA,
    PART_REASONS,
    SYSTEM,
    THINKING,
    TOOL_CALL,
    TOOL_RESULT,
    DialogueMessage,
    DialoguePart,
    DialogueSession,
    Entry,
    InvalidRecord,
    Record,
    content_texts,
    describe,
    each,
    objects,
    readable_topic,
    text_of,
    time_of,
    turns,
)

SUBAGENT = "subagent"
_SPEAKERS = ("user", "assistant")
MaybeEntry = Entry | InvalidRecord


def _conversation(
    entry: Entry, messages: Iterable[DialoguePart], session: DialogueSession, created: str
) -> Iterator[Record]:
    """Yield the turns of one conversation; `created` names the member with its time."""
    started_at, invalid = time_of(entry.value.get(created), entry.place)
    if invalid:
        yield invalid
    yield from turns(messages, replace(session, started_at=started_at))


def _in_conversations(document: SourceDocument) -> Iterator[MaybeEntry]:
    for one in whole_objects(document):
        place = one.place.replace(", record ", ", conversation ")
        yield replace(one, place=place) if isinstance(one, Entry) else one


# --- ChatGPT's data export: conversations.json, a list of conversations with a tree of messages ---
# mitkury/chatgpt-export-parser, docs/chatgpt-data-export-format.md, and
# basicmachines-co/basic-memory, src/basic_memory/importers/chatgpt_importer.py.

_CHATGPT_KINDS = {  # reasons to leave out contents that are no text
    "thoughts": THINKING,
    "reasoning_recap": THINKING,
    "code": TOOL_CALL,
    "execution_output": TOOL_RESULT,
    "tether_quote": TOOL_RESULT,
    "tether_browsing_display": TOOL_RESULT,
    "user_editable_context": SYSTEM,
    "model_editable_context": SYSTEM,
}


def is_chatgpt(sample: Sample) -> bool:
    """Return True if an object has a `mapping` of nodes."""
    return any(isinstance(item.get("mapping"), dict) for item in sample.items)


def read_chatgpt(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of the current branch of every conversation."""

    def read(entry: Entry) -> Iterator[Record]:
        if not isinstance(entry.value.get("mapping"), dict):
            yield entry.invalid("it has no `mapping` of messages")
            return
        key = text_of(entry.value, "conversation_id", "id") or entry.place
        topic = readable_topic(entry.value.get("title"))
        session = DialogueSession(shape="chatgpt", key=key, topic=topic)
        yield from _conversation(entry, _chatgpt_messages(entry), session, "create_time")

    yield from each(_in_conversations(document), read)


def _chatgpt_messages(conversation: Entry) -> Iterator[DialoguePart]:
    nodes: dict[str, Any] = conversation.value["mapping"]
    messages = {
        key: node.get("message") if isinstance(node, dict) else None for key, node in nodes.items()
    }
    branch = _chatgpt_branch(nodes, conversation.value.get("current_node"))
    for number, key in enumerate(branch, 1):
        message = messages[key]
        place = f"{conversation.place}, message {number}"
        if isinstance(message, dict):
            yield from _chatgpt_message(Entry(place=place, value=message, key=key))
        elif message is not None:
            yield InvalidRecord(place=place, detail="`message` is not an object")
    for key, message in messages.items():
        if key not in branch and isinstance(message, dict) and _role(message) in _SPEAKERS:
            yield conversation.left_out(BRANCH)


def _chatgpt_branch(nodes: dict[str, Any], current: object) -> dict[str, None]:
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
    return dict.fromkeys(reversed(branch))


def _role(message: dict[str, Any]) -> str:
    author = message.get("author")
    return text_of(author, "role") if isinstance(author, dict) else ""


def _chatgpt_message(message: Entry) -> Iterator[DialoguePart]:
    role, content = _role(message.value), message.value.get("content")
    if not isinstance(content, dict):
        yield message.invalid("`content` is not an object")
        return
    text, media = _chatgpt_text(content)
    if role == "system" and not text.strip():
        return  # the empty root of most conversations
    reason = _chatgpt_reason(message.value, role, text_of(content, "content_type"))
    if reason:
        yield message.left_out(reason)
        return
    yield from (message.left_out(MEDIA) for _ in range(media))
    if text.strip() or not media:
        at = message.value.get("create_time")
        yield DialogueMessage(
            place=message.place, role=role, text=text, id=message.key or "", at=at
        )


def _chatgpt_reason(message: dict[str, Any], role: str, kind: str) -> str | None:
    """Return why a message is left out, or None."""
    metadata = message.get("metadata")
    if role == "system":
        return SYSTEM
    if role not in _SPEAKERS:
        return TOOL_RESULT
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return MACHINE
    if kind in _CHATGPT_KINDS:
        return _CHATGPT_KINDS[kind]
    is_call = role == "assistant" and text_of(message, "recipient") not in ("", "all")
    return TOOL_CALL if is_call else None


def _chatgpt_text(content: dict[str, Any]) -> tuple[str, int]:
    """Return the text of a content, and the number of its other parts."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return text_of(content, "text"), 0
    texts = [part for part in parts if isinstance(part, str)]
    texts += [
        text_of(part, "text")
        for part in objects(parts)
        if part.get("content_type") == "audio_transcription"
    ]
    return "\n".join(filter(None, texts)), len(parts) - len(texts)


# --- Claude's data export: conversations.json, a list of conversations with `chat_messages` -------
# basicmachines-co/basic-memory, src/basic_memory/importers/claude_conversations_importer.py, and
# Sinity/polylogue, docs/providers/claude-ai.md.

_CLAUDE_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def is_claude(sample: Sample) -> bool:
    """Return True if an object has a list `chat_messages`."""
    return any(isinstance(item.get("chat_messages"), list) for item in sample.items)


def read_claude(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of every conversation; of branches, the one with the last message."""

    def read(entry: Entry) -> Iterator[Record]:
        if not isinstance(entry.value.get("chat_messages"), list):
            yield entry.invalid("it has no list `chat_messages`")
            return
        topic = readable_topic(entry.value.get("name"))
        session = DialogueSession(
            shape="claude", key=text_of(entry.value, "uuid") or entry.place, topic=topic
        )
        yield from _conversation(entry, _claude_messages(entry), session, "created_at")

    yield from each(_in_conversations(document), read)


def _claude_messages(conversation: Entry) -> Iterator[DialoguePart]:
    listed = conversation.value["chat_messages"]
    messages = objects(listed)
    branch = _claude_branch(messages, text_of(conversation.value, "current_leaf_message_uuid"))
    for number, value in enumerate(messages, 1):
        message = Entry(place=f"{conversation.place}, message {number}", value=value)
        role = _CLAUDE_ROLES.get(text_of(value, "sender"))
        if branch and text_of(value, "uuid") not in branch:
            yield message.left_out(BRANCH)
        elif role is None:
            yield message.left_out(SYSTEM)
        else:
            yield from _claude_message(message, role)
    for _ in range(len(listed) - len(messages)):
        yield conversation.invalid("a message is not an object")


def _claude_branch(messages: list[dict[str, Any]], leaf: str) -> set[str]:
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


def _claude_message(message: Entry, role: str) -> Iterator[DialoguePart]:
    value, content = message.value, message.value.get("content")
    if isinstance(content, list) and content:
        text, left_out = content_texts(content, message.place, PART_REASONS)
        yield from left_out
    else:
        text, left_out = text_of(value, "text"), []
    files = len(objects(value.get("attachments"))) + len(objects(value.get("files")))
    yield from (message.left_out(MEDIA) for _ in range(files))
    if text.strip() or not (files or left_out):
        key, at = text_of(value, "uuid"), value.get("created_at")
        yield DialogueMessage(place=message.place, role=role, text=text, id=key, at=at)


# --- Transcripts of Claude Code: ~/.claude/projects/*/*.jsonl, one file per session ---------------
# A recorded transcript, tests/integrations/recorded/claude-code/transcript.jsonl, and
# lejoe/claude-plugins, skills/cc-sessions-review/references/session-parsing.md.

_INSERTED = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_CLAUDE_CODE_NOT_TYPED = (  # beginnings of user messages that the program wrote
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<task-notification>",
    "[Request interrupted by user",
    "Stop hook feedback:",
    "Caveat: ",
)
_FLAGS = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")


def is_claude_code(sample: Sample) -> bool:
    """Return True if a line is a message of a user or an assistant with its role in `message`."""
    return any(
        item.get("type") in _SPEAKERS
        and isinstance(item.get("message"), dict)
        and ("isSidechain" in item or "sessionId" in item)
        for item in sample.items
    )


def read_claude_code(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of a transcript, session by session."""
    stem = PurePosixPath(document.base).stem
    topic = None
    with document.opened() as stream:
        lines = json_lines(stream, document.place)
        pending: list[Entry] = []
        for line in lines:
            if isinstance(line, InvalidRecord):
                yield line
                continue
            kind = line.value.get("type")
            if kind in _SPEAKERS:
                pending = [line]
                break
            if kind == "summary":
                topic = readable_topic(line.value.get("summary")) or topic
            elif kind in ("system", "attachment"):
                yield line.left_out(MACHINE)
        while pending:
            key = text_of(pending[0].value, "sessionId") or stem
            first, pending = pending, []
            yield from turns(
                _claude_code_messages(chain(first, lines), key, stem, pending),
                DialogueSession(shape="claude-code", key=key, topic=topic, has_unique_ids=True),
            )


def _claude_code_messages(
    lines: Iterator[MaybeEntry], session: str, stem: str, pending: list[Entry]
) -> Iterator[DialoguePart]:
    """Yield the messages of one session; put the first line of another one into `pending`."""
    for line in lines:
        if isinstance(line, InvalidRecord):
            yield line
        elif line.value.get("type") not in _SPEAKERS:
            if line.value.get("type") in ("system", "attachment"):
                yield line.left_out(MACHINE)
        elif (text_of(line.value, "sessionId") or stem) != session:
            pending.append(line)
            return
        else:
            yield from _claude_code_message(line)


def _claude_code_message(line: Entry) -> Iterator[DialoguePart]:
    entry, message = line.value, line.value.get("message")
    if entry.get("isSidechain"):
        yield line.left_out(SUBAGENT)
        return
    if any(entry.get(flag) for flag in _FLAGS):
        yield line.left_out(MACHINE)
        return
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
        yield line.invalid("`message` has no content")
        return
    raw, left_out = content_texts(message["content"], line.place, PART_REASONS)
    yield from left_out
    text, role = _INSERTED.sub("", raw).strip(), str(entry["type"])
    if (raw and not text) or (role == "user" and text.startswith(_CLAUDE_CODE_NOT_TYPED)):
        yield line.left_out(MACHINE)
    elif text or not left_out:
        key, at = text_of(entry, "uuid"), entry.get("timestamp")
        yield DialogueMessage(place=line.place, role=role, text=text, id=key, at=at)


# --- Rollouts of Codex: ~/.codex/sessions/**/rollout-*.jsonl, one file per session ----------------
# openai/codex, codex-rs/protocol/src/protocol.rs (RolloutItem) and models.rs (ResponseItem), and a
# recorded rollout, tests/integrations/recorded/codex/transcript.jsonl.

_CODEX_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_CODEX_NOT_TYPED = (  # beginnings of user messages that the program wrote
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
)
_CODEX_ITEMS = {"reasoning": THINKING, "compaction": MACHINE, "ghost_snapshot": MACHINE}


def is_codex(sample: Sample) -> bool:
    """Return True for lines with `type` and `payload`, or for a first line of an older rollout."""
    first = sample.items[0] if sample.items else {}
    return {"id", "timestamp", "instructions"} <= first.keys() or any(
        item.get("type") in _CODEX_TYPES and isinstance(item.get("payload"), dict)
        for item in sample.items
    )


def read_codex(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of a rollout. Its session is the id in its first line, or the file's name."""
    with document.opened() as stream:
        lines = json_lines(stream, document.place)
        key = PurePosixPath(document.base).stem
        started_at = None
        first: list[MaybeEntry] = []
        for line in lines:
            first.append(line)
            if isinstance(line, Entry):
                meta = line.value.get("payload", line.value)
                if isinstance(meta, dict) and _codex_type(line.value) == "session_meta":
                    key = text_of(meta, "id") or key
                    started_at, invalid = time_of(line.value.get("timestamp"), line.place)
                    first += [] if invalid is None else [invalid]
                break
        yield from turns(
            _codex_messages(chain(first, lines)),
            DialogueSession(shape="codex", key=key, started_at=started_at),
        )


def _codex_type(entry: dict[str, Any]) -> str:
    """Return the type of a line; lines of older rollouts are bare items."""
    if "payload" in entry:
        return text_of(entry, "type")
    return "session_meta" if "instructions" in entry and "type" not in entry else "response_item"


def _codex_messages(lines: Iterator[MaybeEntry]) -> Iterator[DialoguePart]:
    for line in lines:
        if isinstance(line, InvalidRecord):
            yield line
            continue
        item, kind = line.value.get("payload", line.value), _codex_type(line.value)
        if not isinstance(item, dict):
            yield line.invalid("`payload` is not an object")
        elif kind == "compacted":
            yield line.left_out(MACHINE)
        elif kind == "response_item":
            yield from _codex_item(line, item)


def _codex_item(line: Entry, item: dict[str, Any]) -> Iterator[DialoguePart]:
    kind, role = text_of(item, "type"), text_of(item, "role")
    if kind != "message":
        if kind:
            reason = TOOL_RESULT if kind.endswith("_output") else TOOL_CALL
            yield line.left_out(_CODEX_ITEMS.get(kind, reason))
        return
    if role not in _SPEAKERS:
        yield line.left_out(SYSTEM)
        return
    text, left_out = content_texts(item.get("content"), line.place, PART_REASONS)
    yield from left_out
    if role == "user" and text.lstrip().startswith(_CODEX_NOT_TYPED):
        yield line.left_out(MACHINE)
    elif text.strip() or not left_out:
        number = line.place.rpartition(" ")[2]  # the identity: a rollout is only ever appended to
        at = line.value.get("timestamp")
        yield DialogueMessage(place=line.place, role=role, text=text, id=number, at=at)


# --- Message lists as the APIs of OpenAI take them, and JSON lines of them for fine-tuning --------
# openai/openai-python, src/openai/types/chat/chat_completion_message_param.py and
# src/openai/types/responses/response_input_item_param.py.

_OPENAI_ITEMS = {  # items of the Responses API beside messages
    "reasoning": THINKING,
    "function_call": TOOL_CALL,
    "function_call_output": TOOL_RESULT,
}
_OPENAI_OTHERS = {
    "system": SYSTEM,
    "developer": SYSTEM,
    "tool": TOOL_RESULT,
    "function": TOOL_RESULT,
}
_OPENAI_ROLES = (*_SPEAKERS, *_OPENAI_OTHERS)


def is_openai(sample: Sample) -> bool:
    """Return True for objects with role and content, or with `messages` of them."""
    return any(
        _is_message(item) or any(map(_is_message, objects(item.get("messages"))))
        for item in sample.items
    )


def _is_message(item: dict[str, Any]) -> bool:
    return item.get("role") in _OPENAI_ROLES and ("content" in item or "tool_calls" in item)


def read_openai(document: SourceDocument) -> Iterator[Record]:
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
            yield from _openai_sessions(every, name)
        else:
            session = DialogueSession(shape="openai-messages", key=name)
            yield from turns(_openai_messages(every), session)


def _openai_sessions(every: Iterable[MaybeEntry], name: str) -> Iterator[Record]:
    for number, entry in enumerate(every, 1):
        if isinstance(entry, InvalidRecord):
            yield entry
        elif isinstance(entry.value.get("messages"), list):
            messages = numbered_messages(entry.value["messages"], entry.place)
            session = DialogueSession(shape="openai-messages", key=f"{name}-{number}")
            yield from turns(_openai_messages(messages), session)
        else:
            yield entry.invalid("expected an object with `messages`")


def _openai_messages(every: Iterable[MaybeEntry]) -> Iterator[DialoguePart]:
    for entry in every:
        if isinstance(entry, InvalidRecord):
            yield entry
        elif entry.key in (None, "messages"):
            yield from _openai_message(entry)


def _openai_message(entry: Entry) -> Iterator[DialoguePart]:
    message, place = entry.value, entry.place
    role, kind, content = message.get("role"), message.get("type"), message.get("content")
    if isinstance(kind, str) and kind in _OPENAI_ITEMS:
        yield entry.left_out(_OPENAI_ITEMS[kind])
        return
    if role not in _OPENAI_ROLES:
        yield entry.invalid("`role` is not one of " + ", ".join(_OPENAI_ROLES))
        return
    if role in _OPENAI_OTHERS:
        yield entry.left_out(_OPENAI_OTHERS[role])
        return
    calls = len(objects(message.get("tool_calls"))) + ("function_call" in message)
    yield from (entry.left_out(TOOL_CALL) for _ in range(calls))
    text, left_out = content_texts(content, place, PART_REASONS)
    if not text and isinstance(content, list):
        text = "\n".join(text_of(part, "refusal") for part in objects(content)).strip()
        left_out = [] if text else left_out
    yield from left_out
    if content is not None and not isinstance(content, str | list):
        yield entry.invalid("`content` is neither a string nor a list")
    elif text.strip() or not (calls or left_out):
        key = text_of(message, "id") or place.rpartition(" ")[2]  # its number within the session
        at = message.get("created_at", message.get("timestamp"))
        yield DialogueMessage(place=place, role=str(role), text=text, id=key, at=at)


# --- Our own JSON lines of events ----------------------------------------------------------------


def is_events(sample: Sample) -> bool:
    """Return True for lines with query and response."""
    return sample.layout in ("lines", "object") and any(
        "query" in item and "response" in item for item in sample.items
    )


def read_events(document: SourceDocument) -> Iterator[Record]:
    """Yield one turn per line."""
    with document.opened() as stream:
        for number, raw in raw_lines(stream, document.place):
            place = f"{document.place}, line {number}"
            try:
                yield ImportTurn.model_validate_json(raw)
            except ValidationError as error:
                yield InvalidRecord(place=place, detail=describe(error))
