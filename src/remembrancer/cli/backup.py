"""The work of `remembrancer backup` and `remembrancer restore`."""

from __future__ import annotations

import signal
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

from ..backup.archive import REST, Archiver, ArchiveSegment, is_archive, restore_point
from ..backup.backup import BackupManifest, restore_backup, write_backup
from ..protocol.errors import InvalidRequest
from ..settings import Settings
from .progress import interruptible, progress


def write(settings: Settings, folder: Path) -> BackupManifest:
    """Write a backup. Raises Interrupted and what `write_backup` raises."""
    with interruptible("There is no backup. Run the same command again."):
        return write_backup(settings, folder, progress=progress)


def restore_from(settings: Settings, folder: Path, at: datetime | None) -> BackupManifest:
    """Restore a backup, or an archive as of a moment.

    Raises InvalidRequest, Interrupted and what `restore_backup` raises.
    """
    with interruptible("No server starts on the data folder. Run the same command again."):
        if is_archive(folder):
            return restore_point(settings, folder, at=at, progress=progress)
        if at is not None:
            raise InvalidRequest(f"--at needs an archive, and {folder} is a backup of one moment.")
        return restore_backup(settings, folder, progress=progress)


def archive_to(
    settings: Settings, folder: Path, *, every_s: float, keep: timedelta, is_once: bool
) -> None:
    """Archive the store until SIGINT or SIGTERM, or once; print each segment.

    Raises what Archiver raises, and StoreUnavailable.
    """
    is_over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: is_over.set())
    with Archiver(settings, folder, keep=keep) as archiver:
        while True:
            start = time.monotonic()
            if (segment := archiver.step()) is not None:
                print(segment_line(segment), flush=True)
            if is_once or is_over.wait(max(every_s, REST * (time.monotonic() - start))):
                return


def segment_line(segment: ArchiveSegment) -> str:
    """Return one line about a segment."""
    kind = "base" if segment.is_base else "pages"
    return f"{segment.at:%Y-%m-%dT%H:%M:%SZ}\t{kind}\t{segment.pages:,} of {segment.page_count:,}"


def summary(manifest: BackupManifest) -> str:
    """Return the contents of a backup as lines; the last is the audit head."""
    rows = sum(table.rows for table in manifest.tables.values())
    store, files = manifest.store, manifest.files
    return "\n".join(
        [
            f"created\t{manifest.created_at:%Y-%m-%dT%H:%M:%SZ} by version {manifest.version}",
            f"rows\t{rows:,} in {len(manifest.tables)} tables, schema {store.schema_version}",
            f"files\t{files.count:,}, {files.bytes:,} bytes",
            f"audit head\t{manifest.head}",
        ]
    )
