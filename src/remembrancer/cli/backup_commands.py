"""`remembrancer backup` and `restore`: the whole service, to one moment or to any."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from .commands import DataFolder, check_store, load_settings

BackupFolder = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER",
        help="New folder. It appears when the backup is complete and verified. Or an archive.",
    ),
]


def backup(
    context: typer.Context,
    folder: BackupFolder,
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
        verify: Verify an existing backup instead of writing one.
        every: Add what changed at this interval (10s, 5m), until stopped. SQLite only.
        once: Add what changed since the last run, then exit.
        keep: With --every or --once: period to keep, 7d or 12h.
    """
    if every is not None or once:
        _archive(context, folder, every=every or "10s", keep=keep, is_once=once, data=data)
        return
    from ..backup.backup import verify as verify_backup
    from .backup import summary, write

    if verify:
        manifest = verify_backup(folder)
    else:
        settings = load_settings(context, data)
        check_store(settings)
        manifest = write(settings, folder)
    print(summary(manifest))
    if manifest.files.missing:
        print(f"contents of files lost: {', '.join(manifest.files.missing)}", file=sys.stderr)
        sys.exit(1)


def _archive(
    context: typer.Context, folder: Path, *, every: str, keep: str, is_once: bool, data: Path | None
) -> None:
    from .backup import archive_to

    archive_to(
        load_settings(context, data),
        folder,
        every_s=_milliseconds(every, "--every") / 1000,
        keep=timedelta(milliseconds=_milliseconds(keep, "--keep")),
        is_once=is_once,
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
    from .backup import restore_from, summary

    settings = load_settings(context, data)
    print(summary(restore_from(settings, folder, _moment(at))))
    print(f"restored to {settings.data_folder} and {settings.store_shown}", file=sys.stderr)


def _milliseconds(text: str, option: str) -> int:
    from ..accounts.durations import duration

    try:
        return duration(text)
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
