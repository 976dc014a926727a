"""Index entries: the words and vectors of texts, computed in batches before they are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..embedder import Embedder, quantize
from ..text.analysis import COUNT_MAX, SUSPECT, Passage, analyze

# Version of the format and the analysis. Entries of other versions are renewed in the background.
VERSION = 2
READABLE = (1, 2)  # versions that can be searched until then
HEAD = np.dtype(
    [
        ("side", "u1"),
        ("language", "u1"),
        ("flags", "u1"),
        ("spare", "u1"),
        ("speaker", "<u4"),
        ("length", "<u4"),
        ("terms", "<u4"),
    ]
)
_START = np.dtype([("version", "u1"), ("spare", "u1"), ("parts", "<u2"), ("terms", "<u4")])
Array = npt.NDArray[Any]
# Number within the space, session, occurred_ms, words, vectors.
PackedEntry: TypeAlias = tuple[int, int, int, bytes, bytes | None]

# Flag of an event that looks like a prompt injection (screening.py).
INSTRUCTION_LIKE = "instruction_like"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventText:
    """The text of an event: two sides, such as a question and its answer, and its time.

    `occurred_ms` is in ms since 1970, UTC.
    """

    query: str
    response: str
    topic: str | None
    occurred_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """The searchable form of an event, computed before the transaction because models are slow."""

    words: bytes
    vectors: bytes | None
    by: str  # the analysis and embedder that made it: see analysis_id
    flags: tuple[str, ...] = ()  # of the event


def index_entries(embedder: Embedder, turns: Sequence[EventText]) -> list[IndexEntry]:
    """Return the index entries of turns, embedded in one batch. Raises what the embedder raises."""
    passages = [
        analyze(query=t.query, response=t.response, topic=t.topic, occurred_ms=t.occurred_ms)
        for t in turns
    ]
    by = analysis_id(embedder)
    if not embedder.dimensions:
        return [
            IndexEntry(words=pack(parts), vectors=None, by=by, flags=_flags(parts))
            for parts in passages
        ]
    vectors = quantize(embedder.encode([part.text for parts in passages for part in parts]))
    entries, start = [], 0
    for parts in passages:
        end = start + len(parts)
        entries.append(
            IndexEntry(
                words=pack(parts), vectors=vectors[start:end].tobytes(), by=by, flags=_flags(parts)
            )
        )
        start = end
    return entries


def _flags(parts: Sequence[Passage]) -> tuple[str, ...]:
    return (INSTRUCTION_LIKE,) if any(part.flags & SUSPECT for part in parts) else ()


def unpack_repaired(
    rows: Sequence[PackedEntry], dimensions: int, text_of: Callable[[int], EventText]
) -> EntryBatch:
    """Convert rows to arrays like `unpack`, analyzing damaged or outdated words again.

    `said` returns the text of an event by its number.
    """
    try:
        return unpack(rows, dimensions)
    except EntryDamaged:
        return unpack([_repaired(row, dimensions, text_of) for row in rows], dimensions)


def _repaired(
    row: PackedEntry, dimensions: int, text_of: Callable[[int], EventText]
) -> PackedEntry:
    try:
        unpack([row], dimensions)
    except EntryDamaged:
        text = text_of(row[0])
        words = pack(
            analyze(
                query=text.query,
                response=text.response,
                topic=text.topic,
                occurred_ms=text.occurred_ms,
            )
        )
        return (*row[:3], words, row[4])
    return row


def analysis_id(embedder: Embedder) -> str:
    """Identify the analysis and embedder that make entries; a change makes them stale."""
    return f"{embedder.name} words/{VERSION}"


class EntryDamaged(ValueError):
    """The bytes of a row cannot be read; its words must be rebuilt from its text."""


def pack(parts: Sequence[Passage]) -> bytes:
    """Serialize the parts of one event."""
    heads = np.zeros(len(parts), HEAD)
    for head, part in zip(heads, parts, strict=True):
        head["side"], head["language"], head["flags"] = part.side, part.language, part.flags
        head["speaker"], head["length"], head["terms"] = part.speaker, part.length, len(part.terms)
    terms = np.array([term for part in parts for term in part.terms], "<u4")
    counts = np.array(
        [min(count, COUNT_MAX) for part in parts for count in part.terms.values()], "u1"
    )
    start = np.array([(VERSION, 0, len(parts), len(terms))], _START)
    return start.tobytes() + heads.tobytes() + terms.tobytes() + counts.tobytes()


@dataclass(frozen=True, slots=True)
class EntryBatch:
    """Events as arrays, in the order of their numbers; P parts, T postings."""

    event: Array  # (P,) i8: number of the event within its space
    session: Array  # (P,) i8
    occurred_ms: Array  # (P,) i8
    head: Array  # (P,) HEAD
    vectors: Array  # (P, dimensions) i1; a row of zeros where there is none
    term: Array  # (T,) u4
    part: Array  # (T,) i8: place of the part within this batch
    count: Array  # (T,) u1

    def __len__(self) -> int:
        return len(self.event)


def unpack(rows: Sequence[PackedEntry], dimensions: int) -> EntryBatch:
    """Convert rows (event number, session, occurred_ms, words, vectors or None) to arrays.

    Raises EntryDamaged.
    """
    events, sessions, times, words, blobs = zip(*rows, strict=True) if rows else ((),) * 5
    parts, postings = _sizes(words)
    firsts = _START.itemsize + HEAD.itemsize * parts
    lasts = firsts + 4 * postings
    bounds = list(zip(words, firsts.tolist(), lasts.tolist(), strict=True))
    head = np.frombuffer(b"".join([one[_START.itemsize : first] for one, first, _ in bounds]), HEAD)
    term = np.frombuffer(b"".join([one[first:last] for one, first, last in bounds]), "<u4")
    count = np.frombuffer(b"".join([one[last:] for one, _, last in bounds]), "u1")
    ends = np.r_[0, np.cumsum(head["terms"], dtype="i8")]
    if (ends[np.cumsum(parts)] != np.cumsum(postings)).any():
        raise EntryDamaged("the term counts of an event's parts do not match its terms")
    sizes = (parts * dimensions).tolist()
    vectors = [
        one if one is not None and len(one) == size else bytes(size)
        for one, size in zip(blobs, sizes, strict=True)
    ]
    return EntryBatch(
        event=np.repeat(np.array(events, "i8"), parts),
        session=np.repeat(np.array(sessions, "i8"), parts),
        occurred_ms=np.repeat(np.array(times, "i8"), parts),
        head=head,
        vectors=np.frombuffer(b"".join(vectors), "i1").reshape(len(head), dimensions),
        term=term,
        part=np.repeat(np.arange(len(head)), head["terms"]),
        count=count,
    )


def _sizes(words: Sequence[bytes]) -> tuple[Array, Array]:
    """Return the numbers of parts and of terms in each row. Raises EntryDamaged."""
    lengths = np.array([len(one) for one in words], "i8")
    if (lengths < _START.itemsize).any():
        raise EntryDamaged(f"{lengths.min()} bytes are too short for a header of {_START.itemsize}")
    starts = np.frombuffer(b"".join([one[: _START.itemsize] for one in words]), _START)
    parts, postings = starts["parts"].astype("i8"), starts["terms"].astype("i8")
    unknown = ~np.isin(starts["version"], READABLE)
    if unknown.any():
        raise EntryDamaged(f"words of version {starts['version'][unknown][0]}, not {VERSION}")
    wrong = (parts == 0) | (lengths != _START.itemsize + HEAD.itemsize * parts + 5 * postings)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise EntryDamaged(f"{lengths[at]} bytes for {parts[at]} parts and {postings[at]} terms")
    return parts, postings
