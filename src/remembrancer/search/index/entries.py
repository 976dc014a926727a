"""What search derives from texts before they are kept:

their words and their vectors, made together in one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..embedder import Embedder
from ..text.analysis import SUSPECT, Passage, analyze
from .encoding import VERSION, Coded, EntryBatch, EntryDamaged, pack, quantize, unpack

INSTRUCTION_LIKE = (
    "instruction_like"  # a flag: it seems to give orders to its reader (screening.py)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventText:
    """What is to be found again:

    two sides, such as a question and its answer, and the time they belong to (ms since 1970, UTC).
    """

    query: str
    response: str
    topic: str | None
    occurred_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """What search needs of it.

    Made before the transaction: the model is slow and the write lock is not ours to hold.
    """

    words: bytes
    vectors: bytes | None
    by: str  # what derived it: see derived_by
    flags: tuple[str, ...] = ()  # what was noticed in it


def index_entries(embedder: Embedder, turns: Sequence[EventText]) -> list[IndexEntry]:
    """Words and vectors of turns, embedded together. Raises what the embedder raises."""
    apart = [
        analyze(query=t.query, response=t.response, topic=t.topic, occurred_ms=t.occurred_ms)
        for t in turns
    ]
    by = analysis_id(embedder)
    if not embedder.dimensions:
        return [
            IndexEntry(words=pack(parts), vectors=None, by=by, flags=_flags(parts))
            for parts in apart
        ]
    vectors = quantize(embedder.encode([part.text for parts in apart for part in parts]))
    found, start = [], 0
    for parts in apart:
        end = start + len(parts)
        found.append(
            IndexEntry(
                words=pack(parts), vectors=vectors[start:end].tobytes(), by=by, flags=_flags(parts)
            )
        )
        start = end
    return found


def _flags(parts: Sequence[Passage]) -> tuple[str, ...]:
    return (INSTRUCTION_LIKE,) if any(part.flags & SUSPECT for part in parts) else ()


def unpack_repaired(
    rows: Sequence[Coded], dimensions: int, said: Callable[[int], EventText]
) -> EntryBatch:
    """Rows as arrays, as `unpack`; words that are damaged, or of another version, are made anew
    from what was `said` (by number).
    """
    try:
        return unpack(rows, dimensions)
    except EntryDamaged:
        return unpack([_mended(row, dimensions, said) for row in rows], dimensions)


def _mended(row: Coded, dimensions: int, said: Callable[[int], EventText]) -> Coded:
    try:
        unpack([row], dimensions)
    except EntryDamaged:
        told = said(row[0])  # the text is the truth
        words = pack(
            analyze(
                query=told.query,
                response=told.response,
                topic=told.topic,
                occurred_ms=told.occurred_ms,
            )
        )
        return (*row[:3], words, row[4])
    return row


def analysis_id(embedder: Embedder) -> str:
    """What words and vectors are made by: when it changes, they are made anew."""
    return f"{embedder.name} words/{VERSION}"
