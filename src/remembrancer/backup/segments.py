"""The format of an archive: segments with the pages that changed, each after the one before.

A segment is `NNNNNNNN.pages` (compressed) and `NNNNNNNN.json`, which is written last and makes it
count. A base segment has every page. docs/decisions/0036-archive.md gives the reasons.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from .manifest import CHUNK_BYTES, BackupDamaged

DIGEST_BYTES = 16
SETTINGS_PAGE = 0  # number of the record with the settings file
_RECORD = struct.Struct(">QI")  # number of the page, bytes
_RECORD_BYTES_MAX = 1 << 20


class ArchiveSegment(BaseModel):
    """The state of the store at `at`, after the pages of this segment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seq: int
    at: datetime
    is_base: bool
    page_bytes: int
    page_count: int
    pages: int  # in this segment
    sha256: str  # of the file with the pages
    state: str  # SHA-256 of the digests of all pages, in order
    previous: str | None  # SHA-256 of the description of the segment before; None for the first
    added_files: list[str]  # contents that the rows name and that the segment before does not have
    missing_files: list[str]  # contents that were erased, or lost, before they could be copied


def pages_path(folder: Path, seq: int) -> Path:
    """Return the path of the pages of a segment."""
    return folder / f"{seq:08}.pages"


def segment_path(folder: Path, seq: int) -> Path:
    """Return the path of the description of a segment."""
    return folder / f"{seq:08}.json"


def segments_of(folder: Path) -> list[ArchiveSegment]:
    """Return the segments of an archive, oldest first. Raises BackupDamaged."""
    paths = sorted(folder.glob("[0-9]*.json"))
    try:
        segments = [ArchiveSegment.model_validate_json(path.read_bytes()) for path in paths]
    except (OSError, ValidationError) as error:
        raise BackupDamaged(f"{folder}: a segment cannot be read: {error}") from error
    for path, segment in zip(paths, segments, strict=True):
        if path != segment_path(folder, segment.seq):
            raise BackupDamaged(f"{path} describes segment {segment.seq}.")
    return segments


def page_digest(page: bytes) -> bytes:
    """Return the digest by which pages are compared."""
    return hashlib.blake2b(page, digest_size=DIGEST_BYTES).digest()


def state_of(digests: bytearray) -> str:
    """Return the digest of all pages."""
    return hashlib.sha256(digests).hexdigest()


def file_pages(path: Path, page_bytes: int) -> Iterator[bytes]:
    """Yield the pages of a database file."""
    with path.open("rb", buffering=CHUNK_BYTES) as file:
        while page := file.read(page_bytes):
            yield page


class PagesWriter:
    """Writes the records of a segment to a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._compress = zlib.compressobj(1)
        self._digest = hashlib.sha256()
        self.count = 0

    def add(self, number: int, content: bytes) -> None:
        """Write one record."""
        self.count += number != SETTINGS_PAGE
        self._put(self._compress.compress(_RECORD.pack(number, len(content)) + content))

    def close(self) -> str:
        """Finish the file; return its SHA-256."""
        self._put(self._compress.flush())
        self._file.close()
        return self._digest.hexdigest()

    def _put(self, content: bytes) -> None:
        self._digest.update(content)
        self._file.write(content)


def records_of(folder: Path, segment: ArchiveSegment) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each record of a segment. Raises BackupDamaged at the latest
    at its end, if the file is not the one described.
    """
    path = pages_path(folder, segment.seq)
    digest, expand, buffer = hashlib.sha256(), zlib.decompressobj(), bytearray()
    try:
        with path.open("rb") as file:
            while chunk := file.read(64 << 10):
                digest.update(chunk)
                buffer += expand.decompress(chunk)
                yield from _whole_records(path, buffer)
    except (OSError, zlib.error) as error:
        raise BackupDamaged(f"{path}: {error}") from error
    if buffer or not expand.eof or digest.hexdigest() != segment.sha256:
        raise BackupDamaged(f"{path} is not the file that its segment describes.")


def _whole_records(path: Path, buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Yield the complete records at the start of the buffer, and remove them from it."""
    start = 0
    while len(buffer) - start >= _RECORD.size:
        number, size = _RECORD.unpack_from(buffer, start)
        if size > _RECORD_BYTES_MAX:
            raise BackupDamaged(f"{path} has a record of {size:,} bytes.")
        end = start + _RECORD.size + size
        if len(buffer) < end:
            break
        yield number, bytes(buffer[start + _RECORD.size : end])
        start = end
    del buffer[:start]
