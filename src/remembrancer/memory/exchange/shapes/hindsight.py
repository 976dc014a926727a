"""Hindsight: the archive of a bank or of documents, and lists of memories.

The shape was read from vectorize-io/hindsight,
hindsight-api-slim/hindsight_api/engine/transfer/schema.py and export.py (archive: manifest.json,
documents/*.json, observations.json) and hindsight_api/api/http.py (ListMemoryUnitsResponse).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .documents import Sample, SourceDocument, entries, whole_objects
from .records import (
    InvalidRecord,
    Record,
    ShapeFact,
    ShapeTurn,
    digest,
    objects,
    readable_id,
    statement,
    text_of,
    time_of,
)


def matches(sample: Sample) -> bool:
    """Return True for a manifest, a document of an archive, observations, or listed memories."""
    return any(
        "source_bank_id" in item
        or _is_document(item)
        or _is_observation(item)
        or any(_is_unit(one) for one in objects(item.get("items")))
        or _is_unit(item)
        for item in sample.items
    )


def _is_document(item: dict[str, Any]) -> bool:
    parts = (item.get("chunks"), item.get("facts"))
    return "original_text" in item and any(isinstance(part, list) for part in parts)


def _is_observation(item: dict[str, Any]) -> bool:
    return isinstance(item.get("text"), str) and "proof_count" in item


def _is_unit(item: dict[str, Any]) -> bool:
    return isinstance(item.get("text"), str) and (
        {"context", "type", "date"} <= item.keys() or {"context", "fact_type"} <= item.keys()
    )


def bank_of(document: SourceDocument) -> str | None:
    """Return the bank that a manifest names, as a user_id; None for another document."""
    for item in document.sample().items:
        if "source_bank_id" in item:
            return readable_id(str(item["source_bank_id"]))
    return None


def read(document: SourceDocument, bank: str | None = None) -> Iterator[Record]:
    """Yield facts and observations as facts, and chunks of documents as turns.

    `bank` is the user_id of all. A fact holds from the time it happened (`occurred_start`), else
    from the time it was mentioned.
    """
    sample = document.sample()
    if any("source_bank_id" in item for item in sample.items):
        return
    if any(map(_is_document, sample.items)):
        for entry in whole_objects(document):
            if isinstance(entry, InvalidRecord):
                yield entry
            else:
                yield from _document(entry.value, entry.place, bank)
        return
    for entry in entries(document):
        if isinstance(entry, InvalidRecord):
            yield entry
        elif entry.key in (None, "items"):
            yield _fact(entry.value, entry.place, bank, "hindsight")


def _document(document: dict[str, Any], place: str, bank: str | None) -> Iterator[Record]:
    key = str(document.get("id"))
    at, invalid = time_of(document.get("created_at"), place)
    if invalid:
        yield invalid
        return
    texts = [text_of(chunk, "chunk_text") for chunk in objects(document.get("chunks"))]
    texts = texts or [text_of(document, "original_text")]
    for number, text in enumerate(texts, 1):
        if text:
            yield ShapeTurn(
                place=f"{place}, chunk {number}",
                query="",
                response=text,
                origin=digest("hindsight", bank or "", key, str(number), text),
                session_id=readable_id(key) or "default",
                user_id=bank,
                occurred_at=at,
            )
    for number, fact in enumerate(objects(document.get("facts")), 1):
        yield _fact(fact, f"{place}, fact {number}", bank, key)


def _fact(fact: dict[str, Any], place: str, bank: str | None, session: str) -> Record:
    text = text_of(fact, "text")
    if not text:
        return InvalidRecord(place=place, detail="`text` is not a text")
    when = None
    for key in ("occurred_start", "mentioned_at", "event_date", "date", "created_at"):
        when, invalid = time_of(fact.get(key), place)
        if invalid:
            return invalid
        if when:
            break
    return statement(
        ShapeFact(
            place=place,
            text=text,
            origin=digest("hindsight", bank or "", session, text),
            user_id=bank,
            valid_from=when,
        ),
        session_id=session,
    )
