"""Parts of events as bytes in a row, and rows of bytes as arrays.

One event: version, number of parts (2 bytes) and of terms (4 bytes), a head for each part, then all terms (4 bytes each),
then how often each occurs (1 byte each). Little-endian everywhere, so that a data folder can move between machines.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .analysis import COUNT_MAX, Part

VERSION = 2  # of the bytes and of the analysis behind them: words of another one are built anew, in the background
READABLE = (1, 2)  # versions whose bytes serve until then
HEAD = np.dtype(
    [("side", "u1"), ("language", "u1"), ("flags", "u1"), ("spare", "u1"), ("speaker", "<u4"), ("length", "<u4"), ("terms", "<u4")]
)
_START = struct.Struct("<BBHI")
Array = npt.NDArray[Any]
Coded: TypeAlias = tuple[int, int, int, bytes, bytes | None]  # number within the space, session, occurred_ms, words, vectors


class WordsDamaged(ValueError):
    """The bytes of a row are not what this version writes; the row's words must be built anew from its text."""


def pack(parts: Sequence[Part]) -> bytes:
    """The parts of one event as bytes."""
    heads = np.zeros(len(parts), HEAD)
    for head, part in zip(heads, parts, strict=True):
        head["side"], head["language"], head["flags"] = part.side, part.language, part.flags
        head["speaker"], head["length"], head["terms"] = part.speaker, part.length, len(part.terms)
    terms = np.array([term for part in parts for term in part.terms], "<u4")
    counts = np.array([min(count, COUNT_MAX) for part in parts for count in part.terms.values()], "u1")
    return _START.pack(VERSION, 0, len(parts), len(terms)) + heads.tobytes() + terms.tobytes() + counts.tobytes()


@dataclass(frozen=True, slots=True)
class Batch:
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


def unpack(rows: Sequence[Coded], dimensions: int) -> Batch:
    """Rows (event number, session, occurred_ms, words, vectors or None) as arrays. Raises WordsDamaged."""
    sizes = [_size(row[3]) for row in rows]
    heads, terms, counts, vectors = [], [], [], []
    for (_, _, _, words, coded), (parts, postings) in zip(rows, sizes, strict=True):
        first = _START.size + parts * HEAD.itemsize
        last = first + 4 * postings
        heads.append(words[_START.size : first])
        terms.append(words[first:last])
        counts.append(words[last:])
        vectors.append(coded if coded is not None and len(coded) == parts * dimensions else bytes(parts * dimensions))
    head = np.frombuffer(b"".join(heads), HEAD)
    term = np.frombuffer(b"".join(terms), "<u4")
    parts_of, postings_of = np.array(sizes, "i8").reshape(-1, 2).T
    firsts = np.r_[0, np.cumsum(head["terms"], dtype="i8")]
    if (firsts[np.cumsum(parts_of)] != np.cumsum(postings_of)).any():
        raise WordsDamaged("the heads of an event's parts do not add up to its terms")
    numbers = np.repeat(np.array([row[:3] for row in rows], "i8").reshape(len(rows), 3), parts_of, axis=0)
    return Batch(
        event=numbers[:, 0],
        session=numbers[:, 1],
        occurred_ms=numbers[:, 2],
        head=head,
        vectors=np.frombuffer(b"".join(vectors), "i1").reshape(len(head), dimensions),
        term=term,
        part=np.repeat(np.arange(len(head)), head["terms"]),
        count=np.frombuffer(b"".join(counts), "u1"),
    )


def _size(words: bytes) -> tuple[int, int]:
    """How many parts and terms the bytes of one event hold. Raises WordsDamaged."""
    try:
        version, _, parts, postings = _START.unpack_from(words)
    except struct.error as error:
        raise WordsDamaged(str(error)) from error
    if version not in READABLE:
        raise WordsDamaged(f"words of version {version}, not {VERSION}")
    if parts == 0 or len(words) != _START.size + parts * HEAD.itemsize + 5 * postings:
        raise WordsDamaged(f"{len(words)} bytes for {parts} parts and {postings} terms")
    return parts, postings


def quantised(vectors: npt.NDArray[np.float32]) -> Array:
    """Unit vectors as int8, each stretched to the full range: direction is kept within about 0.002 of cosine."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    return np.rint(vectors * (127 / np.where(largest > 0, largest, 1))).astype("i1")
