"""Archives: backups of every moment, as segments of changed pages."""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from ..files.blobs import open_blobs
from ..settings import SettingInvalid, Settings, settings_file
from ..store.durable import flush_path, private, private_folder
from ..store.locations import engine_of, hold, schema_at
from ..store.sqlite.store import ChangeWatch, copy_file, reading
from ..store.transfer.copy import CopyRefused, Progress
from .backup import (
    BLOBS,
    LOCK,
    SETTINGS,
    STORE,
    BackupDamaged,
    BackupFiles,
    BackupManifest,
    blob_path,
    blobs_of,
    chunks_of,
    copy_content,
    file_digest,
    files_in,
    require_known,
    restore_backup,
    seal,
    write_file,
)

# --- The format of an archive: segments with the pages that changed, each after the one before
# A segment is `NNNNNNNN.pages` (compressed) and `NNNNNNNN.json`, which makes it count. Until then
# its pages are `NNNNNNNN.pages.part`: pages alone are those of a deleted description. A base has
# every page. docs/decisions/0036-archive.md gives the reasons.

DIGEST_BYTES = 16
SETTINGS_PAGE = 0  # number of the record with the settings file
_RECORD = struct.Struct(">QI")  # number of the page, bytes
_RECORD_BYTES_MAX = 1 << 20


class ArchiveSegment(BaseModel):
    """The state of the store at `at`, after the pages of this segment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seq: int = Field(ge=1)
    at: AwareDatetime
    is_base: bool
    page_bytes: int = Field(ge=512, le=65_536)
    page_count: int = Field(ge=0)
    pages: int = Field(ge=0)  # in this segment
    sha256: str  # of the file with the pages
    state: str  # SHA-256 of the digests of all pages, in order
    previous: str | None  # SHA-256 of the description of the segment before; None for the first
    added_files: list[str]  # contents that the rows name and that the segment before does not have
    missing_files: list[str]  # contents that were erased, or lost, before they could be copied


def pages_path(folder: Path, seq: int) -> Path:
    """Return the path of the pages of a segment."""
    return folder / f"{seq:08}.pages"


def part_path(folder: Path, seq: int) -> Path:
    """Return the path of the pages of a segment until just after it counts."""
    return folder / f"{seq:08}.pages.part"


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


class PagesWriter:
    """Writes the records of a segment to a file."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "xb", opener=private)  # noqa: SIM115  `close` closes it
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
    if not path.exists() and part_path(folder, segment.seq).exists():
        path = part_path(folder, segment.seq)
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


# --- Make a backup out of an archive, as of a point in time ----------------------------------


# Also what an archiver is just writing.
_KNOWN = re.compile(
    rf"[0-9]{{8,}}\.(?:json|pages|pages\.part)|{BLOBS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}(?:\.part)?|{LOCK}"
    r"|segment\.part|scratch\.sqlite3(?:-journal)?"
)


def is_archive(folder: Path) -> bool:
    """Return True if the folder is an archive."""
    return any(folder.glob("[0-9]*.json"))


def restore_point(
    settings: Settings, archive: Path, *, at: datetime | None, progress: Progress
) -> BackupManifest:
    """Restore an archive as of a moment (None: the newest), as `restore_backup` does."""
    folder = settings.data_folder.absolute()
    part = folder.with_name(f".{folder.name}.from-archive")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o700, parents=True)
    try:
        extract(archive, part, at=at)
        return restore_backup(settings, part, progress=progress)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def extract(archive: Path, target: Path, *, at: datetime | None) -> BackupManifest:
    """Write the store as it was at a moment (None: the newest) as a backup to the empty `target`.

    Raises BackupDamaged, also if the archive does not reach back so far.
    """
    unknown = {path for path in files_in(archive) if not _KNOWN.fullmatch(path)}
    require_known(archive, unknown)
    segments = segments_of(archive)
    _require_descriptions(archive, segments)
    chain = _chain(archive, segments, at)
    last = chain[-1]
    store = target / STORE
    _write_pages(archive, chain, target)
    digests = bytearray()
    for page in chunks_of(store, last.page_bytes):
        digests += page_digest(page)
    if len(digests) != last.page_count * DIGEST_BYTES or state_of(digests) != last.state:
        raise BackupDamaged(f"{archive}: the pages of segment {last.seq} are damaged.")
    files = _link_files(archive, store, target)
    if lost := set(files.missing) - set(last.missing_files):
        raise BackupDamaged(f"{archive} has lost files: {', '.join(sorted(lost)[:5])}.")
    return seal(target, files, engine="sqlite", created_at=last.at)


def _require_descriptions(archive: Path, segments: list[ArchiveSegment]) -> None:
    """Raise BackupDamaged if a description is missing between others, or its pages are alone."""
    seqs = [segment.seq for segment in segments]
    alone = {int(path.stem) for path in archive.glob("[0-9]*.pages")}.difference(seqs)
    if seqs != list(range(seqs[0], seqs[0] + len(seqs)) if seqs else []) or any(
        seq > min(seqs, default=0)
        for seq in alone  # a killed removal leaves older ones
    ):
        raise BackupDamaged(f"{archive}: a segment is missing.")


def _chain(
    archive: Path, segments: list[ArchiveSegment], at: datetime | None
) -> Sequence[ArchiveSegment]:
    """Return the segments from a base to the last one at or before a moment."""
    reached = [segment for segment in segments if at is None or segment.at <= at]
    bases = [place for place, segment in enumerate(reached) if segment.is_base]
    if not bases:
        first = f"{segments[0].at:%Y-%m-%dT%H:%M:%SZ}" if segments else "nowhere"
        raise BackupDamaged(f"{archive} reaches back to {first}.")
    chain = reached[bases[-1] :]
    for before, after in pairwise(chain):
        if after.previous != file_digest(segment_path(archive, before.seq)):
            raise BackupDamaged(f"{archive}: segment {before.seq} was changed.")
    return chain


def _write_pages(archive: Path, chain: Sequence[ArchiveSegment], target: Path) -> None:
    settings, page_count = None, 0
    with open(target / STORE, "xb", opener=private) as file:
        for segment in chain:
            settings, pages = None, 0
            if segment.page_count > page_count + segment.pages:
                raise BackupDamaged(f"{archive}: segment {segment.seq} has too few pages.")
            page_count = segment.page_count
            file.truncate(page_count * segment.page_bytes)
            for number, content in records_of(archive, segment):
                if number == SETTINGS_PAGE:
                    settings = content
                    continue
                if number > page_count or len(content) != segment.page_bytes:
                    raise BackupDamaged(f"{archive}: segment {segment.seq} has a damaged page.")
                pages += 1
                file.seek((number - 1) * segment.page_bytes)
                file.write(content)
            if pages != segment.pages:
                raise BackupDamaged(f"{archive}: segment {segment.seq} has lost pages.")
    if settings is not None:
        (target / SETTINGS).touch(0o600)
        (target / SETTINGS).write_bytes(settings)


def _link_files(archive: Path, store: Path, target: Path) -> BackupFiles:
    """Add the contents that the rows name: as links, or as copies on another disk."""
    count, size, missing = 0, 0, []
    with reading(store) as tx:
        for name, size_bytes in blobs_of(tx):
            source, path = blob_path(archive / BLOBS, name), blob_path(target / BLOBS, name)
            if not source.exists():
                missing.append(name)
                continue
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                path.hardlink_to(source)
            except OSError:
                shutil.copyfile(source, path)
            count, size = count + 1, size + size_bytes
    return BackupFiles(count=count, bytes=size, missing=missing)


# --- Archive a SQLite store continuously, so that it can be restored to a point in time ------

BASE_EVERY = timedelta(days=1)
REST = 9  # pause after a snapshot, in its durations: it takes at most a tenth of the time
_SCRATCH = "scratch.sqlite3"


class Archiver:
    """Writes segments to an archive; one at a time. A context manager."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        *,
        keep: timedelta,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open or create an archive.

        Raises SettingInvalid for PostgreSQL, CopyRefused without a store, DataFolderBusy,
        BackupDamaged.
        """
        if engine_of(settings.store_url) != "sqlite":
            raise SettingInvalid(
                "an archive is for SQLite. PostgreSQL archives its own log: see"
                " docs/guides/backup.md"
            )
        if not schema_at(settings.store_url):
            raise CopyRefused(f"there is no store at {settings.store_shown}")
        self._settings, self._folder, self._keep, self._now = settings, folder, keep, now
        self._store = Path(settings.store_url.partition(":")[2])
        private_folder(folder)
        self._lock = hold(folder)
        try:
            self._watch = ChangeWatch(self._store)
            self._segments = segments_of(folder)
            self._remove_unfinished()
            self._digests, self._files = self._last_state()
        except BaseException:
            self._lock.close()
            raise
        self._version: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()
        self._lock.close()

    def step(self) -> ArchiveSegment | None:
        """Add a segment if the store has changed, and prune; return the segment."""
        version = self._watch.version()
        segment = None
        if version != self._version or self._is_base_due():
            segment = self._add(is_base=self._is_base_due())
            self._version = version
        self._prune()
        return segment

    def _is_base_due(self) -> bool:
        """Return True if the next segment has to be a base: none is younger than a day.

        A store that no longer changes gets a last one, so that the pages before can be pruned.
        """
        if not self._segments:
            return True
        is_old = self._now() - self._last_base().at >= BASE_EVERY
        return is_old and (self._watch.version() != self._version or not self._segments[-1].is_base)

    def _last_base(self) -> ArchiveSegment:
        return next(segment for segment in reversed(self._segments) if segment.is_base)

    def _add(self, *, is_base: bool) -> ArchiveSegment | None:
        scratch = self._folder / _SCRATCH
        scratch.unlink(missing_ok=True)
        try:
            copy_file(self._store, scratch, flush=False)
            at = self._now()  # after the copy: nothing in it was written later
            if self._segments:
                at = max(at, self._segments[-1].at)  # a clock may be set back
            return self._compare(scratch, at, is_base=is_base)
        finally:
            scratch.unlink(missing_ok=True)

    def _compare(self, scratch: Path, at: datetime, *, is_base: bool) -> ArchiveSegment | None:
        """Write what differs from the last segment; None if nothing does."""
        last = self._segments[-1] if self._segments else None
        seq = last.seq + 1 if last else 1
        page_bytes = _page_bytes(scratch)
        before, digests = self._digests, bytearray()
        path = part_path(self._folder, seq)
        path.unlink(missing_ok=True)
        writer = PagesWriter(path)
        for number, page in enumerate(chunks_of(scratch, page_bytes), 1):
            digest = page_digest(page)
            place = len(digests)
            digests += digest
            if is_base or before[place : place + DIGEST_BYTES] != digest:
                writer.add(number, page)
        if not is_base and not writer.count and len(digests) == len(before):
            writer.close()
            path.unlink()
            return None
        source = settings_file(self._settings.data_folder)
        if source.is_file():
            writer.add(SETTINGS_PAGE, source.read_bytes())
        sha256 = writer.close()
        files, missing = self._copy_files(scratch)
        segment = ArchiveSegment(
            seq=seq,
            at=at,
            is_base=is_base,
            page_bytes=page_bytes,
            page_count=len(digests) // DIGEST_BYTES,
            pages=writer.count,
            sha256=sha256,
            state=state_of(digests),
            previous=file_digest(segment_path(self._folder, last.seq)) if last else None,
            added_files=sorted(files if is_base else files - self._files),
            missing_files=sorted(missing),
        )
        self._commit(segment, path)
        self._digests, self._files = digests, files
        return segment

    def _commit(self, segment: ArchiveSegment, pages: Path) -> None:
        """Make a segment count: its description gets its name when all else is on the disk."""
        part = self._folder / "segment.part"
        part.unlink(missing_ok=True)
        write_file(part, [segment.model_dump_json().encode() + b"\n"])
        for path in (pages, part):
            flush_path(path)
        part.rename(segment_path(self._folder, segment.seq))
        flush_path(self._folder)
        pages.rename(pages_path(self._folder, segment.seq))
        self._segments.append(segment)

    def _copy_files(self, scratch: Path) -> tuple[set[str], set[str]]:
        """Copy the contents that the rows name; return those present and those missing."""
        blobs, files, missing = open_blobs(self._settings), set[str](), set[str]()
        with reading(scratch) as tx:
            for name, size_bytes in blobs_of(tx):
                path = blob_path(self._folder / BLOBS, name)
                is_new = not path.exists()
                part = path.with_suffix(".part")
                part.unlink(missing_ok=True)
                if is_new and copy_content(blobs, name, size_bytes, part):
                    flush_path(part)
                    part.rename(path)
                    flush_path(path.parent)
                (files if path.exists() else missing).add(name)
        return files, missing

    def _prune(self) -> None:
        """Remove segments that no moment of the period to keep needs, with their files."""
        cutoff = self._now() - self._keep
        bases = [one.seq for one in self._segments if one.is_base and one.at <= cutoff]
        first = bases[-1] if bases else self._segments[0].seq
        old = [segment for segment in self._segments if segment.seq < first]
        if not old:
            return
        for segment in old:  # descriptions first: a killed run leaves no segment without pages
            segment_path(self._folder, segment.seq).unlink()
            pages_path(self._folder, segment.seq).unlink(missing_ok=True)
        self._segments = self._segments[len(old) :]
        needed = {name for segment in self._segments for name in segment.added_files}
        for path in (self._folder / BLOBS).glob("*/*"):
            if path.name not in needed:
                path.unlink()

    def _remove_unfinished(self) -> None:
        """Remove what a killed run has left."""
        present = {pages_path(self._folder, segment.seq) for segment in self._segments}
        for path in present:
            part = path.with_name(f"{path.name}.part")
            if part.exists() and not path.exists():
                part.rename(path)
        for path in self._folder.glob("*.pages*"):
            if path not in present:
                path.unlink()
        (self._folder / _SCRATCH).unlink(missing_ok=True)

    def _last_state(self) -> tuple[bytearray, set[str]]:
        """Return the digests of all pages and the names of the files after the last segment."""
        digests, files = bytearray(), set[str]()
        if not self._segments:
            return digests, files
        for segment in self._segments[self._segments.index(self._last_base()) :]:
            size = segment.page_count * DIGEST_BYTES
            digests = digests[:size].ljust(size, b"\0")
            for number, page in records_of(self._folder, segment):
                if number != SETTINGS_PAGE:
                    place = (number - 1) * DIGEST_BYTES
                    digests[place : place + DIGEST_BYTES] = page_digest(page)
            files |= set(segment.added_files)
        if state_of(digests) != self._segments[-1].state:
            raise BackupDamaged(f"{self._folder}: segment {self._segments[-1].seq} is damaged.")
        return digests, files


def _page_bytes(path: Path) -> int:
    """Return the size of a page of a database file: two bytes of its header, 1 means 65,536."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(18)[16:18], "big")
    return 65_536 if size == 1 else size
