"""Conversations: exports of chats, transcripts of coding agents, message lists, our own JSON lines.

Where a company publishes no schema, the comment above a reader says where its shape was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from ....protocol.imports import ImportTurn
from .documents import JSON, Sample, Shape, SourceDocument, any_item, entries, whole_objects
from .json_stream import json_lines, raw_lines
from .records import (
    DialoguePart,
    DialogueSession,
    Entry,
    EntryInvalid,
    EntryLeftOut,
    InvalidRecord,
    MaybeEntry,
    Reason,
    Record,
    TimeUnknown,
    content_texts,
    conversation,
    describe,
    each,
    moment,
    objects,
    one_line,
    readable_topic,
    spoken,
    text_of,
    turns,
)

_SPEAKERS = ("user", "assistant")
_CONVERSATIONS = r"conversations(-\d+)?\.json"


# --- ChatGPT's data export: conversations.json, a list of conversations with a tree of messages ---
# mitkury/chatgpt-export-parser, docs/chatgpt-data-export-format.md, and
# basicmachines-co/basic-memory, src/basic_memory/importers/chatgpt_importer.py.

_CHATGPT_KINDS = {  # reasons to leave out contents that are no text
    "thoughts": Reason.THINKING,
    "reasoning_recap": Reason.THINKING,
    "code": Reason.TOOL_CALL,
    "execution_output": Reason.TOOL_RESULT,
    "tether_quote": Reason.TOOL_RESULT,
    "tether_browsing_display": Reason.TOOL_RESULT,
    "user_editable_context": Reason.SYSTEM,
    "model_editable_context": Reason.SYSTEM,
}


def is_chatgpt(item: dict[str, Any]) -> bool:
    """Return True for an object with a `mapping` of nodes."""
    return isinstance(item.get("mapping"), dict)


def read_chatgpt(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of the current branch of every conversation."""

    def read(entry: Entry) -> Iterator[Record]:
        nodes = entry.value.get("mapping")
        if not isinstance(nodes, dict):
            raise EntryInvalid("it has no `mapping` of messages")
        messages = {
            key: node["message"] | {"id": key} if isinstance(node["message"], dict) else 0
            for key, node in nodes.items()
            if isinstance(node, dict) and node.get("message") is not None
        }
        branch = _chatgpt_branch(nodes, entry.value.get("current_node"))
        current = [messages[key] for key in branch if key in messages]
        key = text_of(entry.value, "conversation_id", "id") or entry.place
        topic = readable_topic(entry.value.get("title"))
        session = DialogueSession(shape="chatgpt", key=key, topic=topic)
        whole = replace(entry, value=entry.value | {"messages": current})
        yield from conversation(whole, "messages", _chatgpt_message, session, "create_time")
        for key, message in messages.items():
            if key not in branch and isinstance(message, dict) and _role(message) in _SPEAKERS:
                yield entry.inside(f"node {one_line(key, 60)}").left_out(Reason.BRANCH)

    yield from each(whole_objects(document), read)


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
        raise EntryInvalid("`content` is not an object")
    text, media = _chatgpt_text(content)
    if role == "system" and not text.strip():
        return  # the empty root of most conversations
    reason = _chatgpt_reason(message.value, role, text_of(content, "content_type"))
    if reason:
        raise EntryLeftOut(reason)
    left_out = [message.left_out(Reason.MEDIA)] * media
    at = message.value.get("create_time")
    yield from spoken(message, role, text, left_out, key=message.value["id"], at=at)


def _chatgpt_reason(message: dict[str, Any], role: str, kind: str) -> str | None:
    """Return why a message is left out, or None."""
    metadata = message.get("metadata")
    if role == "system":
        return Reason.SYSTEM
    if role not in _SPEAKERS:
        return Reason.TOOL_RESULT
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return Reason.MACHINE
    if kind in _CHATGPT_KINDS:
        return _CHATGPT_KINDS[kind]
    is_call = role == "assistant" and text_of(message, "recipient") not in ("", "all")
    return Reason.TOOL_CALL if is_call else None


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


CHATGPT = Shape(
    "chatgpt",
    "ChatGPT: data export (conversations.json, alone or in its .zip)",
    _CONVERSATIONS,
    any_item(is_chatgpt),
    read_chatgpt,
)


# --- Claude's data export: conversations.json, a list of conversations with `chat_messages` -------
# basicmachines-co/basic-memory, src/basic_memory/importers/claude_conversations_importer.py, and
# Sinity/polylogue, docs/providers/claude-ai.md.

_CLAUDE_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def is_claude(item: dict[str, Any]) -> bool:
    """Return True for an object with a list `chat_messages`."""
    return isinstance(item.get("chat_messages"), list)


def read_claude(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of every conversation; of branches, the one with the last message."""

    def read(entry: Entry) -> Iterator[Record]:
        key, topic = text_of(entry.value, "uuid"), readable_topic(entry.value.get("name"))
        session = DialogueSession(shape="claude", key=key or entry.place, topic=topic)
        leaf = text_of(entry.value, "current_leaf_message_uuid")
        branch = _claude_branch(objects(entry.value.get("chat_messages")), leaf)
        yield from conversation(entry, "chat_messages", partial(_claude_message, branch), session)

    yield from each(whole_objects(document), read)


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


def _claude_message(branch: set[str], message: Entry) -> Iterator[DialoguePart]:
    value, content = message.value, message.value.get("content")
    key, role = text_of(value, "uuid"), _CLAUDE_ROLES.get(text_of(value, "sender"))
    if role is None or (branch and key not in branch):
        raise EntryLeftOut(Reason.SYSTEM if role is None else Reason.BRANCH)
    if isinstance(content, list) and content:
        text, left_out = content_texts(message, content)
    else:
        text, left_out = text_of(value, "text"), []
    files = len(objects(value.get("attachments"))) + len(objects(value.get("files")))
    left_out += [message.left_out(Reason.MEDIA)] * files
    yield from spoken(message, role, text, left_out, key=key, at=value.get("created_at"))


CLAUDE = Shape(
    "claude",
    "Claude: data export (conversations.json, alone or in its .zip)",
    _CONVERSATIONS,
    any_item(is_claude),
    read_claude,
)


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


def is_claude_code(item: dict[str, Any]) -> bool:
    """Return True for a line that is a message of a user or an assistant."""
    is_message = item.get("type") in _SPEAKERS and isinstance(item.get("message"), dict)
    return is_message and ("isSidechain" in item or "sessionId" in item)


def read_claude_code(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of a transcript, session by session."""
    stem, topic = PurePosixPath(document.base).stem, None
    session: str | None = None  # of the last message

    def session_of(line: MaybeEntry) -> str | None:
        nonlocal session
        if isinstance(line, Entry) and line.value.get("type") in _SPEAKERS:
            session = text_of(line.value, "sessionId") or stem
        return session

    with document.opened() as stream:
        for key, lines in groupby(json_lines(stream, document.place), session_of):
            if key is not None:
                about = DialogueSession(
                    shape="claude-code", key=key, topic=topic, has_unique_ids=True
                )
                yield from turns(each(lines, _claude_code_message), about)
                continue
            for line in lines:  # before the first message
                if isinstance(line, Entry) and line.value.get("type") == "summary":
                    topic = readable_topic(line.value.get("summary")) or topic
                else:
                    yield line if isinstance(line, InvalidRecord) else line.left_out(Reason.MACHINE)


def _claude_code_message(line: Entry) -> Iterator[DialoguePart]:
    entry, message = line.value, line.value.get("message")
    if entry.get("isSidechain"):
        raise EntryLeftOut(Reason.SUBAGENT)
    if entry.get("type") not in _SPEAKERS or any(entry.get(flag) for flag in _FLAGS):
        raise EntryLeftOut(Reason.MACHINE)
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
        raise EntryInvalid("`message` has no content")
    raw, left_out = content_texts(line, message["content"])
    text, role = _INSERTED.sub("", raw).strip(), str(entry["type"])
    if (raw and not text) or (role == "user" and text.startswith(_CLAUDE_CODE_NOT_TYPED)):
        yield from left_out
        raise EntryLeftOut(Reason.MACHINE)
    key, at = text_of(entry, "uuid"), entry.get("timestamp")
    yield from spoken(line, role, text, left_out, key=key, at=at)


CLAUDE_CODE = Shape(
    "claude-code",
    "Claude Code: transcripts (~/.claude/projects)",
    r"\.jsonl",
    any_item(is_claude_code),
    read_claude_code,
)


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
_CODEX_ITEMS = {
    "": Reason.MACHINE,
    "reasoning": Reason.THINKING,
    "compaction": Reason.MACHINE,
    "ghost_snapshot": Reason.MACHINE,
}


def is_codex(item: dict[str, Any]) -> bool:
    """Return True for a line with `type` and `payload`, or the first line of an older rollout."""
    is_typed = item.get("type") in _CODEX_TYPES and isinstance(item.get("payload"), dict)
    return is_typed or {"id", "timestamp", "instructions"} <= item.keys()


def read_codex(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of a rollout. Its session is the id in its first line, or the file's name."""
    with document.opened() as stream:
        lines = json_lines(stream, document.place)
        session = DialogueSession(shape="codex", key=PurePosixPath(document.base).stem)
        first = next(lines, None)
        if isinstance(first, Entry) and _codex_type(first.value) == "session_meta":
            meta = first.value.get("payload", first.value)
            session = replace(session, key=text_of(meta, "id") or session.key)
            with suppress(TimeUnknown):  # the lines have times of their own
                session = replace(session, started_at=moment(first.value.get("timestamp")))
        elif first:
            lines = chain([first], lines)
        yield from turns(each(lines, _codex_line), session)


def _codex_type(entry: dict[str, Any]) -> str:
    """Return the type of a line; lines of older rollouts are bare items."""
    if "payload" in entry:
        return text_of(entry, "type")
    return "session_meta" if "instructions" in entry and "type" not in entry else "response_item"


def _codex_line(line: Entry) -> Iterator[DialoguePart]:
    item = line.value.get("payload", line.value)
    if not isinstance(item, dict):
        yield line.invalid("`payload` is not an object")
    elif _codex_type(line.value) == "response_item":
        yield from _codex_item(line, item)
    else:
        yield line.left_out(Reason.MACHINE)


def _codex_item(line: Entry, item: dict[str, Any]) -> Iterator[DialoguePart]:
    kind, role = text_of(item, "type"), text_of(item, "role")
    if kind != "message":
        reason = Reason.TOOL_RESULT if kind.endswith("_output") else Reason.TOOL_CALL
        raise EntryLeftOut(_CODEX_ITEMS.get(kind, reason))
    if role not in _SPEAKERS:
        raise EntryLeftOut(Reason.SYSTEM)
    text, left_out = content_texts(line, item.get("content"))
    if role == "user" and text.lstrip().startswith(_CODEX_NOT_TYPED):
        yield from left_out
        raise EntryLeftOut(Reason.MACHINE)
    number = line.place.rpartition(" ")[2]  # the identity: a rollout is only ever appended to
    yield from spoken(line, role, text, left_out, key=number, at=line.value.get("timestamp"))


CODEX = Shape(
    "codex", "Codex: rollouts (~/.codex/sessions)", r"\.jsonl", any_item(is_codex), read_codex
)


# --- Message lists as the APIs of OpenAI take them, and JSON lines of them for fine-tuning --------
# openai/openai-python, src/openai/types/chat/chat_completion_message_param.py and
# src/openai/types/responses/response_input_item_param.py.

_OPENAI_ITEMS = {  # items of the Responses API beside messages
    "reasoning": Reason.THINKING,
    "function_call": Reason.TOOL_CALL,
    "function_call_output": Reason.TOOL_RESULT,
}
_OPENAI_OTHERS = {
    "system": Reason.SYSTEM,
    "developer": Reason.SYSTEM,
    "tool": Reason.TOOL_RESULT,
    "function": Reason.TOOL_RESULT,
}
_OPENAI_ROLES = (*_SPEAKERS, *_OPENAI_OTHERS)


def is_openai(item: dict[str, Any]) -> bool:
    """Return True for an object with role and content, or with `messages` of them."""
    return _is_message(item) or any(map(_is_message, objects(item.get("messages"))))


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
        elif first.key is None and isinstance(first.value.get("messages"), list):
            named = (
                replace(one, key=f"{name}-{number}") if isinstance(one, Entry) else one
                for number, one in enumerate(chain([first], rest), 1)
            )
            yield from each(named, _openai_session)
        else:
            messages = each(chain([first], rest), _openai)
            yield from turns(messages, DialogueSession(shape="openai-messages", key=name))


def _openai_session(entry: Entry) -> Iterator[Record]:
    session = DialogueSession(shape="openai-messages", key=entry.key or "")
    yield from conversation(entry, "messages", _openai, session)


def _openai(entry: Entry) -> Iterator[DialoguePart]:
    message, role, kind = entry.value, entry.value.get("role"), entry.value.get("type")
    content = message.get("content")
    if entry.key not in (None, "messages"):
        yield from entry.other()
        return
    if isinstance(kind, str) and kind in _OPENAI_ITEMS:
        raise EntryLeftOut(_OPENAI_ITEMS[kind])
    if role not in _OPENAI_ROLES:
        raise EntryInvalid("`role` is not one of " + ", ".join(_OPENAI_ROLES))
    if role in _OPENAI_OTHERS:
        raise EntryLeftOut(_OPENAI_OTHERS[role])
    if content is not None and not isinstance(content, str | list):
        raise EntryInvalid("`content` is neither a string nor a list")
    text, left_out = content_texts(entry, content)
    if not text and isinstance(content, list):
        text = "\n".join(text_of(part, "refusal") for part in objects(content)).strip()
        left_out = [] if text else left_out
    calls = len(objects(message.get("tool_calls"))) + ("function_call" in message)
    left_out += [entry.left_out(Reason.TOOL_CALL)] * calls
    key = text_of(message, "id") or entry.place.rpartition(" ")[2]  # its number in the session
    at = message.get("created_at", message.get("timestamp"))
    yield from spoken(entry, str(role), text, left_out, key=key, at=at)


OPENAI = Shape(
    "openai-messages",
    "OpenAI: lists of messages, or JSON lines of them",
    JSON,
    any_item(is_openai),
    read_openai,
)


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
                yield InvalidRecord(place=place, reason=describe(error))


EVENTS = Shape(
    "events", "Remembrancer: events as JSON lines", r"\.(jsonl|ndjson)", is_events, read_events
)
