"""Make a backup out of an archive, as of a point in time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from ..settings import Settings
from ..store.sqlite.snapshot import reading
from ..store.transfer.copy import Progress
from . import contents
from .manifest import (
    BLOBS,
    SETTINGS,
    STORE,
    BackupDamaged,
    BackupFiles,
    BackupManifest,
    file_digest,
)
from .restore import restore_backup
from .segments import (
    DIGEST_BYTES,
    SETTINGS_PAGE,
    ArchiveSegment,
    file_pages,
    page_digest,
    records_of,
    segment_path,
    segments_of,
    state_of,
)
from .verify import blob_path
from .write import seal


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
    chain = _chain(archive, segments_of(archive), at)
    last = chain[-1]
    store = target / STORE
    _write_pages(archive, chain, target)
    digests = bytearray()
    for page in file_pages(store, last.page_bytes):
        digests += page_digest(page)
    if len(digests) != last.page_count * DIGEST_BYTES or state_of(digests) != last.state:
        raise BackupDamaged(f"{archive}: the pages of segment {last.seq} are damaged.")
    return seal(target, _link_files(archive, store, target), engine="sqlite", created_at=last.at)


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
    if [segment.seq for segment in chain] != list(range(chain[0].seq, chain[0].seq + len(chain))):
        raise BackupDamaged(f"{archive}: a segment is missing.")
    for before, after in pairwise(chain):
        if after.previous != file_digest(segment_path(archive, before.seq)):
            raise BackupDamaged(f"{archive}: segment {before.seq} was changed.")
    return chain


def _write_pages(archive: Path, chain: Sequence[ArchiveSegment], target: Path) -> None:
    settings = None
    descriptor = os.open(target / STORE, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for segment in chain:
            settings = None
            file.truncate(segment.page_count * segment.page_bytes)
            for number, content in records_of(archive, segment):
                if number == SETTINGS_PAGE:
                    settings = content
                    continue
                file.seek((number - 1) * segment.page_bytes)
                file.write(content)
    if settings is not None:
        (target / SETTINGS).touch(0o600)
        (target / SETTINGS).write_bytes(settings)


def _link_files(archive: Path, store: Path, target: Path) -> BackupFiles:
    """Add the contents that the rows name: as links, or as copies on another disk."""
    count, size, missing = 0, 0, []
    with reading(store) as tx:
        for name, size_bytes in contents.blobs_of(tx):
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
