"""Parts of events as bytes in a row, and rows of bytes as arrays.

One event: version, number of parts (two bytes), a head for each part, then all terms (4 bytes each), then how often
each occurs (1 byte each). Little-endian everywhere, so that a data folder can move between machines.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .analysis import COUNT_MAX, Part

VERSION = 1  # of the bytes and of the analysis behind them; another one makes the words be built anew
HEAD = np.dtype(
    [("side", "u1"), ("language", "u1"), ("flags", "u1"), ("spare", "u1"), ("speaker", "<u4"), ("length", "<u4"), ("terms", "<u4")]
)
_START = struct.Struct("<BBH")
Array = npt.NDArray[Any]


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
    return _START.pack(VERSION, 0, len(parts)) + heads.tobytes() + terms.tobytes() + counts.tobytes()


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


def unpack(rows: Sequence[tuple[int, int, int, bytes, bytes | None]], dimensions: int) -> Batch:
    """Rows (event number, session, occurred_ms, words, vectors or None) as arrays. Raises WordsDamaged."""
    heads, terms, counts, vectors, parts_of = [], [], [], [], []
    for _, _, _, words, coded in rows:
        head, term, count = _unpack_one(words)
        heads.append(head)
        terms.append(term)
        counts.append(count)
        parts_of.append(len(head))
        if coded is not None and len(coded) == len(head) * dimensions:
            vectors.append(np.frombuffer(coded, "i1").reshape(len(head), dimensions))
        else:
            vectors.append(np.zeros((len(head), dimensions), "i1"))
    numbers = np.array([row[:3] for row in rows], "i8").reshape(len(rows), 3)
    repeated = np.repeat(numbers, parts_of, axis=0)
    head = np.concatenate(heads) if heads else np.zeros(0, HEAD)
    return Batch(
        event=repeated[:, 0],
        session=repeated[:, 1],
        occurred_ms=repeated[:, 2],
        head=head,
        vectors=np.concatenate(vectors) if vectors else np.zeros((0, dimensions), "i1"),
        term=np.concatenate(terms) if terms else np.zeros(0, "u4"),
        part=np.repeat(np.arange(len(head)), head["terms"]),
        count=np.concatenate(counts) if counts else np.zeros(0, "u1"),
    )


def _unpack_one(words: bytes) -> tuple[Array, Array, Array]:
    try:
        version, _, parts = _START.unpack_from(words)
        if version != VERSION:
            raise WordsDamaged(f"words of version {version}, not {VERSION}")
        heads = np.frombuffer(words, HEAD, parts, _START.size)
        total = int(heads["terms"].sum())
        at = _START.size + heads.nbytes
        return heads, np.frombuffer(words, "<u4", total, at), np.frombuffer(words, "u1", total, at + 4 * total)
    except (struct.error, ValueError) as error:
        raise WordsDamaged(str(error)) from error


def quantised(vectors: npt.NDArray[np.float32]) -> Array:
    """Unit vectors as int8, each stretched to the full range: direction is kept within about 0.002 of cosine."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    return np.rint(vectors * (127 / np.where(largest > 0, largest, 1))).astype("i1")
