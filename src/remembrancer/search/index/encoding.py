"""Parts of events as bytes in a row, and rows of bytes as arrays.

One event: version, number of parts (2 bytes) and of terms (4 bytes), a head for each part, then all
terms (4 bytes each), then how often each occurs (1 byte each). Little-endian everywhere, so that a
data folder can move between machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..text.analysis import COUNT_MAX, Passage

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
Coded: TypeAlias = tuple[
    int, int, int, bytes, bytes | None
]  # number within the space, session, occurred_ms, words, vectors


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


def quantize(vectors: npt.NDArray[np.float32]) -> Array:
    """Unit vectors as int8, each stretched to the full range:

    direction is kept within about 0.002 of cosine.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    return np.rint(vectors * (127 / np.where(largest > 0, largest, 1))).astype("i1")
