"""Read the records of a JSON document, whatever its layout: lines, a list, or an object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .json_stream import ELEMENT_CHARACTERS_MAX, elements, json_lines, parse
from .records import ImportRefused, InvalidRecord
from .sources import SourceDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An object of a document. `key` is the member of the top object whose list it is in."""

    place: str
    value: dict[str, Any]
    key: str | None = None


def entries(document: SourceDocument) -> Iterator[Entry | InvalidRecord]:
    """Yield objects: lines, elements of the list, or elements of the lists in the top object.

    A member of the top object that is no list is yielded once, as its key with the object
    {"value": it}. Raises ImportRefused for JSON that cannot be read on.
    """
    if document.sample().layout == "lines":
        yield from _lines(document)
        return
    with document.opened() as stream:
        for key, index, value in elements(stream, document.place):
            where = f"{document.place}, {key or 'record'} {0 if index is None else index + 1}"
            if key is not None and index is None:
                if value != []:
                    yield Entry(place=f"{document.place}, {key}", value={"value": value}, key=key)
            elif isinstance(value, dict):
                yield Entry(place=where, value=value, key=key)
            else:
                yield InvalidRecord(place=where, detail="expected an object")


def whole_objects(document: SourceDocument) -> Iterator[Entry | InvalidRecord]:
    """Yield objects: lines, elements of the list, or the top object as a whole.

    Raises ImportRefused for JSON that cannot be read on, or for a top object that is too large.
    """
    if document.sample().layout != "object":
        yield from entries(document)
        return
    with document.opened() as stream:
        raw = stream.read(ELEMENT_CHARACTERS_MAX + 1)
    if len(raw) > ELEMENT_CHARACTERS_MAX:
        raise ImportRefused(
            f"{document.place}: one object of more than {ELEMENT_CHARACTERS_MAX:,} bytes"
        )
    try:
        value = parse(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ImportRefused(f"{document.place}: not UTF-8 (at byte {error.start + 1:,})") from error
    except ValueError as error:
        raise ImportRefused(f"{document.place}: {error}") from error
    if not isinstance(value, dict):
        raise ImportRefused(f"{document.place}: expected an object")
    yield Entry(place=document.place, value=value)


def conversations(
    document: SourceDocument, field: str, kind: type, problem: str
) -> Iterator[Entry | InvalidRecord]:
    """Yield the conversations of a data export, which have this field of this kind.

    `problem` is said of objects without it. Raises ImportRefused like `whole_objects`.
    """
    for entry in whole_objects(document):
        if isinstance(entry, InvalidRecord):
            yield entry
            continue
        place = entry.place.replace(", record ", ", conversation ")
        if isinstance(entry.value.get(field), kind):
            yield Entry(place=place, value=entry.value, key=entry.key)
        else:
            yield InvalidRecord(place=place, detail=problem)


def _lines(document: SourceDocument) -> Iterator[Entry | InvalidRecord]:
    with document.opened() as stream:
        for line in json_lines(stream, document.place):
            if isinstance(line, InvalidRecord):
                yield line
            else:
                yield Entry(place=line[0], value=line[1])
