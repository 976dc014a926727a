"""ZIP archives to import: opened only if their directory declares a bounded number and size.

Nothing is unpacked for that, and a reader of an entry unpacks at most the size that it declares.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO

from ....protocol.limits import ZIP_RATIO_MAX
from .records import ImportRefused, one_line

HEADERS = (b"PK\x03\x04", b"PK\x05\x06")  # the second: an empty archive
ENTRIES_MAX = 300_000  # the directory is read whole: about 1 KB of memory each
ENTRY_BYTES = 128  # of the directory, for each entry
# Unpacked bytes that need no ratio: small and repetitive archives. Deflate reaches 1,032 times the
# size of a file; real records 3 to 30.
RATIO_FREE_BYTES = 16 << 20
ZIP_ERRORS = (  # raised by zipfile for damaged and hostile files
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
    OverflowError,
)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack a chunk without a limit
_END = struct.Struct("<4s4H2LH")  # end of the central directory
_LOCATOR = struct.Struct("<4sLQL")  # of its 64-bit form
_END_64 = struct.Struct("<4sQ2H2L4Q")
_COMMENT_BYTES_MAX = (1 << 16) - 1


def is_within_ratio(size: int, unpacked: int) -> bool:
    """Return True if an import accepts a file of `size` bytes with that unpacked size."""
    return unpacked <= max(RATIO_FREE_BYTES, ZIP_RATIO_MAX * size)


def is_zip(path: Path) -> bool:
    """Return True if a file begins as a ZIP archive. Raises OSError."""
    with path.open("rb") as file:
        return file.read(4) in HEADERS


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open an archive after its directory was checked. Raises ImportRefused."""
    try:
        with path.open("rb") as file:
            size = _check_number(path, file)
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise ImportRefused(f"{path}: {error.strerror or error}") from error
    except ImportRefused:
        raise
    except (*ZIP_ERRORS, ValueError) as error:
        raise ImportRefused(f"{path}: the ZIP file is damaged: {one_line(error)}") from error
    problem = _problem(archive.infolist(), size)
    if problem:
        archive.close()
        raise ImportRefused(f"{path}: {problem}")
    return archive


def _problem(entries: list[zipfile.ZipInfo], size: int) -> str:
    """Return what is wrong with the entries of a file of `size` bytes, or an empty text."""
    for entry in entries:
        if entry.flag_bits & 1:
            return f"{one_line(entry.filename)} is encrypted"
        if entry.compress_type not in _METHODS:
            return f"{one_line(entry.filename)}: method {entry.compress_type} is not supported"
    if sum(entry.compress_size for entry in entries) > size:
        return "members overlap: their sizes exceed the size of the file"
    unpacked = sum(entry.file_size for entry in entries)
    if not is_within_ratio(size, unpacked):
        return (
            f"{size:,} bytes would unpack to {unpacked:,}; at most {ZIP_RATIO_MAX} times the size "
            "is accepted"
        )
    return ""


def _check_number(path: Path, file: IO[bytes]) -> int:
    """Refuse too many entries before the directory is read into memory; return the file's size."""
    size = file.seek(0, os.SEEK_END)
    tail = _read_at(file, max(0, size - _END.size - _COMMENT_BYTES_MAX), size)
    at = tail.rfind(HEADERS[1])
    if at < 0 or len(tail) - at < _END.size:
        raise ImportRefused(f"{path}: the ZIP file is not complete; its end is missing")
    end = _END.unpack_from(tail, at)
    entries, directory_bytes = end[4], end[5]
    start = size - len(tail) + at - _LOCATOR.size
    with suppress(struct.error, ValueError, OSError):
        locator = _LOCATOR.unpack(_read_at(file, start, start + _LOCATOR.size))
        if locator[0] == b"PK\x06\x07":
            end_64 = _END_64.unpack(_read_at(file, start - _END_64.size, start))
            entries, directory_bytes = end_64[7], end_64[8]
    if entries > ENTRIES_MAX or directory_bytes > ENTRIES_MAX * ENTRY_BYTES:
        raise ImportRefused(f"{path}: more than {ENTRIES_MAX:,} members")
    return size


def _read_at(file: IO[bytes], start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)
