"""A segment: the index of a range of events as one file that never changes, mapped into memory.

It begins with a fixed start, a header (JSON) and the arrays of an IndexRange. Everything is covered
by checksums, which are compared before anything is used: a segment is derived from rows, so a wrong
one is worth nothing.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .postings import PostingRun
from .space_index import COLUMNS, IndexRange

Array = npt.NDArray[Any]

FORMAT = 1
_START = struct.Struct("<8sI16s")  # magic, bytes of the header, digest of the header
_MAGIC = b"RMBRSEG\n"
_ALIGNMENT = 64
_HEADER_BYTES_MAX = 16 << 20
# Bytes read at once to compare checksums: they stay in the cache of the processor.
_BLOCK_BYTES = 1 << 17
_RUN = {"terms": "u4", "starts": "i8", "parts": "u4", "counts": "u1"}


class SegmentDamaged(ValueError):
    """A segment is torn, altered or not the expected one. It must be rebuilt from rows."""


class SegmentOrigin(NamedTuple):
    """The rows and the program that a segment was made from."""

    space_id: int
    low: int  # number of the first event of the range
    high: int  # number after its last event
    made_by: str  # analysis, embedder and layout of vectors
    last: int  # number of the last event that has a row
    digest: str  # of that row: see memory/spaces.py


def write_segment(path: Path, origin: SegmentOrigin, content: IndexRange) -> None:
    """Write a segment to a new file and flush it to the disk. Raises OSError."""
    arrays = {
        **{
            f"column {name}": np.asarray(content.columns[name], kind)
            for name, kind in COLUMNS.items()
        },
        **{name: np.asarray(getattr(content.run, name), kind) for name, kind in _RUN.items()},
        "vectors": np.asarray(content.vectors, "i1"),
    }
    pieces, places, size = [], {}, 0
    for name, array in arrays.items():
        places[name] = [size, *array.shape]
        size += array.nbytes
        padding = -size % _ALIGNMENT
        pieces += [array.tobytes(), bytes(padding)]
        size += padding
    body = b"".join(pieces)
    header = json.dumps(
        {
            "format": FORMAT,
            "byteorder": sys.byteorder,
            "origin": origin._asdict(),
            "arrays": places,
            "body": [size, _digest(_blocks_of(body))],
            "languages": sorted(content.languages.items()),
            "speakers": sorted(content.speakers),
            "flags": content.flags,
            "sums": [content.events, content.words, content.logs, content.squares],
        }
    ).encode()
    header += b" " * (-(_START.size + len(header)) % _ALIGNMENT)  # no byte is without a checksum
    start = _START.pack(_MAGIC, len(header), _header_digest(header))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(start + header)
        file.write(body)
        file.flush()
        os.fsync(descriptor)


def open_segment(path: Path) -> tuple[SegmentOrigin, IndexRange]:
    """Compare the checksums of a segment, and map it into memory.

    The file must not be changed as long as its arrays are used; it may be removed. Raises
    SegmentDamaged, OSError.
    """
    with path.open("rb", buffering=0) as file:
        header, at = _header(file)
        try:
            size, digest = header["body"]
            if os.fstat(file.fileno()).st_size != at + size:
                raise SegmentDamaged(f"{path}: not {at + size} bytes")
            # Read, not mapped: where the disk fails, reading raises OSError, while access to mapped
            # memory ends the process.
            if _digest(_blocks_in(file, at)) != digest:
                raise SegmentDamaged(f"{path}: wrong checksum")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return SegmentOrigin(**header["origin"]), _content(header, mapped, at)
        except (KeyError, TypeError, ValueError) as error:
            raise SegmentDamaged(f"{path}: {error}") from error


def _header_digest(header: bytes) -> bytes:
    return hashlib.blake2b(header, digest_size=16).digest()


def _header(file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """Return the header and the place of the arrays. Raises SegmentDamaged."""
    start = file.read(_START.size)
    if len(start) != _START.size:
        raise SegmentDamaged("too short for a header")
    magic, size, digest = _START.unpack(start)
    if magic != _MAGIC or size > _HEADER_BYTES_MAX:
        raise SegmentDamaged("not a segment")
    text = file.read(size)
    if len(text) != size or _header_digest(text) != digest:
        raise SegmentDamaged("wrong checksum of the header")
    header: dict[str, Any] = json.loads(text)
    if (header["format"], header["byteorder"]) != (FORMAT, sys.byteorder):
        raise SegmentDamaged("a segment of another version")
    return header, _START.size + size


def _blocks_of(body: bytes) -> Iterator[memoryview]:
    view = memoryview(body)
    for at in range(0, len(body), _BLOCK_BYTES):
        yield view[at : at + _BLOCK_BYTES]


def _blocks_in(file: IO[bytes], at: int) -> Iterator[memoryview]:
    """Yield the blocks of a file from a place on; each is valid until the next one."""
    file.seek(at)
    block = memoryview(bytearray(_BLOCK_BYTES))
    filled = 0
    while size := file.readinto(block[filled:]):  # type: ignore[attr-defined]
        filled += size
        if filled == _BLOCK_BYTES:
            yield block
            filled = 0
    if filled:
        yield block[:filled]


def _digest(blocks: Iterator[memoryview]) -> str:
    """Return a checksum of blocks: BLAKE2b of the sum of 64-bit words of each.

    A sum reads as fast as the memory. It shows every changed bit, page of zeros and misplaced page,
    which is what disks and crashes do; it is no protection against somebody who may write here.
    """
    digest = hashlib.blake2b(digest_size=16)
    for block in blocks:
        if len(block) % 8:
            raise SegmentDamaged("not a whole number of words")
        total = np.frombuffer(block, "u8").sum(dtype="u8")
        digest.update(total.tobytes())
    return digest.hexdigest()


def _content(header: Mapping[str, Any], mapped: mmap.mmap, at: int) -> IndexRange:
    kinds = {f"column {name}": kind for name, kind in COLUMNS.items()} | _RUN | {"vectors": "i1"}

    def array(name: str) -> Array:
        place, *shape = header["arrays"][name]
        count = int(np.prod(shape, dtype="i8"))
        return np.frombuffer(mapped, kinds[name], count, at + place).reshape(shape)

    events, words, logs, squares = header["sums"]
    return IndexRange(
        columns={name: array(f"column {name}") for name in COLUMNS},
        vectors=array("vectors"),
        run=PostingRun(array("terms"), array("starts"), array("parts"), array("counts")),
        languages=dict(header["languages"]),
        speakers=frozenset(header["speakers"]),
        flags=header["flags"],
        events=events,
        words=words,
        logs=logs,
        squares=squares,
    )
