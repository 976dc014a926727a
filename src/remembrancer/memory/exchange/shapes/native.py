"""Our own JSON lines of events, and the conversations of LoCoMo.

The shape of LoCoMo was read from snap-research/locomo, data/locomo10.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ....protocol.imports import ImportTurn
from ....protocol.message import Message
from ....protocol.text import Text
from .documents import Sample, SourceDocument, whole_objects
from .json_stream import raw_lines
from .records import (
    InvalidRecord,
    Record,
    ShapeTurn,
    describe,
    digest,
    readable_id,
    turn_record,
)

_DATE_FORMAT = "%I:%M %p on %d %B, %Y"  # 1:56 pm on 8 May, 2023


class LocomoTurn(Message):
    """One turn of a conversation in LoCoMo format."""

    speaker: Text
    text: Text
    blip_caption: Text | None = None

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}" + (
            f" [image: {self.blip_caption}]" if self.blip_caption else ""
        )


_TURNS = TypeAdapter(list[LocomoTurn])


def matches_events(sample: Sample) -> bool:
    """Return True for lines with query and response."""
    return sample.layout in ("lines", "object") and any(
        "query" in item and "response" in item for item in sample.items
    )


def matches_locomo(sample: Sample) -> bool:
    """Return True for objects with a `conversation`."""
    return any("conversation" in item for item in sample.items)


def read_events(document: SourceDocument) -> Iterator[Record]:
    """Yield one turn per line."""
    with document.opened() as stream:
        for number, raw in raw_lines(stream, document.place):
            place = f"{document.place}, line {number}"
            try:
                line = ImportTurn.model_validate_json(raw)
            except ValidationError as error:
                yield InvalidRecord(place=place, detail=describe(error))
                continue
            yield turn_record(line, place)


def read_locomo(document: SourceDocument, *, is_alone: bool) -> Iterator[Record]:
    """Yield the turns of conversations.

    Every two consecutive messages of a session are one turn; each text begins with the speaker's
    name. With `is_alone` each conversation has a space of its own. Otherwise all share one space,
    and session ids are prefixed with the name of the conversation.
    """
    for number, entry in enumerate(whole_objects(document), 1):
        if isinstance(entry, InvalidRecord):
            yield entry
        else:
            yield from _conversation(entry.value, document, number, is_alone=is_alone)


def _conversation(
    sample: dict[str, Any], document: SourceDocument, number: int, *, is_alone: bool
) -> Iterator[Record]:
    conversation, place = sample.get("conversation"), f"{document.place}, conversation {number}"
    name = str(sample.get("sample_id") or f"{Path(document.name).stem}-{number}")
    keys = (
        [key for key in conversation if re.fullmatch(r"session_\d{1,9}", key, re.ASCII)]
        if isinstance(conversation, dict)
        else []
    )
    if not isinstance(conversation, dict) or not keys:
        yield InvalidRecord(place=place, detail="it has no session_1, session_2, ...")
        return
    for key in sorted(keys, key=lambda key: int(key[8:])):
        try:
            date = str(conversation.get(f"{key}_date_time"))
            start = datetime.strptime(date, _DATE_FORMAT).replace(tzinfo=UTC)
            texts = [str(message) for message in _TURNS.validate_python(conversation[key])]
        except ValidationError as error:
            yield InvalidRecord(place=f"{place}, {key}", detail=describe(error))
            continue
        except ValueError as error:
            yield InvalidRecord(place=f"{place}, {key}_date_time", detail=str(error))
            continue
        for turn in range(0, len(texts), 2):
            query, response = texts[turn], texts[turn + 1] if turn + 1 < len(texts) else ""
            yield ShapeTurn(
                place=f"{place}, {key}, message {turn + 1}",
                query=query,
                response=response,
                origin=digest(name, key, str(turn), query, response),
                session_id=readable_id(key if is_alone else f"{name}/{key}") or "default",
                user_id=readable_id(name),
                occurred_at=start + timedelta(milliseconds=turn),
            )
