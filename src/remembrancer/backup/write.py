"""Write a backup of the whole service, as of one moment, while servers run."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from .. import __version__
from ..files.blobs import Blobs, BlobsUnavailable, open_blobs
from ..settings import Settings, settings_file
from ..store import DataFolderBusy, Pool, StoreUnavailable, Transaction, open_store
from ..store.durable import flush_path, private, private_folder
from ..store.locations import engine_of, hold, place_of
from ..store.sqlite.snapshot import copy_file, editing, reading, schema_of
from ..store.transfer import copy as copying
from . import contents
from .manifest import (
    BLOBS,
    LOCK,
    MANIFEST,
    SETTINGS,
    STORE,
    AuditHeadEntry,
    BackupFiles,
    BackupManifest,
    StoreFile,
    blob_path,
    file_digest,
    stored_tables,
)
from .restore import verify


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
            _flush_all(part)
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
        head = contents.audit_head(tx)
        manifest = BackupManifest(
            version=__version__,
            created_at=created_at,
            store=StoreFile(
                bytes=store.stat().st_size,
                sha256=file_digest(store),
                schema_version=schema_of(tx),
                engine="sqlite" if engine == "sqlite" else "postgresql",
            ),
            tables=stored_tables(contents.digests(tx)),
            audit_head=AuditHeadEntry(seq=head.seq, hash=head.hash),
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
            contents.erase_files(tx, sorted(erased))
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
    total = sum(1 for _ in contents.blobs_of(tx))
    with progress("copying files", total) as advance:
        for name, size_bytes in contents.blobs_of(tx):
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


def write_file(path: Path, chunks: Iterator[bytes] | list[bytes]) -> str:
    """Write a new private file; return its SHA-256."""
    digest = hashlib.sha256()
    with open(path, "xb", opener=private) as file:
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _flush_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        flush_path(path)
    flush_path(folder)
