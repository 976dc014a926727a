"""Verify a backup completely: every byte of it against the manifest, every row and reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..permissions.audit import AuditBroken
from ..store import StoreUnavailable
from ..store.sqlite.snapshot import reading, require_sound, schema_of
from . import contents
from .manifest import (
    BLOBS,
    SETTINGS,
    STORE,
    BackupDamaged,
    BackupManifest,
    file_digest,
    read_manifest,
    stored_tables,
)


def verify(folder: Path) -> BackupManifest:
    """Check a backup, of any earlier schema too, and return its manifest. Raises BackupDamaged."""
    manifest = read_manifest(folder)
    try:
        _verify_store(folder, manifest)
        _verify_settings(folder, manifest)
    except (OSError, StoreUnavailable, AuditBroken) as error:
        raise BackupDamaged(f"{folder} is damaged: {error}") from error
    return manifest


def _verify_store(folder: Path, manifest: BackupManifest) -> None:
    path = folder / STORE
    if (path.stat().st_size, file_digest(path)) != (manifest.store.bytes, manifest.store.sha256):
        raise BackupDamaged(f"{path} is not the file of the manifest.")
    with reading(path) as tx:
        require_sound(tx, path)
        if schema_of(tx) != manifest.store.schema_version:
            raise BackupDamaged(f"{path} does not have the schema of the manifest.")
        actual = stored_tables(contents.digests(tx))
        wrong = [
            name
            for name in {**actual, **manifest.tables}
            if actual.get(name) != manifest.tables.get(name)
        ]
        if wrong:
            raise BackupDamaged(f"{path}: tables differ from the manifest: {', '.join(wrong)}.")
        head = contents.audit_head(tx)
        if (head.seq, head.hash) != (manifest.audit_head.seq, manifest.audit_head.hash):
            raise BackupDamaged(f"{path}: the audit trail does not end with {manifest.head}.")
        _verify_files(folder / BLOBS, contents.blobs_of(tx), manifest)


def _verify_files(blobs: Path, names: Iterator[tuple[str, int]], manifest: BackupManifest) -> None:
    count = size = 0
    missing = set(manifest.files.missing)
    for name, bytes_of_file in names:
        if name in missing:
            continue
        if file_digest(blob_path(blobs, name)) != name:
            raise BackupDamaged(f"{blob_path(blobs, name)} does not have its SHA-256.")
        count, size = count + 1, size + bytes_of_file
    present = sum(1 for path in blobs.glob("*/*"))
    if (count, size) != (manifest.files.count, manifest.files.bytes) or present != count:
        raise BackupDamaged(f"{blobs} does not hold the files of the manifest.")


def _verify_settings(folder: Path, manifest: BackupManifest) -> None:
    path = folder / SETTINGS
    actual = file_digest(path) if path.exists() else None
    if actual != manifest.settings_sha256:
        raise BackupDamaged(f"{path} is not the file of the manifest.")


def blob_path(blobs: Path, name: str) -> Path:
    """Return where a backup holds the content of a created file."""
    return blobs / name[:2] / name
