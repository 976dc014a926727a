"""Folders of Markdown notes: plain ones, and those of basic-memory.

The shape of basic-memory was read from basicmachines-co/basic-memory,
src/basic_memory/markdown/schemas.py, entity_parser.py and plugins.py: front matter, observations
`- [category] content #tag (context)` and relations `- type [[target]] (context)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from .documents import Sample, SourceDocument
from .records import (
    InvalidRecord,
    LeftOutRecord,
    Record,
    digest,
    readable_id,
    readable_topic,
    statement,
    time_of,
    turn_record,
)

NOTE_BYTES_MAX = 16 << 20  # of one file
PART_CHARACTERS = 8_000  # a longer note is split at its headings
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.{0,65536}?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_][\w-]{0,63})[ \t]*:[ \t]*(.*)")
_HEADING = re.compile(r"#{1,3}[ \t]+(\S.*)")
_CODE = re.compile(r"[ \t]*(```|~~~)")
_ITEM = re.compile(r"[ \t]*[-*+][ \t]+(\S.*)")
_OBSERVATION = re.compile(r"\[([^\[\]()]{1,100})\][ \t]+(\S.*)")
_CLOCK = re.compile(r"\d{1,3}:\d\d\b.*")
_RELATION = re.compile(
    r"""(?:"([^"]{1,200})"|'([^']{1,200})'|([^\s\["']{1,200}))[ \t]*"""
    r"""\[\[([^\[\]]{1,500})\]\][ \t]*(\(.*\))?\s*"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A Markdown file: the simple fields of its front matter, and the text below it."""

    fields: dict[str, str]
    body: str
    title: str


def matches_basic_memory(sample: Sample) -> bool:
    """Return True for front matter with a `permalink`."""
    front = _FRONT.match(sample.text)
    return front is not None and "permalink" in _fields(front[1])


def read_notes(document: SourceDocument) -> Iterator[Record]:
    """Yield a Markdown file as one turn, a long one as one turn per section."""
    note = _note(document)
    if isinstance(note, Note):
        yield from _turns(note, document, "markdown", note.body)
    else:
        yield note


def read_basic_memory(document: SourceDocument) -> Iterator[Record]:
    """Yield observations and relations of a note as facts, and its prose as turns."""
    note = _note(document)
    if not isinstance(note, Note):
        yield note
        return
    at, invalid = _time(note, document)
    if invalid:
        yield invalid
        return
    prose: list[str] = []
    is_code = False
    for number, line in enumerate(note.body.splitlines(), 1):
        is_code ^= bool(_CODE.match(line))
        text = None if is_code else _stated(line, note.title)
        if text is None:
            prose.append(line)
        else:
            yield statement(
                f"{document.place}, line {number} of the text",
                text,
                session_id=document.name,
                topic=note.title,
                id=digest("basic-memory", document.name, text),
                valid_from=at,
            )
    if any(line.strip() and not _HEADING.match(line) for line in prose):
        yield from _turns(note, document, "basic-memory", "\n".join(prose))


def _stated(line: str, title: str) -> str | None:
    """Return what an observation or a relation states about a note; None for another line."""
    item = _ITEM.fullmatch(line)
    if item is None:
        return None
    relation = _RELATION.fullmatch(item[1])
    if relation is not None:
        kind = next(filter(None, relation.groups()[:3]))
        context = f" {relation[5]}" if relation[5] else ""
        return f"{title} {kind.replace('_', ' ')} {relation[4]}{context}"
    observation = _OBSERVATION.fullmatch(item[1])
    if observation is None:
        return None
    category = observation[1].strip()
    is_task = len(category) <= 1 and (category in ("", "x", "X") or not category.isalnum())
    if is_task or _CLOCK.fullmatch(category):
        return None
    return f"{title}: [{category}] {observation[2].strip()}"


def _note(document: SourceDocument) -> Note | InvalidRecord | LeftOutRecord:
    with document.opened() as stream:
        raw = stream.read(NOTE_BYTES_MAX + 1)
    if len(raw) > NOTE_BYTES_MAX:
        return InvalidRecord(
            place=document.place, detail=f"the file has more than {NOTE_BYTES_MAX:,} bytes"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return InvalidRecord(
            place=document.place, detail=f"not UTF-8 (at byte {error.start + 1:,})"
        )
    front = _FRONT.match(text)
    fields = _fields(front[1]) if front else {}
    body = text[front.end() :] if front else text
    if not body.strip():
        return LeftOutRecord(place=document.place, reason="no text")
    heading = next(filter(None, map(_HEADING.fullmatch, body.splitlines()[:20])), None)
    named = fields.get("title") or (heading[1] if heading else "")
    title = readable_topic(named) or PurePosixPath(document.base).stem
    return Note(fields=fields, body=body, title=title)


def _fields(front: str) -> dict[str, str]:
    """Return the fields of front matter with a value on their line; nested ones are not read."""
    fields = {}
    for line in front.splitlines():
        if simple := _FIELD.fullmatch(line):
            fields[simple[1]] = simple[2].strip().strip("\"'")
    return fields


def _time(note: Note, document: SourceDocument) -> tuple[datetime | None, InvalidRecord | None]:
    for key in ("created", "created_at", "date", "modified", "updated"):
        if note.fields.get(key) not in (None, "", "null"):
            return time_of(note.fields[key], f"{document.place}, {key}")
    return document.modified_at, None


def _turns(note: Note, document: SourceDocument, shape: str, text: str) -> Iterator[Record]:
    at, invalid = _time(note, document)
    if invalid:
        yield invalid
        return
    for line, part in _parts(text):
        yield turn_record(
            f"{document.place}, line {line} of the text",
            query="",
            response=part,
            id=digest(shape, document.name, part),
            session_id=readable_id(document.name) or "default",
            topic=note.title,
            occurred_at=at,
        )


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of a note, or of its sections if it is long."""
    if len(text) <= PART_CHARACTERS:
        yield 1, text.strip()
        return
    start, is_code = 1, False
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= bool(_CODE.match(line))
        if lines and not is_code and _HEADING.match(line):
            if section := "\n".join(lines).strip():
                yield start, section
            start, lines = number, []
        lines.append(line)
    if section := "\n".join(lines).strip():
        yield start, section
