"""Archive a SQLite store continuously, so that it can be restored to a point in time."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from ..files.blobs import open_blobs
from ..settings import SettingInvalid, Settings, settings_file
from ..store.folder_lock import hold
from ..store.locations import engine_of, schema_at
from ..store.sqlite.snapshot import ChangeWatch, copy_file, reading
from ..store.transfer.copy import CopyRefused
from . import contents
from .manifest import BLOBS, BackupDamaged, file_digest
from .segments import (
    DIGEST_BYTES,
    SETTINGS_PAGE,
    ArchiveSegment,
    PagesWriter,
    file_pages,
    page_digest,
    pages_path,
    records_of,
    segment_path,
    segments_of,
    state_of,
)
from .verify import blob_path
from .write import copy_content, flush_path, write_file

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
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        self._watch.__exit__()
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
        seq = self._segments[-1].seq + 1 if self._segments else 1
        page_bytes = _page_bytes(scratch)
        before, digests = self._digests, bytearray()
        path = pages_path(self._folder, seq)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        writer = PagesWriter(path)
        for number, page in enumerate(file_pages(scratch, page_bytes), 1):
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
            previous=self._previous(),
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
        self._segments.append(segment)

    def _copy_files(self, scratch: Path) -> tuple[set[str], set[str]]:
        """Copy the contents that the rows name; return those present and those missing."""
        blobs, files, missing = open_blobs(self._settings), set[str](), set[str]()
        with reading(scratch) as tx:
            for name, size_bytes in contents.blobs_of(tx):
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

    def _previous(self) -> str | None:
        if not self._segments:
            return None
        return file_digest(segment_path(self._folder, self._segments[-1].seq))

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
        for path in self._folder.glob("*.pages"):
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
