"""The container of an export: a ZIP file that is written and read as a stream.

Writing goes to a temporary file that takes its name when it is complete and flushed. Reading checks
the directory of the archive before anything else, and every member against the manifest.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from pydantic import BaseModel, ValidationError

from ...protocol.message import first_fault
from ...store.durable import flush_path, private
from .records import BLOBS, MANIFEST, MEMBERS, VERSION, Manifest, MemberEntry
from .shapes.documents import Source
from .shapes.records import ImportRefused
from .shapes.table import is_native_archive
from .shapes.zips import ZIP_ERRORS, open_zip

CHUNK_BYTES = 256 << 10
LINE_BYTES_MAX = 64 << 20
MANIFEST_BYTES_MAX = 1 << 20
_BLOB = re.compile(rf"{BLOBS}[0-9a-f]{{64}}")


class ExportExists(Exception):
    """The file exists. Name another one, or overwrite it with --force."""


class ArchiveWriter:
    """Writes the members of an export, one after the other. A context manager."""

    def __init__(self, file: IO[bytes], *, compressed: bool) -> None:
        self._zip = zipfile.ZipFile(file, "w", allowZip64=True)
        self._compression = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
        self.members: dict[str, MemberEntry] = {}
        self.blobs = 0
        self.bytes = 0  # uncompressed, of all members

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()  # after an error, too: else it writes to a closed file when collected

    def add_lines(self, name: str, records: Iterable[BaseModel]) -> int:
        """Write a member of JSON lines; return the number of records."""
        digest, size, count = hashlib.sha256(), 0, 0
        with self._opened(name, self._compression) as member:
            for record in records:
                line = record.model_dump_json().encode() + b"\n"
                digest.update(line)
                size, count = size + len(line), count + 1
                member.write(line)
        self.members[name] = MemberEntry(bytes=size, records=count, sha256=digest.hexdigest())
        self.bytes += size
        return count

    def add_blob(self, name: str, content: Iterable[bytes]) -> None:
        """Write the content of a created file under its SHA-256, as it is."""
        with self._opened(BLOBS + name, zipfile.ZIP_STORED) as member:
            for chunk in content:
                member.write(chunk)
        self.blobs += 1

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest. The directory of the archive follows at the end of the block."""
        with self._opened(MANIFEST, zipfile.ZIP_STORED) as member:
            member.write(manifest.model_dump_json(indent=1).encode() + b"\n")

    @contextmanager
    def _opened(self, name: str, compression: int) -> Iterator[IO[bytes]]:
        entry = zipfile.ZipInfo(name)  # of 1980: the time of the export is in the manifest
        entry.compress_type, entry.external_attr = compression, 0o600 << 16
        with self._zip.open(entry, "w", force_zip64=True) as member:
            yield member


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Yield a temporary file beside `path` that takes this name, durable, after the block.

    After an error nothing is left of it. With `force` it replaces an existing file. Raises
    ExportExists, OSError.
    """
    if not force and (path.exists() or path.is_symlink()):
        raise ExportExists(f"{path} exists: name another file, or overwrite it with --force")
    if not path.parent.is_dir():  # an error would name the temporary file
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "x+b", opener=private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if force:
            part.replace(path)
        else:
            _link(part, path)
        flush_path(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _link(part: Path, path: Path) -> None:
    try:
        path.hardlink_to(part)  # unlike a rename, it never replaces a file
    except FileExistsError as error:
        raise ExportExists(f"{path} exists: name another file") from error
    except OSError:  # a file system without hard links
        part.rename(path)


def is_export(path: Path) -> bool:
    """Return True if the file is an export of this service. Raises ImportRefused if none opens."""
    source = Source.at(path)
    with source.documents() as documents:
        return source.kind == "archive" and is_native_archive(documents)


class Archive:
    """An export opened for reading. Its directory and manifest are checked; see `lines`.

    A context manager. Raises ImportRefused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip = open_zip(path)
        try:
            self.blobs = self._check_directory()
            self.manifest = self._read_manifest()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def refused(self, problem: str) -> ImportRefused:
        """Return the error about this file."""
        return ImportRefused(f"{self.path}: {problem}")

    def lines(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a member with their numbers, from 1.

        At the end the size, the number of records and the SHA-256 are compared with the manifest.
        Raises ImportRefused.
        """
        entry = self.manifest.members[name]
        digest, size, number = hashlib.sha256(), 0, 0
        with self._member(name) as member:
            while line := member.readline(LINE_BYTES_MAX + 1):
                number, size = number + 1, size + len(line)
                digest.update(line)
                if len(line) > LINE_BYTES_MAX:
                    raise self.refused(
                        f"{name}, line {number}: longer than {LINE_BYTES_MAX:,} bytes"
                    )
                if not line.endswith(b"\n"):
                    raise self.refused(f"{name}, line {number}: the record is cut off")
                yield number, line
        if (size, number, digest.hexdigest()) != (entry.bytes, entry.records, entry.sha256):
            raise self.refused(
                f"{name}: {number:,} records in {size:,} bytes with SHA-256 "
                f"{digest.hexdigest()[:16]}…; the manifest says {entry.records:,} records in "
                f"{entry.bytes:,} bytes with {entry.sha256[:16]}…"
            )

    def blob(self, sha256: str) -> Iterator[bytes]:
        """Yield the content of a created file. Raises ImportRefused, also if it has another hash.

        The last chunk is yielded before the hash is compared.
        """
        name, digest = BLOBS + sha256, hashlib.sha256()
        with self._member(name) as member:
            while chunk := member.read(CHUNK_BYTES):
                digest.update(chunk)
                yield chunk
        if digest.hexdigest() != sha256:
            raise self.refused(f"{name}: the content has SHA-256 {digest.hexdigest()}")

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._zip.open(name) as member:
                yield member
        except (*ZIP_ERRORS, OSError) as error:
            raise self.refused(f"{name}: the member is damaged: {error}") from error

    def _check_directory(self) -> dict[str, int]:
        """Check the names of all members; return the sizes of the blobs."""
        names, blobs = set[str](), dict[str, int]()
        for entry in self._zip.infolist():
            name = entry.filename
            if name in names:
                raise self.refused(f"{name!r} is in the file twice")
            names.add(name)
            if name not in MEMBERS and name != MANIFEST and not _BLOB.fullmatch(name):
                raise self.refused(f"{name!r} is no member of an export")
            if name.startswith(BLOBS):
                blobs[name.removeprefix(BLOBS)] = entry.file_size
        if MANIFEST not in names:
            raise self.refused(f"{MANIFEST} is missing")
        return blobs

    def _read_manifest(self) -> Manifest:
        with self._member(MANIFEST) as member:
            text = member.read(MANIFEST_BYTES_MAX + 1)
        if len(text) > MANIFEST_BYTES_MAX:
            raise self.refused(f"{MANIFEST}: longer than {MANIFEST_BYTES_MAX:,} bytes")
        version = re.search(rb'"version":\s*(\d{1,9})', text)
        if version is not None and int(version[1]) > VERSION:
            raise self.refused(
                f"{MANIFEST}: version {int(version[1])} of the format is newer than {VERSION}; "
                "import it with a newer Remembrancer"
            )
        try:
            manifest = Manifest.model_validate_json(text)
        except ValidationError as error:
            raise self.refused(f"{MANIFEST}: {first_fault(error)}") from error
        present = {name for name in self._zip.namelist() if name in MEMBERS}
        if manifest.members.keys() != MEMBERS.keys():
            raise self.refused(f"{MANIFEST}: it must list {', '.join(MEMBERS)}")
        for name in MEMBERS:
            if name not in present:
                raise self.refused(f"{name} is missing")
        if manifest.blobs != len(self.blobs):
            raise self.refused(
                f"{BLOBS}: {len(self.blobs):,} members; the manifest says {manifest.blobs:,}"
            )
        return manifest
