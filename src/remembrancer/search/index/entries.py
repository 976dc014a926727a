"""What search derives from texts before they are kept:

their words and their vectors, made together in one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..embedder import Embedder, quantize
from ..text.analysis import COUNT_MAX, SUSPECT, Passage, analyze

# of the bytes and of the analysis behind them: words of another one are built anew, in the
# background
VERSION = 2
READABLE = (1, 2)  # versions whose bytes serve until then
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
# number within the space, session, occurred_ms, words, vectors
Coded: TypeAlias = tuple[int, int, int, bytes, bytes | None]

# a flag: it seems to give orders to its reader (screening.py)
INSTRUCTION_LIKE = "instruction_like"


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


class EntryDamaged(ValueError):
    """The bytes of a row are not what this version writes; the row's words must be built anew from
    its text.
    """


def pack(parts: Sequence[Passage]) -> bytes:
    """The parts of one event as bytes."""
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


def unpack(rows: Sequence[Coded], dimensions: int) -> EntryBatch:
    """Rows (event number, session, occurred_ms, words, vectors or None) as arrays.

    Raises WordsDamaged.
    """
    events, sessions, times, words, coded = zip(*rows, strict=True) if rows else ((),) * 5
    parts, postings = _sizes(words)
    firsts = _START.itemsize + HEAD.itemsize * parts
    lasts = firsts + 4 * postings
    bounds = list(zip(words, firsts.tolist(), lasts.tolist(), strict=True))
    head = np.frombuffer(b"".join([one[_START.itemsize : first] for one, first, _ in bounds]), HEAD)
    term = np.frombuffer(b"".join([one[first:last] for one, first, last in bounds]), "<u4")
    count = np.frombuffer(b"".join([one[last:] for one, _, last in bounds]), "u1")
    ends = np.r_[0, np.cumsum(head["terms"], dtype="i8")]
    if (ends[np.cumsum(parts)] != np.cumsum(postings)).any():
        raise EntryDamaged("the heads of an event's parts do not add up to its terms")
    sizes = (parts * dimensions).tolist()
    vectors = [
        one if one is not None and len(one) == size else bytes(size)
        for one, size in zip(coded, sizes, strict=True)
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
    """How many parts and terms the bytes of each event hold. Raises WordsDamaged."""
    lengths = np.array([len(one) for one in words], "i8")
    if (lengths < _START.itemsize).any():
        raise EntryDamaged(f"{lengths.min()} bytes, where {_START.itemsize} say what follows")
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
