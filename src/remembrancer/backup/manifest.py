"""The manifest of a backup: what it holds, with counts and hashes."""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ..store.transfer.digest import TableDigest

STORE, BLOBS, SETTINGS, MANIFEST = "store.sqlite3", "blobs", "remembrancer.toml", "manifest.json"
CHUNK_BYTES = 1 << 20
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
