"""Where the contents of files are kept: under their SHA-256, so that the same content is kept once.

A row refers to a blob only after the blob is durable. What no row refers to is an orphan: a write
that failed half-way leaves one at most, never half a file.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Protocol

from ..settings import SettingInvalid, Settings
from ..store import StoreUnavailable

CHUNK_BYTES = 256 << 10  # read and sent at a time
_PART = ".part"


class BlobsUnavailable(StoreUnavailable):
    """The place where the contents of files are kept cannot do its work now."""


class Blobs(Protocol):
    """An engine. Safe to use from many threads. Every method raises BlobsUnavailable."""

    def hold(self, content: bytes | Iterable[bytes]) -> AbstractContextManager[str]:
        """Keep a content durably and give its name, the SHA-256 in hex.

        Until the block ends nothing in this process removes it.
        """

    def read(self, name: str, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to before `end`, in pieces.

        What is wrong is raised by the call itself where it can be known then.
        """

    def delete(self, name: str, *, unless: Callable[[], bool]) -> bool:
        """Remove a blob that nobody holds and of which `unless()`, asked last of all, is false;
        whether it is gone.
        """

    def names(self, *, before_ms: int) -> Iterator[str]:
        """The names of all blobs that were last put before that time (ms since 1970, UTC)."""


def open_blobs(settings: Settings) -> Blobs:
    """The engine that the setting `blobs` names, one for all who ask.

    Raises SettingInvalid where there is no such engine.
    """
    return _opened(settings.blobs, settings.data_folder / "blobs", settings.durability == "full")


# what is held is known to the engine alone, so that there must be one of each place in a process
@cache
def _opened(where: str, folder: Path, flush: bool) -> Blobs:  # noqa: FBT001 - a key of the cache
    if where == "local":
        return LocalBlobs(folder, flush=flush)
    if where.startswith("s3://"):
        from .s3_blobs import S3Blobs  # here, so that its library is needed only where it is used

        return S3Blobs(where)
    raise SettingInvalid(
        f"`blobs`: there is no place {where!r} for files; use local or s3://BUCKET/PREFIX"
    )


class BlobLocks:
    """Which blobs are being referred to just now: between their put and their row."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def __contains__(self, name: str) -> bool:
        return name in self._counts

    def take(self, name: str) -> None:
        """One more holds it. Under `lock`."""
        self._counts[name] += 1

    def release(self, name: str) -> None:
        """One less."""
        with self.lock:
            self._counts[name] -= 1
            self._counts += Counter()  # without those at zero


class LocalBlobs:
    """Blobs in a folder of this machine: `ab/abcdef…`, each written aside, flushed and renamed.

    With `flush` False a blob survives the death of this process but perhaps not a power cut.
    """

    def __init__(self, folder: Path, *, flush: bool = True) -> None:
        self._folder, self._flush = folder, flush
        self._holds = BlobLocks()

    @contextmanager
    def hold(self, content: bytes | Iterable[bytes]) -> Iterator[str]:
        """See Blobs."""
        try:
            name = self._put([content] if isinstance(content, bytes) else content)
        except OSError as error:
            raise BlobsUnavailable(f"blobs in {self._folder}: {error}") from error
        try:
            yield name
        finally:
            self._holds.release(name)

    def read(self, name: str, start: int, end: int) -> Iterator[bytes]:
        """See Blobs."""
        try:
            descriptor = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise BlobsUnavailable(f"blob {name}: {error}") from error
        return self._pieces(name, descriptor, start, end)

    def delete(self, name: str, *, unless: Callable[[], bool]) -> bool:
        """See Blobs."""
        with self._holds.lock:
            if name in self._holds or unless():
                return False
            try:
                self._path(name).unlink(missing_ok=True)
            except OSError as error:
                raise BlobsUnavailable(f"blob {name}: {error}") from error
        return True

    def names(self, *, before_ms: int) -> Iterator[str]:
        """See Blobs. What a process that was killed left half written before that time is removed
        on the way.
        """
        if not self._folder.is_dir():
            return
        for path in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):  # removed or renamed meanwhile
                if path.stat().st_mtime_ns < before_ms * 1_000_000:
                    if path.suffix == _PART:
                        path.unlink()
                    else:
                        yield path.name

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name

    def _put(self, pieces: Iterable[bytes]) -> str:
        """Write it aside, then give it its name; taken as held."""
        aside = self._folder / "new"
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = aside / (secrets.token_hex(8) + _PART)
        digest = hashlib.sha256()
        try:
            with os.fdopen(
                os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb"
            ) as file:
                for piece in pieces:
                    digest.update(piece)
                    file.write(piece)
                file.flush()
                if self._flush:
                    os.fsync(file.fileno())
            return self._named(part, digest.hexdigest())
        finally:
            part.unlink(missing_ok=True)

    def _named(self, part: Path, name: str) -> str:
        path = self._path(name)
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            self._flush_folder(self._folder)
        with self._holds.lock:
            part.rename(
                path
            )  # over the same content, if it is there: its time is then that of its last put
            self._holds.take(name)
        try:
            self._flush_folder(path.parent)
        except OSError:
            self._holds.release(name)
            raise
        return name

    def _flush_folder(self, folder: Path) -> None:
        if self._flush:
            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _pieces(self, name: str, descriptor: int, start: int, end: int) -> Iterator[bytes]:
        with os.fdopen(descriptor, "rb") as file:
            file.seek(start)
            while start < end:
                piece = file.read(min(CHUNK_BYTES, end - start))
                if not piece:
                    raise BlobsUnavailable(
                        f"blob {name} ends at {start:,} bytes, {end:,} were expected"
                    )
                start += len(piece)
                yield piece
