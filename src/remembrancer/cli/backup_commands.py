"""`remembrancer backup` and `restore`: the whole service, to one moment or to any."""

from __future__ import annotations

import signal
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .commands import DataFolder, check_store, load_settings
from .progress import interruptible, progress

if TYPE_CHECKING:
    from ..backup.backup import BackupManifest
    from ..settings import Settings


def backup(
    context: typer.Context,
    folder: Path,
    verify: bool = False,
    every: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    once: bool = False,
    keep: Annotated[str, typer.Option(metavar="TIME")] = "7d",
    data: DataFolder = None,
) -> None:
    """Write a backup of the whole service.

    It holds rows, created files, settings and the audit head. Works while a server is running.
    Store the printed audit head elsewhere.

    With --every or --once, the folder is an archive: `remembrancer restore FOLDER --at TIME`
    restores it to any moment of the period to keep.

    Args:
        folder: New folder. It appears when the backup is complete and verified. Or an archive.
        verify: Verify an existing backup instead of writing one.
        every: Add what changed at this interval (10s, 5m), until stopped. SQLite only.
        once: Add what changed since the last run, then exit.
        keep: With --every or --once: period to keep, 7d or 12h.
    """
    if every is not None or once:
        settings, every_s = load_settings(context, data), _seconds(every or "10s", "--every")
        _archive(settings, folder, every_s=every_s, keep_s=_seconds(keep, "--keep"), is_once=once)
        return
    from ..backup.backup import verify as verify_backup
    from ..backup.backup import write_backup

    if verify:
        manifest = verify_backup(folder)
    else:
        settings = load_settings(context, data)
        check_store(settings)
        with interruptible("There is no backup. Run the same command again."):
            manifest = write_backup(settings, folder, progress=progress)
    print(_summary(manifest))
    if manifest.files.missing:
        print(f"contents of files lost: {', '.join(manifest.files.missing)}", file=sys.stderr)
        sys.exit(1)


def _archive(
    settings: Settings, folder: Path, *, every_s: float, keep_s: float, is_once: bool
) -> None:
    """Archive the store until SIGINT or SIGTERM, or once; print each segment."""
    from ..backup.archive import REST, Archiver

    is_over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: is_over.set())
    with Archiver(settings, folder, keep=timedelta(seconds=keep_s)) as archiver:
        while True:
            start = time.monotonic()
            if (segment := archiver.step()) is not None:
                kind = "base" if segment.is_base else "pages"
                size = f"{segment.pages:,} of {segment.page_count:,}"
                print(f"{segment.at:%Y-%m-%dT%H:%M:%SZ}\t{kind}\t{size}", flush=True)
            if is_once or is_over.wait(max(every_s, REST * (time.monotonic() - start))):
                return


def _summary(manifest: BackupManifest) -> str:
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


def restore(
    context: typer.Context,
    folder: Path,
    at: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    data: DataFolder = None,
) -> None:
    """Restore a backup or an archive.

    Needs an empty data folder and an empty store. Verifies everything before and the store after.
    Run it again after an interruption. An older schema is migrated.

    Args:
        folder: A backup or an archive.
        at: Moment of an archive, such as 2026-11-23T10:00:00Z. Default: the newest.
    """
    from ..backup.archive import is_archive, restore_point
    from ..backup.backup import restore_backup
    from ..protocol.errors import InvalidRequest

    settings, moment = load_settings(context, data), _moment(at)
    with interruptible("No server starts on the data folder. Run the same command again."):
        if is_archive(folder):
            manifest = restore_point(settings, folder, at=moment, progress=progress)
        elif moment is not None:
            raise InvalidRequest(f"--at needs an archive, and {folder} is a backup of one moment.")
        else:
            manifest = restore_backup(settings, folder, progress=progress)
    print(_summary(manifest))
    print(f"restored to {settings.data_folder} and {settings.store_shown}", file=sys.stderr)


def _seconds(text: str, option: str) -> float:
    from ..accounts.durations import duration

    try:
        return duration(text) / 1000
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _moment(text: str | None) -> datetime | None:
    """Return a time with its offset. Raises BadParameter."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a time", param_hint="--at") from error
    if moment.tzinfo is None:
        raise typer.BadParameter(
            f"{text!r} has no offset: add Z for UTC, or +02:00", param_hint="--at"
        )
    return moment
