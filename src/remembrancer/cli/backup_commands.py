"""`remembrancer backup` and `remembrancer restore`: the whole service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .commands import DataFolder, load_settings

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
    """Write a backup of the whole service: rows, created files, settings and audit head.

    Works while a server is running. Store the printed audit head elsewhere.
    """
    from .backup import summary, verify_backup, write

    manifest = verify_backup(folder) if verify else write(load_settings(context, data), folder)
    print(summary(manifest))
    if manifest.files.missing:
        print(f"contents of files lost: {', '.join(manifest.files.missing)}", file=sys.stderr)
        sys.exit(1)


def restore(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A backup.")],
    data: DataFolder = None,
) -> None:
    """Restore a backup into an empty data folder and an empty store.

    Verifies the backup before and the store after. Run it again after an interruption. An older
    schema is migrated.
    """
    from .backup import restore_from, summary

    settings = load_settings(context, data)
    print(summary(restore_from(settings, folder)))
    print(f"restored to {settings.data_folder} and {settings.store_shown}", file=sys.stderr)
