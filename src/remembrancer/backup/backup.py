"""Backup and restore of the whole service: a folder with its manifest, its rows and its files."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from .. import __version__
from ..context import restore_mark
from ..files.blobs import Blobs, BlobsUnavailable, open_blobs
from ..files.files import SQL as FILES
from ..files.files import charge_quota
from ..permissions.audit import AuditBroken, ChainLink, verify_in
from ..settings import Settings, settings_file
from ..store import DataFolderBusy, Pool, Store, StoreUnavailable, Transaction, open_store
from ..store.durable import flush_path, private, private_folder
from ..store.locations import engine_of, hold, place_of, schema_at
from ..store.schema import migrations
from ..store.sqlite.store import (
    copy_file,
    editing,
    reading,
    require_schema,
    require_sound,
    schema_of,
)
from ..store.transfer import copy as copying
from ..store.transfer.copy import SQL, TableDigest, digests, store_digest

STORE, BLOBS, SETTINGS, MANIFEST = "store.sqlite3", "blobs", "remembrancer.toml", "manifest.json"
LOCK = "server.lock"  # while a backup or an archive is written
CHUNK_BYTES = 1 << 20
_CONTENT = re.compile("[0-9a-f]{64}")
_MANIFEST_BYTES_MAX = 64 << 20


class BackupDamaged(Exception):
    """The backup is damaged or incomplete; the message says where."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoreFile(_Part):
    """Size and SHA-256 of the file with the rows, its schema, and the engine it was copied from."""

    bytes: int
    sha256: str
    schema_version: int
    engine: Literal["sqlite", "postgresql"]


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
    tables: dict[str, TableDigest]  # as `remembrancer store check` prints them
    audit_head: ChainLink
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
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def chunks_of(path: Path, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the content of a file in chunks, such as the pages of a database."""
    with path.open("rb", buffering=CHUNK_BYTES) as file:
        while chunk := file.read(chunk_bytes):
            yield chunk


_PAGE = 1_000
_BLOBS = """
select blob, max(size_bytes) as size_bytes from files where blob > :after
group by blob order by blob limit :most
"""

_FILES = "select id, account_id, size_bytes from files where blob = :blob"


def audit_head(tx: Transaction) -> ChainLink:
    """Verify the audit trail and return its head. Raises AuditBroken."""
    return verify_in(tx) if _has(tx, "audit") else ChainLink()


def blobs_of(tx: Transaction) -> Iterator[tuple[str, int]]:
    """Yield name and size of the content of each created file, by name."""
    after = ""
    while rows := tx.all(_BLOBS, after=after, most=_PAGE) if _has(tx, "files") else []:
        yield from ((str(row.blob), int(row.size_bytes)) for row in rows)
        after = str(rows[-1].blob)


def erase_files(tx: Transaction, blobs: Iterable[str]) -> None:
    """Erase the files with these contents, as their owners did."""
    for blob in blobs:
        for row in tx.all(_FILES, blob=blob):
            account = {"account_id": row.account_id}
            tx.run(FILES.erase_file, id=row.id, **account)
            tx.run(FILES.uncharge, charged_bytes=charge_quota(row.size_bytes), **account)


def _has(tx: Transaction, table: str) -> bool:
    """Return True if the schema of the store has the table."""
    return tx.one_or_none(SQL.has_table, table=table) is not None


class BackupExists(Exception):
    """The target exists. A backup never overwrites: name a new folder."""


class BackupFailed(StoreUnavailable):
    """The backup could not be written; nothing of it remains."""


def write_backup(settings: Settings, target: Path, *, progress: copying.Progress) -> BackupManifest:
    """Write rows, created files, settings and a manifest to the new folder `target`.

    It gets its name when it is complete, flushed and verified. Contents of files that the service
    had lost are listed in the manifest. Raises BackupExists, BackupFailed, CopyRefused,
    BackupDamaged, AuditBroken, StoreUnavailable.
    """
    target = target.absolute()
    if os.path.lexists(target):
        raise BackupExists(f"{target} exists. A backup never overwrites: name a new folder.")
    try:
        with _part_of(target) as part:
            manifest = _fill(settings, part, progress)
            for path in (*part.rglob("*"), part):
                flush_path(path)
            verify(part)
            (part / LOCK).unlink()
            part.rename(target)
            flush_path(target.parent)
    except OSError as error:
        raise BackupFailed(f"backup to {target}: {error}") from error
    return manifest


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """Yield an empty private folder beside the target, which a killed run may have left."""
    part = target.with_name(f".{target.name}.part")
    private_folder(part)
    try:
        lock = hold(part)
    except DataFolderBusy as error:
        raise BackupFailed(f"another backup is being written to {target}") from error
    with lock:
        try:
            for path in part.iterdir():
                if path.name != LOCK:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            yield part
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def _fill(settings: Settings, part: Path, progress: copying.Progress) -> BackupManifest:
    files = _copy_rows_and_files(settings, part, progress)
    source = settings_file(settings.data_folder)
    if source.is_file():
        write_file(part / SETTINGS, [source.read_bytes()])
    return seal(part, files, engine=engine_of(settings.store_url), created_at=datetime.now(UTC))


def seal(folder: Path, files: BackupFiles, *, engine: str, created_at: datetime) -> BackupManifest:
    """Write the manifest of rows, files and settings that are in a folder. Raises AuditBroken."""
    store, settings = folder / STORE, folder / SETTINGS
    with reading(store) as tx:
        manifest = BackupManifest(
            version=__version__,
            created_at=created_at,
            store=StoreFile(
                bytes=store.stat().st_size,
                sha256=file_digest(store),
                schema_version=schema_of(tx),
                engine="sqlite" if engine == "sqlite" else "postgresql",
            ),
            tables=digests(tx),
            audit_head=audit_head(tx),
            files=files,
            settings_sha256=file_digest(settings) if settings.exists() else None,
        )
    write_file(folder / MANIFEST, [manifest.model_dump_json(indent=1).encode() + b"\n"])
    return manifest


def _copy_rows_and_files(settings: Settings, part: Path, progress: copying.Progress) -> BackupFiles:
    """Copy the rows, then the contents of the files that they name.

    A file that is erased between the two is in the rows and gone from the disk: the rows are then
    copied again. What is missing both times is lost. What is missing only the second time was
    erased between, and is erased from the rows too.
    """
    store = part / STORE
    first = files = _copy_once(settings, part, progress)
    if first.missing:
        store.unlink()
        files = _copy_once(settings, part, progress)
    erased = set(files.missing) - set(first.missing)
    if erased:
        with editing(store) as tx:
            erase_files(tx, sorted(erased))
    lost = [name for name in files.missing if name not in erased]
    return files.model_copy(update={"missing": lost})


def _copy_once(settings: Settings, part: Path, progress: copying.Progress) -> BackupFiles:
    _snapshot(settings, part / STORE, progress)
    with reading(part / STORE) as tx:
        return _copy_files(open_blobs(settings), part / BLOBS, tx, progress)


def _snapshot(settings: Settings, target: Path, progress: copying.Progress) -> None:
    """Write the rows as of one moment to a new SQLite file."""
    url = settings.store_url
    if engine_of(url) == "sqlite":
        copy_file(Path(url.partition(":")[2]), target)
        return
    copying.require_schema(url)
    with (
        closing(open_store(url, pool=Pool.of(settings))) as source,
        closing(open_store(f"sqlite:{target}", durability="normal")) as copy,
    ):
        copying.refuse_unfinished(source)
        result = copying.copy(source, copy, place=place_of(url), progress=progress)
        if not result.is_same:
            raise BackupFailed(f"the copy of {place_of(url)} differs from it")
        copying.finish(copy)


def _copy_files(
    blobs: Blobs, folder: Path, tx: Transaction, progress: copying.Progress
) -> BackupFiles:
    """Copy the contents of all files that the rows name, and remove others."""
    present: set[str] = set()
    missing: list[str] = []
    size = 0
    total = sum(1 for _ in blobs_of(tx))
    with progress("copying files", total) as advance:
        for name, size_bytes in blobs_of(tx):
            if copy_content(blobs, name, size_bytes, blob_path(folder, name)):
                present.add(name)
                size += size_bytes
            else:
                missing.append(name)
            advance(1)
    for path in folder.glob("*/*"):
        if path.name not in present:
            path.unlink()  # erased since the rows were copied the first time
    return BackupFiles(count=len(present), bytes=size, missing=missing)


def copy_content(blobs: Blobs, name: str, size_bytes: int, target: Path) -> bool:
    """Copy a content; return False if it is gone or damaged."""
    if target.exists():
        return True
    for folder in (target.parent.parent, target.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        digest = write_file(target, blobs.read(name, 0, size_bytes))
    except BlobsUnavailable as error:
        target.unlink(missing_ok=True)
        # no cause: the content is shorter than its row says
        if error.__cause__ is None or isinstance(error.__cause__, FileNotFoundError):
            return False
        raise
    if digest != name:
        target.unlink()
    return digest == name


def write_file(path: Path, chunks: Iterable[bytes]) -> str:
    """Write a new private file; return its SHA-256."""
    digest = hashlib.sha256()
    with open(path, "xb", opener=private) as file:
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


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
        actual, expected = digests(tx), manifest.tables
        wrong = [name for name in actual | expected if actual.get(name) != expected.get(name)]
        if wrong:
            raise BackupDamaged(f"{path}: tables differ from the manifest: {', '.join(wrong)}.")
        if audit_head(tx) != manifest.audit_head:
            raise BackupDamaged(f"{path}: the audit trail does not end with {manifest.head}.")
        return _verify_files(folder / BLOBS, blobs_of(tx), manifest)


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
            for name, _ in blobs_of(tx):
                if name in missing:
                    continue
                path = blob_path(self._source / BLOBS, name)
                with blobs.hold(chunks_of(path)) as name_of_content:
                    if name_of_content != name:
                        raise RestoreRefused(f"{path} changed during the restore.")
                advance(1)

    def add_rows(self, progress: copying.Progress) -> None:
        """Store the rows: all of them become visible at once."""
        url = self._settings.store_url
        if engine_of(url) == "postgresql":
            self._add_to_database(url, progress)
            return
        target = Path(url.partition(":")[2])
        if target.exists():  # renamed by a run that was killed after that
            with closing(open_store(url)) as store:
                self._verify(store)
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
        if write_file(part, chunks_of(self._source / STORE)) != self._manifest.store.sha256:
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
            if copying.can_become_copy(target):
                result = copying.copy(source, target, place=place, progress=progress)
                if not result.is_same:
                    raise RestoreRefused(f"the copy in {place_of(url)} differs from the backup.")
                copying.finish(target)
            elif store_digest(target) != expected:
                raise RestoreRefused(f"the store at {place_of(url)} is not empty: name a new one.")

    def _verify(self, store: Store) -> None:
        """Compare a store with the manifest. Migrations change rows, but not those of memory."""
        is_same_schema = self._manifest.store.schema_version == store.schema_version()
        actual, expected = store_digest(store), self._manifest.tables
        if is_same_schema:
            wrong = [name for name in expected if actual.get(name) != expected[name]]
        else:
            rows = {name: digest.rows for name, digest in actual.items()}
            of_memory = ("accounts", "keys", "events", "cubes", "files", "audit")
            present = [name for name in of_memory if name in expected]
            wrong = [name for name in present if rows.get(name, 0) != expected[name].rows]
        if wrong or store.read(audit_head) != self._manifest.audit_head:
            raise RestoreRefused(
                f"the restored store differs from the backup: {', '.join(wrong) or 'audit trail'}."
            )


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb", opener=private) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
