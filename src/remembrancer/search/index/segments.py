"""Segments: indexes of ranges of events as files that never change, mapped into memory."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import mmap
import os
import re
import secrets
import struct
import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .space_index import COLUMNS, IndexRange, PostingRun

# --- A segment: the index of a range of events as one file that never changes, mapped into memory
# It begins with a fixed start, a header (JSON) and the arrays of an IndexRange. Everything is
# covered by checksums, which are compared before anything is used: a segment is derived from rows,
# so a wrong one is worth nothing.

Array = npt.NDArray[Any]

FORMAT = 2
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
    columns, run = content.columns, content.run
    arrays = {f"column {name}": np.asarray(columns[name], kind) for name, kind in COLUMNS.items()}
    arrays |= {name: np.asarray(getattr(run, name), kind) for name, kind in _RUN.items()}
    arrays["vectors"] = np.asarray(content.vectors, "i1")
    pieces, places, size = [], {}, 0
    for name, array in arrays.items():
        places[name] = [size, *array.shape]
        size += array.nbytes
        padding = -size % _ALIGNMENT
        pieces += [array.tobytes(), bytes(padding)]
        size += padding
    body = memoryview(b"".join(pieces))
    blocks = (body[at : at + _BLOCK_BYTES] for at in range(0, size, _BLOCK_BYTES))
    header = json.dumps(
        {
            "format": FORMAT,
            "byteorder": sys.byteorder,
            "origin": origin._asdict(),
            "arrays": places,
            "body": [size, _digest(blocks)],
            "languages": sorted(content.languages.items()),
            "speakers": sorted(content.speakers),
            "flags": content.flags,
            "sums": [content.events, content.words],
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

    The file must not be changed as long as its arrays are used; it may be removed or replaced. A
    link is not followed: erasing would leave what it points to. Raises SegmentDamaged, OSError.
    """
    with open(path, "rb", buffering=0, opener=_no_link) as file:
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


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


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

    events, words = header["sums"]
    return IndexRange(
        columns={name: array(f"column {name}") for name in COLUMNS},
        vectors=array("vectors"),
        run=PostingRun(array("terms"), array("starts"), array("parts"), array("counts")),
        languages=dict(header["languages"]),
        speakers=frozenset(header["speakers"]),
        flags=header["flags"],
        events=events,
        words=words,
    )


# --- The segments of all spaces of a store: files of a folder beside it, one folder for each space
# The name of a segment says which events it covers and the revision of the space that it belongs
# to, so an erasure renames the segments that it leaves as they are, and removes the others.

# Events of segments, each a multiple of the next: the latest events are in small ones, so that few
# are read from rows. Each event is written once in each size. A look-up passes every segment, which
# is why there is a size in between: a space of 10,000 events has 3 segments instead of 9.
_SIZES = (16_384, 4_096, 1_024)
_NAME = re.compile(r"(\d+)-(\d+)-(\d+)\.segment")
# Comparing checksums holds the interpreter's lock for a part of the time only.
_readers = ThreadPoolExecutor(2, thread_name_prefix="remembrancer-segments")
_log = logging.getLogger(__name__)
Opening = Callable[[], tuple[SegmentOrigin, IndexRange]]


class SegmentName(NamedTuple):
    """The events that a segment covers, `low` to `high` - 1, and the revision of their space."""

    low: int
    high: int
    revision: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.low}-{self.high}-{self.revision}.segment"


class SegmentFolder:
    """The folder of the segments of a store. Thread-safe; several processes may use it.

    What fails is logged: searches read rows instead. A change locks the folder of its space, so
    that no segment of an earlier revision appears after an erasure has removed its segments.
    """

    def __init__(self, folder: Path, *, sizes: Sequence[int] = _SIZES) -> None:
        """Take the events of segments, largest first; each size is a multiple of the next."""
        self._folder, self.sizes = folder, sizes
        self._lock = threading.Lock()
        self._due: set[int] = set()

    def note(self, space_id: int) -> None:
        """Record that segments of a space are to be written, or to be removed."""
        with self._lock:
            self._due.add(space_id)

    def take_due(self) -> list[int]:
        """Return the spaces recorded since the last call."""
        with self._lock:
            due, self._due = sorted(self._due), set()
        return due

    def spaces(self) -> list[int]:
        """Return the ids of the spaces that have a folder."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except OSError:
            return []
        return sorted(int(name) for name in names if name.isdecimal())

    def names(self, space_id: int, revision: int) -> list[SegmentName]:
        """Return the segments of a space at a revision."""
        return [one for one in self._all(space_id) if one.revision == revision]

    def ranges(self, events: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the segments of a space with so many events; the rest has none."""
        low = 0
        for size in self.sizes:
            while low + size <= events:
                yield low, low + size
                low += size

    def missing(self, space_id: int, revision: int, events: int) -> list[tuple[int, int]]:
        """Return the ranges of events of a space that should have a segment and have none."""
        present = {(one.low, one.high) for one in self.names(space_id, revision)}
        return [one for one in self.ranges(events) if one not in present]

    def open_ahead(
        self, space_id: int, names: Sequence[SegmentName]
    ) -> Mapping[SegmentName, Opening]:
        """Begin to open segments in threads; return what waits for each, as `open` takes it."""
        folder = self._of(space_id)
        return {name: _readers.submit(open_segment, folder / name.file).result for name in names}

    def open(
        self,
        space_id: int,
        name: SegmentName,
        is_current: Callable[[SegmentOrigin], bool],
        opening: Opening | None = None,
    ) -> IndexRange | None:
        """Return a segment, or None if it is gone; one that is wrong is removed.

        `is_current` says if a segment of this origin belongs to the rows; `opening` is that of
        `open_ahead`.
        """
        path = self._of(space_id) / name.file
        try:
            origin, content = (opening or partial(open_segment, path))()
            if origin[:3] == (space_id, name.low, name.high) and is_current(origin):
                return content
            reason = "it was made from other rows"
        except FileNotFoundError:
            return None
        except (SegmentDamaged, OSError) as error:
            reason = str(error)
        _log.warning("the segment %s is not used: %s", path, reason)
        with self._logged(space_id):
            path.unlink(missing_ok=True)
        return None

    def publish(
        self,
        name: SegmentName,
        origin: SegmentOrigin,
        content: IndexRange,
        is_current: Callable[[], bool],
    ) -> bool:
        """Write a segment; return False if that failed or the rows have changed meanwhile.

        `is_current` says if the space still has the revision of the segment.
        """
        with self._logged(origin.space_id):
            folder = self._of(origin.space_id)
            for path in (self._folder, folder):
                path.mkdir(mode=0o700, exist_ok=True)
            part = folder / f"{secrets.token_hex(8)}.part"
            try:
                write_segment(part, origin, content)
                with self._locked(origin.space_id):
                    if is_current():
                        part.rename(folder / name.file)
                        return True
            finally:
                part.unlink(missing_ok=True)
        return False

    def advance(self, space_id: int, numbers: Sequence[int], *, since: int, revision: int) -> None:
        """Remove the segments with erased events; the others belong to the new revision.

        `since` is the revision before. Call it once the erasure is durable.
        """
        if not self._of(space_id).exists():
            return
        erased = sorted(numbers)

        def is_affected(name: SegmentName) -> bool:
            has_erased = bisect_left(erased, name.low) < bisect_left(erased, name.high)
            return has_erased or name.revision < since

        self._remove(space_id, is_affected)
        with self._logged(space_id), self._locked(space_id):
            for one in self.names(space_id, since):
                path = self._of(space_id) / one.file
                with suppress(FileNotFoundError):  # a search removed it, because it is damaged
                    path.rename(path.with_name(one._replace(revision=revision).file))
        self.note(space_id)  # what was removed is written again, from what is left

    def drop(self, space_id: int) -> None:
        """Remove all segments of a space."""
        self._remove(space_id, lambda _name: True)

    def sweep(self, space_id: int, revision: int, events: int) -> None:
        """Remove what interrupted processes left: unfinished files, segments of other revisions.

        Segments that a larger one covers are removed as well.
        """
        wanted_names = {SegmentName(low, high, revision) for low, high in self.ranges(events)}
        present = wanted_names & set(self._all(space_id))

        def is_superfluous(name: SegmentName) -> bool:
            return name not in wanted_names and (
                name.revision != revision
                or name.high > events
                or any(one.low <= name.low and name.high <= one.high for one in present)
            )

        self._remove(space_id, is_superfluous)

    def _remove(self, space_id: int, is_superfluous: Callable[[SegmentName], bool]) -> None:
        if not self._of(space_id).exists():
            return
        with self._logged(space_id), self._locked(space_id):
            for path in list(self._of(space_id).iterdir()):
                name = _parsed(path)
                if name is None or is_superfluous(name):
                    path.unlink(missing_ok=True)

    def _of(self, space_id: int) -> Path:
        return self._folder / str(space_id)

    def _all(self, space_id: int) -> list[SegmentName]:
        try:
            names = [_parsed(path) for path in self._of(space_id).iterdir()]
        except OSError:
            return []
        return sorted(name for name in names if name is not None)

    @contextmanager
    def _locked(self, space_id: int) -> Iterator[None]:
        descriptor = os.open(self._of(space_id), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _logged(self, space_id: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _log.warning("segments of the index of space %d: %s", space_id, error)
            self.note(space_id)


def _parsed(path: Path) -> SegmentName | None:
    match = _NAME.fullmatch(path.name)
    return SegmentName(*map(int, match.groups())) if match else None
