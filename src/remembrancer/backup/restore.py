"""Verify a backup, and restore it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ..context import restore_mark
from ..files.blobs import open_blobs
from ..permissions.audit import AuditBroken
from ..settings import Settings
from ..store import Pool, Store, StoreUnavailable, open_store
from ..store.durable import flush_path, private, private_folder
from ..store.locations import engine_of, hold, place_of, schema_at
from ..store.schema import migrations
from ..store.sqlite.snapshot import reading, require_schema, require_sound, schema_of
from ..store.transfer import copy as copying
from ..store.transfer.digest import store_digest
from . import contents
from .manifest import (
    BLOBS,
    CHUNK_BYTES,
    LOCK,
    MANIFEST,
    SETTINGS,
    STORE,
    BackupDamaged,
    BackupManifest,
    StoredTable,
    blob_path,
    file_digest,
    files_in,
    identity,
    read_manifest,
    require_known,
    stored_tables,
)

# --- Verify a backup completely: every byte of it against the manifest, every row and reference


def verify(folder: Path) -> BackupManifest:
    """Check a backup, of any earlier schema too, and return its manifest. Raises BackupDamaged."""
    try:
        present = files_in(folder)  # before any is read: links are not followed
        manifest = read_manifest(folder)
        files = _verify_store(folder, manifest)
        _verify_settings(folder, manifest)
        require_known(folder, present - {MANIFEST, STORE, SETTINGS, LOCK, *files})
    except (OSError, StoreUnavailable, AuditBroken) as error:
        raise BackupDamaged(f"{folder} is damaged: {error}") from error
    return manifest


def _verify_store(folder: Path, manifest: BackupManifest) -> set[str]:
    """Compare rows and files with the manifest; return the paths of the files in the backup."""
    path = folder / STORE
    if (path.stat().st_size, file_digest(path)) != (manifest.store.bytes, manifest.store.sha256):
        raise BackupDamaged(f"{path} is not the file of the manifest.")
    with reading(path) as tx:
        require_sound(tx, path)
        if schema_of(tx) != manifest.store.schema_version:
            raise BackupDamaged(f"{path} does not have the schema of the manifest.")
        require_schema(tx, path, manifest.store.schema_version)
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
        return _verify_files(folder / BLOBS, contents.blobs_of(tx), manifest)


def _verify_files(
    blobs: Path, names: Iterator[tuple[str, int]], manifest: BackupManifest
) -> set[str]:
    paths, size = set[str](), 0
    missing = set(manifest.files.missing)
    for name, bytes_of_file in names:
        if name in missing:
            missing.remove(name)
            continue
        path = blob_path(blobs, name)
        if file_digest(path) != name:
            raise BackupDamaged(f"{path} does not have its SHA-256.")
        paths.add(str(path.relative_to(blobs.parent)))
        size += bytes_of_file
    if (len(paths), size) != (manifest.files.count, manifest.files.bytes) or missing:
        raise BackupDamaged(f"{blobs} does not hold the files of the manifest.")
    return paths


def _verify_settings(folder: Path, manifest: BackupManifest) -> None:
    path = folder / SETTINGS
    actual = file_digest(path) if path.exists() else None
    if actual != manifest.settings_sha256:
        raise BackupDamaged(f"{path} is not the file of the manifest.")


# --- Restore a backup into an empty data folder and an empty store ---------------------------
# While it runs, a mark in the data folder keeps every server and command from opening it. Contents
# of files come first, then the rows, at once, then the mark goes. So a killed restore leaves either
# no store, or all of it; the same restore again completes it.

RESTORED_SETTINGS = "restored-settings.toml"
# what a folder that counts as empty may have
_PRESENT = {"server.lock", "remembrancer.toml", "lost+found"}


class RestoreRefused(Exception):
    """The backup cannot be restored here; the message says why."""


def restore_backup(
    settings: Settings, source: Path, *, progress: copying.Progress
) -> BackupManifest:
    """Restore a backup to the data folder and the store of the settings; return its manifest.

    Everything is verified before and after. An older schema is migrated. Raises BackupDamaged,
    RestoreRefused, DataFolderBusy, StoreUnavailable.
    """
    folder = settings.data_folder.absolute()
    if folder == source.absolute():
        raise RestoreRefused("--data names the backup itself.")
    manifest = verify(source)
    newest = migrations(engine_of(settings.store_url))[-1].number
    if manifest.store.schema_version > newest:
        raise RestoreRefused(
            f"{source} has schema {manifest.store.schema_version}, this version supports up to "
            f"{newest}: use the version that wrote it ({manifest.version}), or a newer one."
        )
    restoring = _Restoring(settings, folder, source, manifest)
    restoring.require_empty()
    private_folder(folder)
    with hold(folder):
        restoring.require_empty()  # again, as nothing else can change it now
        restoring.begin()
        restoring.add_files(progress)
        restoring.add_rows(progress)
        restoring.end()
    return manifest


class _Restoring:
    """One run of a restore, with the data folder locked."""

    def __init__(
        self, settings: Settings, folder: Path, source: Path, manifest: BackupManifest
    ) -> None:
        self._settings, self._folder, self._source = settings, folder, source
        self._manifest, self._identity = manifest, identity(source)
        self._mark = restore_mark(folder)
        self._part = folder / "restore.part"

    def require_empty(self) -> None:
        """Raise RestoreRefused unless folder and store are empty or an earlier run marked them."""
        if not self._folder.exists():
            present = []
        elif self._mark.exists():
            if self._mark.read_text("ascii", "replace") not in ("", self._identity):
                raise RestoreRefused(
                    f"{self._folder} holds an interrupted restore of another backup: restore that "
                    "one again, or name a new folder."
                )
            return
        else:
            present = sorted({path.name for path in self._folder.iterdir()} - _PRESENT)
        if present:
            raise RestoreRefused(
                f"{self._folder} is not empty ({', '.join(present[:5])}): name a new folder."
            )
        if schema_at(self._settings.store_url):
            raise RestoreRefused(
                f"there is a store at {place_of(self._settings.store_url)}: name a new one."
            )

    def begin(self) -> None:
        """Mark the folder, so that nothing opens it before the end."""
        _write(self._mark, self._identity.encode())
        flush_path(self._folder)

    def add_files(self, progress: copying.Progress) -> None:
        """Store the contents of created files, each durable and under its SHA-256."""
        blobs, missing = open_blobs(self._settings), set(self._manifest.files.missing)
        with (
            reading(self._source / STORE) as tx,
            progress("restoring files", self._manifest.files.count) as advance,
        ):
            for name, _ in contents.blobs_of(tx):
                if name in missing:
                    continue
                with (
                    blob_path(self._source / BLOBS, name).open("rb") as file,
                    blobs.hold(iter(lambda: file.read(CHUNK_BYTES), b"")) as name_of_content,
                ):
                    if name_of_content != name:
                        raise RestoreRefused(f"{file.name} changed during the restore.")
                advance(1)

    def add_rows(self, progress: copying.Progress) -> None:
        """Store the rows: all of them become visible at once."""
        url = self._settings.store_url
        if engine_of(url) == "postgresql":
            self._add_to_database(url, progress)
            return
        target = Path(url.partition(":")[2])
        if target.exists():  # renamed by a run that was killed after that
            self._require_restored(url)
            return
        part = target.with_name(f"{target.name}.restoring")
        self._migrated(part)
        part.rename(target)
        flush_path(target.parent)

    def end(self) -> None:
        """Add the settings for comparison, and remove the mark: the service can start."""
        settings = self._source / SETTINGS
        if settings.exists():
            _write(self._folder / RESTORED_SETTINGS, settings.read_bytes())
        _remove(self._part)
        flush_path(self._folder)
        self._mark.unlink()
        flush_path(self._folder)

    def _migrated(self, part: Path) -> None:
        """Write the rows to the new file `part`, in the schema of this version, and verify them."""
        _remove(part)
        with (
            (self._source / STORE).open("rb") as source,
            open(part, "xb", opener=private) as copy,
        ):
            shutil.copyfileobj(source, copy)
        if file_digest(part) != self._manifest.store.sha256:
            raise RestoreRefused(f"{self._source / STORE} changed during the restore.")
        with closing(open_store(f"sqlite:{part}")) as store:
            self._verify(store)
        flush_path(part)

    def _add_to_database(self, url: str, progress: copying.Progress) -> None:
        """Copy the rows to PostgreSQL; the copy is unusable until it is finished."""
        place = f"backup {self._identity}"
        self._migrated(self._part)
        with (
            closing(open_store(f"sqlite:{self._part}")) as source,
            closing(open_store(url, pool=Pool.of(self._settings))) as target,
        ):
            expected = store_digest(source)
            if copying.is_copy(target) or not copying.has_rows(target):
                result = copying.copy(source, target, place=place, progress=progress)
                if not result.is_same:
                    raise RestoreRefused(f"the copy in {place_of(url)} differs from the backup.")
                copying.finish(target)
            elif store_digest(target) != expected:
                raise RestoreRefused(f"the store at {place_of(url)} is not empty: name a new one.")

    def _require_restored(self, url: str) -> None:
        with closing(open_store(url)) as store:
            self._verify(store)

    def _verify(self, store: Store) -> None:
        """Compare a store with the manifest. Migrations change rows, but not those of memory."""
        is_same_schema = self._manifest.store.schema_version == store.schema_version()
        digests = stored_tables(store_digest(store))
        head = store.read(contents.audit_head)
        expected = self._manifest.tables
        if is_same_schema:
            wrong = [name for name in expected if digests.get(name) != expected[name]]
        else:
            wrong = [
                name
                for name in ("accounts", "keys", "events", "cubes", "files", "audit")
                if name in expected and _rows(digests, name) != expected[name].rows
            ]
        if wrong or (head.seq, head.hash) != (
            self._manifest.audit_head.seq,
            self._manifest.audit_head.hash,
        ):
            raise RestoreRefused(
                f"the restored store differs from the backup: {', '.join(wrong) or 'audit trail'}."
            )


def _rows(digests: dict[str, StoredTable], name: str) -> int:
    return digests[name].rows if name in digests else 0


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb", opener=private) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
