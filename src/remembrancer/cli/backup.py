"""The work of `remembrancer backup` and `remembrancer restore`."""

from __future__ import annotations

from pathlib import Path

from ..backup.manifest import BackupManifest
from ..backup.restore import restore_backup
from ..backup.verify import verify
from ..backup.write import write_backup
from ..settings import Settings
from .progress import progress


class BackupStopped(Exception):
    """Interrupted. There is no backup. Run the same command again."""


class RestoreStopped(Exception):
    """Interrupted. No server starts on the data folder. Run the same command again."""


def write(settings: Settings, folder: Path) -> BackupManifest:
    """Write a backup. Raises BackupStopped and what `write_backup` raises."""
    try:
        return write_backup(settings, folder, progress=progress)
    except KeyboardInterrupt as error:
        raise BackupStopped from error


def verify_backup(folder: Path) -> BackupManifest:
    """Verify a backup. Raises BackupDamaged."""
    return verify(folder)


def restore_from(settings: Settings, folder: Path) -> BackupManifest:
    """Restore a backup. Raises RestoreStopped and what `restore_backup` raises."""
    try:
        return restore_backup(settings, folder, progress=progress)
    except KeyboardInterrupt as error:
        raise RestoreStopped from error


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
