"""Rollouts of Codex: ~/.codex/sessions/**/rollout-*.jsonl, one file per session.

The shape was read from openai/codex, codex-rs/protocol/src/protocol.rs (RolloutItem) and
codex-rs/protocol/src/models.rs (ResponseItem), and from a recorded rollout,
tests/integrations/recorded/codex/transcript.jsonl.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from .documents import Sample, SourceDocument
from .json_stream import json_lines
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
    content_texts,
    text_of,
    time_of,
    turns,
)

_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_NOT_TYPED = (  # beginnings of user messages that the program wrote
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
_ITEMS = {"reasoning": THINKING, "compaction": MACHINE, "ghost_snapshot": MACHINE}
Line = tuple[str, dict[str, Any]]


def matches(sample: Sample) -> bool:
    """Return True for lines with `type` and `payload`, or for a first line of an older rollout."""
    if any(
        item.get("type") in _TYPES and isinstance(item.get("payload"), dict)
        for item in sample.items
    ):
        return True
    first = sample.items[0] if sample.items else {}
    return {"id", "timestamp", "instructions"} <= first.keys()


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield the turns of a rollout. Its session is the id in its first line, or the file's name."""
    with document.opened() as stream:
        lines = json_lines(stream, document.place)
        key = PurePosixPath(document.base).stem
        started_at = None
        first: list[Line | InvalidRecord] = []
        for line in lines:
            first.append(line)
            if isinstance(line, tuple):
                meta = line[1].get("payload", line[1])
                if isinstance(meta, dict) and _type_of(line[1]) == "session_meta":
                    key = text_of(meta, "id") or key
                    started_at, invalid = time_of(line[1].get("timestamp"), line[0])
                    first += [] if invalid is None else [invalid]
                break
        yield from turns(
            _messages(chain(first, lines)),
            DialogueSession(shape="codex", key=key, started_at=started_at),
        )


def _type_of(entry: dict[str, Any]) -> str:
    """Return the type of a line; lines of older rollouts are bare items."""
    if "payload" in entry:
        return text_of(entry, "type")
    return "session_meta" if "instructions" in entry and "type" not in entry else "response_item"


def _messages(lines: Iterator[Line | InvalidRecord]) -> Iterator[DialoguePart]:
    for line in lines:
        if isinstance(line, InvalidRecord):
            yield line
            continue
        place, entry = line
        item, kind = entry.get("payload", entry), _type_of(entry)
        if not isinstance(item, dict):
            yield InvalidRecord(place=place, detail="`payload` is not an object")
        elif kind == "compacted":
            yield LeftOutRecord(place=place, reason=MACHINE)
        elif kind == "response_item":
            yield from _item(item, place, entry.get("timestamp"))


def _item(item: dict[str, Any], place: str, timestamp: object) -> Iterator[DialoguePart]:
    kind, role = text_of(item, "type"), text_of(item, "role")
    if kind != "message":
        reason = TOOL_RESULT if kind.endswith("_output") else _ITEMS.get(kind, TOOL_CALL)
        if kind:
            yield LeftOutRecord(place=place, reason=reason)
        return
    if role not in ("user", "assistant"):
        yield LeftOutRecord(place=place, reason=SYSTEM)
        return
    text, left_out = content_texts(item.get("content"), place, PART_REASONS)
    yield from left_out
    if role == "user" and text.lstrip().startswith(_NOT_TYPED):
        yield LeftOutRecord(place=place, reason=MACHINE)
        return
    if text.strip() or not left_out:
        line = place.rpartition(" ")[2]  # the identity: a rollout is only ever appended to
        yield DialogueMessage(place=place, role=role, text=text, id=line, at=timestamp)
