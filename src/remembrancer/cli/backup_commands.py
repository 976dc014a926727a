"""`remembrancer backup`, `archive` and `restore`: the whole service."""

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
        metavar="FOLDER", help="New folder. It appears when the backup is complete and verified."
    ),
]


def backup(
    context: typer.Context,
    folder: BackupFolder,
    verify: Annotated[
        bool, typer.Option("--verify", help="Verify an existing backup instead of writing one.")
    ] = False,
    data: DataFolder = None,
) -> None:
    """Write a backup of the whole service.

    It holds rows, created files, settings and the audit head. Works while a server is running.
    Store the printed audit head elsewhere.
    """
    from .backup import summary, verify_backup, write

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


def archive(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Archive. Created if it does not exist."),
    ],
    every: Annotated[
        str,
        typer.Option(metavar="TIME", help="Interval: 10s, 5m. Longer for a large store."),
    ] = "10s",
    keep: Annotated[
        str,
        typer.Option(metavar="TIME", help="Period that can be restored: 7d, 12h."),
    ] = "7d",
    once: Annotated[bool, typer.Option("--once", help="Archive once, then exit.")] = False,
    data: DataFolder = None,
) -> None:
    """Archive a SQLite store and its files until stopped.

    Works while a server is running. `remembrancer restore FOLDER --at TIME` restores it as of a
    moment.
    """
    from .backup import archive_to

    archive_to(
        load_settings(context, data),
        folder,
        every_s=_milliseconds(every, "--every") / 1000,
        keep=timedelta(milliseconds=_milliseconds(keep, "--keep")),
        is_once=once,
    )


def restore(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A backup or an archive.")],
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Moment of an archive, such as 2026-11-23T10:00:00Z. Default: the newest.",
            show_default=False,
        ),
    ] = None,
    data: DataFolder = None,
) -> None:
    """Restore a backup or an archive.

    Needs an empty data folder and an empty store. Verifies everything before and the store after.
    Run it again after an interruption. An older schema is migrated.
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
