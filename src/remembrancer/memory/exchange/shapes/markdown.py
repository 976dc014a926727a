"""Folders of Markdown notes: plain ones, and those of basic-memory.

The shape of basic-memory was read from basicmachines-co/basic-memory,
src/basic_memory/markdown/schemas.py, entity_parser.py and plugins.py: front matter, observations
`- [category] content #tag (context)` and relations `- type [[target]] (context)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from .documents import Sample, Shape, SourceDocument
from .records import (
    ImportRefused,
    InvalidRecord,
    LeftOutRecord,
    Reason,
    Record,
    digest,
    moment,
    readable_topic,
    statement,
    turn_record,
)

_FILES = r"\.(md|markdown)"
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
    """A Markdown file: the text below its front matter, and the line of the file it begins at."""

    name: str
    place: str
    title: str
    at: datetime | None
    body: str
    line: int


def matches_basic_memory(sample: Sample) -> bool:
    """Return True for front matter with a `permalink`."""
    front = _FRONT.match(sample.text)
    return front is not None and "permalink" in _fields(front[1])


def read_notes(document: SourceDocument) -> Iterator[Record]:
    """Yield a Markdown file as one turn, a long one as one turn per section."""
    return _read(document, lambda note: _turns(note, "markdown", note.body))


def read_basic_memory(document: SourceDocument) -> Iterator[Record]:
    """Yield observations and relations of a note as facts, and its prose as turns."""
    return _read(document, _statements)


def _read(document: SourceDocument, read: Callable[[Note], Iterator[Record]]) -> Iterator[Record]:
    try:
        note = _note(document)
    except ImportRefused:
        raise
    except ValueError as error:
        yield InvalidRecord(place=document.place, reason=str(error))
        return
    if note.body.strip():
        yield from read(note)
    else:
        yield LeftOutRecord(place=document.place, reason=Reason.EMPTY)


def _statements(note: Note) -> Iterator[Record]:
    prose: list[str] = []
    is_code = False
    for number, line in enumerate(note.body.splitlines(), note.line):
        is_code ^= bool(_CODE.match(line))
        text = None if is_code else _stated(line, note.title)
        if text is None:
            prose.append(line)
        else:
            yield statement(
                f"{note.place}, line {number}",
                text,
                session=note.name,
                topic=note.title,
                id=digest("basic-memory", note.name, text),
                valid_from=note.at,
            )
    if any(line.strip() and not _HEADING.match(line) for line in prose):
        yield from _turns(note, "basic-memory", "\n".join(prose))


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


def _note(document: SourceDocument) -> Note:
    """Return the note in a file. Raises ValueError for another file, TimeUnknown."""
    with document.opened() as stream:
        raw = stream.read(NOTE_BYTES_MAX + 1)
    if len(raw) > NOTE_BYTES_MAX:
        raise ValueError(f"the file has more than {NOTE_BYTES_MAX:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (at byte {error.start + 1:,})") from error
    front = _FRONT.match(text)
    fields = _fields(front[1]) if front else {}
    start = front.end() if front else 0
    body = text[start:]
    heading = next(filter(None, map(_HEADING.fullmatch, body.splitlines()[:20])), None)
    named = fields.get("title") or (heading[1] if heading else "")
    return Note(
        name=document.name,
        place=document.place,
        title=readable_topic(named) or PurePosixPath(document.base).stem,
        at=_time(fields) or document.modified_at,
        body=body,
        line=text.count("\n", 0, start) + 1,
    )


def _fields(front: str) -> dict[str, str]:
    """Return the fields of front matter with a value on their line; nested ones are not read."""
    fields = {}
    for line in front.splitlines():
        if simple := _FIELD.fullmatch(line):
            fields[simple[1]] = simple[2].strip().strip("\"'")
    return fields


def _time(fields: dict[str, str]) -> datetime | None:
    for key in ("created", "created_at", "date", "modified", "updated"):
        if fields.get(key) not in (None, "", "null"):
            return moment(fields[key])
    return None


def _turns(note: Note, shape: str, text: str) -> Iterator[Record]:
    for line, part in _parts(text):
        yield turn_record(
            f"{note.place}, line {note.line + line - 1}",
            query="",
            response=part,
            id=digest(shape, note.name, part),
            session=note.name,
            topic=note.title,
            occurred_at=note.at,
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


BASIC_MEMORY = Shape(
    "basic-memory",
    "basic-memory: Markdown notes with observations and relations",
    _FILES,
    matches_basic_memory,
    read_basic_memory,
)
MARKDOWN = Shape(
    "markdown",
    "Markdown: a note, or a folder of notes",
    _FILES,
    lambda sample: sample.layout in ("text", "list", "object", "lines"),
    read_notes,
)
