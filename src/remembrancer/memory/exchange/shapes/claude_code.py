"""Transcripts of Claude Code: ~/.claude/projects/*/*.jsonl, one file per session.

Anthropic publishes no schema. The shape was read from a recorded transcript,
tests/integrations/recorded/claude-code/transcript.jsonl, and from lejoe/claude-plugins,
skills/cc-sessions-review/references/session-parsing.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from .documents import Sample, SourceDocument
from .json_stream import json_lines
from .records import (
    MACHINE,
    PART_REASONS,
    DialogueMessage,
    DialoguePart,
    DialogueSession,
    InvalidRecord,
    LeftOutRecord,
    Record,
    content_texts,
    readable_topic,
    text_of,
    turns,
)

SUBAGENT = "subagent"
_INSERTED = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_NOT_TYPED = (  # beginnings of user messages that the program wrote
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
Line = tuple[str, dict[str, Any]]


def matches(sample: Sample) -> bool:
    """Return True if a line is a message of a user or an assistant with its role in `message`."""
    return any(
        item.get("type") in ("user", "assistant")
        and isinstance(item.get("message"), dict)
        and ("isSidechain" in item or "sessionId" in item)
        for item in sample.items
    )


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of a transcript, session by session."""
    stem = PurePosixPath(document.base).stem
    topic = None
    with document.opened() as stream:
        lines = json_lines(stream, document.place)
        pending: list[Line] = []
        for line in lines:
            if isinstance(line, InvalidRecord):
                yield line
                continue
            place, entry = line
            if entry.get("type") in ("user", "assistant"):
                pending = [line]
                break
            if entry.get("type") == "summary":
                topic = readable_topic(entry.get("summary")) or topic
            elif entry.get("type") in ("system", "attachment"):
                yield LeftOutRecord(place=place, reason=MACHINE)
        while pending:
            session = text_of(pending[0][1], "sessionId") or stem
            first, pending = pending, []
            yield from turns(
                _messages(chain(first, lines), session, stem, pending),
                DialogueSession(shape="claude-code", key=session, topic=topic, has_unique_ids=True),
            )


def _messages(
    lines: Iterator[Line | InvalidRecord], session: str, stem: str, pending: list[Line]
) -> Iterator[DialoguePart]:
    """Yield the messages of one session; put the first line of another one into `pending`."""
    for line in lines:
        if isinstance(line, InvalidRecord):
            yield line
            continue
        place, entry = line
        if entry.get("type") not in ("user", "assistant"):
            if entry.get("type") in ("system", "attachment"):
                yield LeftOutRecord(place=place, reason=MACHINE)
            continue
        if (text_of(entry, "sessionId") or stem) != session:
            pending.append(line)
            return
        yield from _message(entry, place)


def _message(entry: dict[str, Any], place: str) -> Iterator[DialoguePart]:
    message = entry.get("message")
    if entry.get("isSidechain"):
        yield LeftOutRecord(place=place, reason=SUBAGENT)
        return
    if any(entry.get(flag) for flag in _FLAGS):
        yield LeftOutRecord(place=place, reason=MACHINE)
        return
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
        yield InvalidRecord(place=place, detail="`message` has no content")
        return
    raw, left_out = content_texts(message["content"], place, PART_REASONS)
    yield from left_out
    text = _INSERTED.sub("", raw).strip()
    is_user = entry["type"] == "user"
    if (raw and not text) or (is_user and text.startswith(_NOT_TYPED)):
        yield LeftOutRecord(place=place, reason=MACHINE)
        return
    if text or not left_out:
        role, key, at = str(entry["type"]), text_of(entry, "uuid"), entry.get("timestamp")
        yield DialogueMessage(place=place, role=role, text=text, id=key, at=at)
