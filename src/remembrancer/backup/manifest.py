"""The manifest of a backup: what it holds, with counts and hashes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ..store.transfer.digest import TableDigest

STORE, BLOBS, SETTINGS, MANIFEST = "store.sqlite3", "blobs", "remembrancer.toml", "manifest.json"
LOCK = "server.lock"  # while a backup or an archive is written
CHUNK_BYTES = 1 << 20
_CONTENT = re.compile("[0-9a-f]{64}")
_MANIFEST_BYTES_MAX = 64 << 20


class BackupDamaged(Exception):
    """The backup is damaged or incomplete; the message says where."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredTable(_Part):
    """Number of rows of a table, and its hash as `remembrancer store check` prints it."""

    rows: int
    hash: str


class StoreFile(_Part):
    """Size and SHA-256 of the file with the rows, its schema, and the engine it was copied from."""

    bytes: int
    sha256: str
    schema_version: int
    engine: Literal["sqlite", "postgresql"]


class AuditHeadEntry(_Part):
    """The head of the audit trail."""

    seq: int
    hash: str


class BackupFiles(_Part):
    """Contents of created files: count, bytes, and the names of those that the service had lost."""

    count: int
    bytes: int
    missing: list[str]


class BackupManifest(_Part):
    """All facts about a backup."""

    format: Literal["remembrancer-backup/1"] = "remembrancer-backup/1"
    version: str
    created_at: datetime
    store: StoreFile
    tables: dict[str, StoredTable]
    audit_head: AuditHeadEntry
    files: BackupFiles
    settings_sha256: str | None

    @property
    def head(self) -> str:
        """The head of the audit trail as `remembrancer audit verify --head` takes it."""
        return f"{self.audit_head.seq}:{self.audit_head.hash}"


def read_manifest(folder: Path) -> BackupManifest:
    """Return the manifest of a backup. Raises BackupDamaged."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > _MANIFEST_BYTES_MAX:
            raise BackupDamaged(f"{path} is too large for a manifest.")
        return BackupManifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BackupDamaged(f"{folder} is no backup: {error}") from error
    except ValidationError as error:
        raise BackupDamaged(f"{path} is no manifest that this version can read.") from error


def files_in(folder: Path) -> set[str]:
    """Return the paths of all files below a folder, relative to it.

    Raises BackupDamaged for a link, a device or a pipe: none is in a backup.
    """
    present = set()
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in (*folders, *files)):
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                present.add(str(path.relative_to(folder)))
            elif not stat.S_ISDIR(mode):
                raise BackupDamaged(f"{path} is no file and no folder.")
    return present


def require_known(folder: Path, unknown: set[str]) -> None:
    """Raise BackupDamaged if a folder has files that are not part of it."""
    if unknown:
        raise BackupDamaged(f"{folder} has unknown files: {', '.join(sorted(unknown)[:5])}.")


def blob_path(blobs: Path, name: str) -> Path:
    """Return where a backup holds the content of a created file. Raises BackupDamaged."""
    if not _CONTENT.fullmatch(name):
        raise BackupDamaged(f"{blobs}: a row names a file that has no SHA-256.")
    return blobs / name[:2] / name


def identity(folder: Path) -> str:
    """Return the SHA-256 of the manifest, which covers everything in the backup."""
    return file_digest(folder / MANIFEST)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def stored_tables(digests: list[TableDigest]) -> dict[str, StoredTable]:
    """Return the digests of tables as the manifest has them."""
    return {one.table: StoredTable(rows=one.rows, hash=one.hash) for one in digests}
