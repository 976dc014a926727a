"""Memories of mem0: what `get_all` of the library and the platform's list of memories return.

The shape was read from mem0ai/mem0, mem0/memory/main.py (get_all) and docs/openapi.json
(/v1/memories/, /v3/memories/). Exports with a schema of one's own have no common shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .documents import Entry, Sample, SourceDocument, entries
from .records import (
    InvalidRecord,
    LeftOutRecord,
    Record,
    ShapeFact,
    digest,
    fitting_metadata,
    objects,
    readable_id,
    start_before,
    statement,
    text_of,
    time_of,
)

RELATION = "relation derived from memories"
METADATA = "metadata that is no text, number, boolean or list of texts, or too much"
_LISTS = (None, "results", "memories")
_TELLING = frozenset({"user_id", "agent_id", "app_id", "run_id", "created_at"})
_FIELDS = _TELLING | {
    "actor_id", "categories", "expiration_date", "hash", "immutable", "memory", "metadata",
    "replaced_by", "role", "score", "session_id", "updated_at",
}  # fmt: skip


def matches(sample: Sample) -> bool:
    """Return True for memories, alone or in `results`.

    A memory has a text `memory` and an `id`. Without ids, it says whose or of when it is, and each
    object has only fields of mem0: anything else may be data of another product.
    """
    items = [
        one
        for item in sample.items
        for one in (objects(item.get("results")) or objects(item.get("memories")) or [item])
    ]
    return any(_is_memory(one) for one in (*sample.items, *items)) or (
        bool(items) and all(_is_memory_without_id(one) for one in items)
    )


def _is_memory(item: dict[str, Any]) -> bool:
    return isinstance(item.get("memory"), str) and "id" in item


def _is_memory_without_id(item: dict[str, Any]) -> bool:
    return (
        isinstance(item.get("memory"), str)
        and item.keys() <= _FIELDS
        and not item.keys().isdisjoint(_TELLING)
    )


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield every memory as a fact.

    Its metadata, categories and the ids of agent, app and run are its metadata. It holds from its
    creation. One that was replaced holds until it was last updated, one with an
    expiration date until that date.
    """
    for entry in entries(document):
        if isinstance(entry, InvalidRecord):
            yield entry
        elif entry.key == "relations":
            yield LeftOutRecord(place=entry.place, reason=RELATION)
        elif entry.key in _LISTS and "value" not in entry.value:
            kept, left = _metadata(entry.value)
            yield _fact(entry, kept)
            for _ in left:
                yield LeftOutRecord(place=entry.place, reason=METADATA)


def _metadata(memory: dict[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the metadata of a memory with its categories and the ids that it belongs to."""
    own = memory.get("metadata")
    names = ("agent_id", "app_id", "run_id", "categories")
    found = {**(own if isinstance(own, dict) else {}), **{name: memory.get(name) for name in names}}
    return fitting_metadata({key: value for key, value in found.items() if value != []})


def _fact(entry: Entry, metadata: dict[str, Any] | None) -> Record:
    memory, place = entry.value, entry.place
    text = memory.get("memory")
    if not isinstance(text, str) or not text.strip():
        return InvalidRecord(place=place, detail="`memory` is not a text")
    created_at, invalid = time_of(memory.get("created_at"), place)
    updated_at, invalid_update = time_of(memory.get("updated_at"), place)
    ends_at, invalid_end = time_of(memory.get("expiration_date"), place)
    if bad := invalid or invalid_update or invalid_end:
        return bad
    if text_of(memory, "replaced_by"):
        ends_at = min(filter(None, (updated_at or created_at, ends_at)), default=None)
    user_id = text_of(memory, "user_id")
    run = text_of(memory, "run_id", "session_id")
    return statement(
        ShapeFact(
            place=place,
            text=text,
            origin=digest("mem0", str(memory.get("id")), text, str(ends_at)),
            user_id=readable_id(user_id) if user_id else None,
            valid_from=start_before(created_at, ends_at),
            valid_to=ends_at,
            metadata=metadata,
        ),
        session_id=run or "mem0",
    )
