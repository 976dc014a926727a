"""File contents under their SHA-256, in a folder or in a bucket of an S3-compatible store."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from ..settings import SettingInvalid, Settings, from_environment
from ..store import StoreUnavailable, reason_of
from ..store.durable import flush_path, private

# --- Store file contents under their SHA-256, so that equal contents are stored once ---------
# A row refers to a blob only after the blob is durable. A blob without a row is an orphan: a write
# that fails half-way leaves at most one, and `sweep` deletes it.

CHUNK_BYTES = 256 << 10  # bytes per chunk
_PART = ".part"


FAILURE_SECONDS = 60.0  # for which a failure is reported, unless something works in the meantime


class BlobsUnavailable(StoreUnavailable):
    """The storage for file contents does not work at the moment."""


class Blobs(ABC):
    """A blob engine. Thread-safe. Every method raises BlobsUnavailable."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # between writing the blob and writing its row
        self._holders: Counter[str] = Counter()

    @abstractmethod
    def hold(self, content: bytes | Iterable[bytes]) -> AbstractContextManager[str]:
        """Store a content durably and yield its name, the SHA-256 in hex.

        Until the block ends, nothing in this process deletes it.
        """

    @abstractmethod
    def read(self, name: str, start: int, end: int) -> Iterator[bytes]:
        """Yield the bytes from `start` up to, but not including, `end`, in chunks.

        An error that can be known early is raised by the call itself, not by the first chunk.
        """

    def delete(self, name: str, *, unless: Callable[[], bool]) -> bool:
        """Delete a blob that nobody holds and for which `unless()`, called last, is false.

        Return True if the blob was deleted. Another server may hold it, so delete only old ones.
        """
        with self._lock:
            if name in self._holders or unless():
                return False
            self._delete(name)
        return True

    @abstractmethod
    def names(self, *, before_ms: int) -> Iterator[str]:
        """Yield the names of all blobs last written before that time (ms since 1970, UTC)."""

    @property
    @abstractmethod
    def failure(self) -> str:
        """The reason if the last use failed within the last minute, else empty. Asks nothing."""

    @abstractmethod
    def _delete(self, name: str) -> None:
        """Delete a blob, if there is one."""

    def _release(self, name: str) -> None:
        """Count one holder less."""
        with self._lock:
            self._holders[name] -= 1
            self._holders += Counter()  # names with no holder are dropped


def open_blobs(settings: Settings) -> Blobs:
    """Return the blob engine of the setting `blobs`; callers with the same setting share one.

    Raises SettingInvalid if there is no such engine.
    """
    return _opened(
        settings.blobs,
        settings.data_folder / "blobs",
        settings.durability == "full",
        settings.blobs_seconds,
    )


# what is held is known to the engine alone, so that there must be one of each place in a process
@cache
def _opened(where: str, folder: Path, flush: bool, seconds: int) -> Blobs:  # noqa: FBT001 - a key of the cache
    if where == "local":
        return LocalBlobs(folder, flush=flush)
    if where.startswith("s3://"):
        return S3Blobs(where, seconds=seconds)
    raise SettingInvalid(f"`blobs`: {where!r} is not supported; use local or s3://BUCKET/PREFIX")


class LastFailure:
    """The last failure of a blob engine. Thread-safe."""

    def __init__(self) -> None:
        self._reason, self._at_s = "", 0.0  # monotonic seconds

    def note(self, reason: str) -> None:
        """Record a failure; an empty reason records that something worked."""
        if reason or self._reason:
            self._reason, self._at_s = reason, time.monotonic()

    def reason(self, within_s: float = FAILURE_SECONDS) -> str:
        """Return the reason if the last use failed within that time, else an empty text."""
        return self._reason if time.monotonic() - self._at_s < within_s else ""


class LocalBlobs(Blobs):
    """Blobs in a local folder: `ab/abcdef…`, each written to a temporary file, flushed and renamed.

    With `flush` False, a blob survives a crash of this process but may not survive a power cut.
    """

    def __init__(self, folder: Path, *, flush: bool = True) -> None:
        super().__init__()
        self._folder, self._flush = folder, flush
        self._last_write, self._last_read = LastFailure(), LastFailure()

    @contextmanager
    def hold(self, content: bytes | Iterable[bytes]) -> Iterator[str]:
        """See Blobs."""
        with _disk_errors(f"blobs in {self._folder}", self._last_write):
            name = self._put([content] if isinstance(content, bytes) else content)
        self._last_write.note("")
        try:
            yield name
        finally:
            self._release(name)

    def read(self, name: str, start: int, end: int) -> Iterator[bytes]:
        """See Blobs."""
        with _disk_errors(f"blob {name}", self._last_read):
            descriptor = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
        return self._pieces(name, descriptor, start, end)

    def names(self, *, before_ms: int) -> Iterator[str]:
        """See Blobs. Also deletes temporary files that a killed process left before that time."""
        if not self._folder.is_dir():
            return
        for path in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):  # deleted or renamed in the meantime
                if path.stat().st_mtime_ns < before_ms * 1_000_000:
                    if path.suffix == _PART:
                        path.unlink()
                    else:
                        yield path.name

    @property
    def failure(self) -> str:
        """See Blobs."""
        return self._last_write.reason() or self._last_read.reason()

    def _delete(self, name: str) -> None:
        with _disk_errors(f"blob {name}", self._last_write):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name

    def _put(self, pieces: Iterable[bytes]) -> str:
        """Write the content to a temporary file and rename it; the caller holds the name."""
        aside = self._folder / "new"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # parents get other modes
        aside.mkdir(mode=0o700, exist_ok=True)
        part = aside / (secrets.token_hex(8) + _PART)
        digest = hashlib.sha256()
        try:
            with open(part, "xb", opener=private) as file:
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
        with self._lock:
            # over the same content, if it is there: its time is then that of its last put
            part.rename(path)
            self._holders[name] += 1
        try:
            self._flush_folder(path.parent)
        except OSError:
            self._release(name)
            raise
        return name

    def _flush_folder(self, folder: Path) -> None:
        if self._flush:
            flush_path(folder)

    def _pieces(self, name: str, descriptor: int, start: int, end: int) -> Iterator[bytes]:
        with os.fdopen(descriptor, "rb") as file:
            file.seek(start)
            while start < end:
                with _disk_errors(f"blob {name}", self._last_read):
                    piece = file.read(min(CHUNK_BYTES, end - start))
                self._last_read.note("")
                if not piece:
                    raise BlobsUnavailable(f"blob {name} ends at {start:,} bytes; expected {end:,}")
                start += len(piece)
                yield piece


@contextmanager
def _disk_errors(what: str, last: LastFailure) -> Iterator[None]:
    """Raise BlobsUnavailable for a failure of the system in the block, and record it in `last`."""
    try:
        yield
    except OSError as error:
        reason = reason_of(error.errno)
        last.note(reason)
        raise BlobsUnavailable(f"{what}: {error}", reason=reason) from error


# --- Blobs in a bucket of an S3-compatible store, which several servers can share ------------
# (docs/decisions/0006-obstore.md).
#
# Keys, region and address come from the `AWS_…` variables that S3 tools read; the library reads
# them.

T = TypeVar("T")

REQUEST_BYTES = 4 << 20  # bytes per request: a store closes a stream that a slow reader keeps open
CONNECT_SECONDS_MAX = 5
# After a failure, further requests fail at once for this time: each would occupy a thread for as
# long as the bucket does not answer.
PAUSE_SECONDS = 1.0
_REASON = "the bucket does not work"
# The library reads these `AWS_…` variables only if it gets no options at all.
_CLIENT_VARIABLES = (
    "allow_http",
    "allow_invalid_certificates",
    "proxy_url",
    "proxy_ca_certificate",
    "proxy_excludes",
)


class S3Blobs(Blobs):
    """Blobs at `s3://BUCKET/PREFIX`, under their names."""

    def __init__(self, where: str, *, seconds: int = 60) -> None:
        """Open the bucket. A request fails after so many seconds, retries included.

        Raises SettingInvalid if the address is invalid or the library is not installed.
        """
        super().__init__()
        try:
            import obstore  # imported here: only this engine needs the extra
            from obstore.exceptions import BaseError
            from obstore.store import S3Store
        except ImportError as error:
            raise SettingInvalid(
                "`blobs`: files in S3 need a library: python -m pip install 'remembrancer[s3]'"
            ) from error
        attempt = timedelta(seconds=seconds / 2)
        options: Any = {
            **_client_variables(),
            "timeout": attempt,
            "connect_timeout": min(timedelta(seconds=CONNECT_SECONDS_MAX), attempt),
        }
        retry: Any = {"max_retries": 3, "retry_timeout": attempt}
        try:
            self._store = S3Store.from_url(where, client_options=options, retry_config=retry)
        except BaseError as error:
            raise SettingInvalid(
                f"`blobs`: {where!r} is not an address such as s3://BUCKET/PREFIX, or an AWS_…"
                " variable is wrong"
            ) from error
        self._library: Any = obstore
        self._failures = (BaseError, OSError)  # FileNotFoundError: the blob does not exist
        self._last_failure = LastFailure()
        self._where = where

    @contextmanager
    def hold(self, content: bytes | Iterable[bytes]) -> Iterator[str]:
        """See Blobs. The content is written even if it exists,

        so that its time is the time of the last write.
        """
        whole = content if isinstance(content, bytes) else b"".join(content)
        name = hashlib.sha256(whole).hexdigest()
        with self._lock:
            self._holders[name] += 1
        try:
            self._request(lambda: self._library.put(self._store, name, whole))
            yield name
        finally:
            self._release(name)

    def read(self, name: str, start: int, end: int) -> Iterator[bytes]:
        """See Blobs."""
        size = self._request(lambda: self._library.head(self._store, name)["size"])
        if size < end:
            raise BlobsUnavailable(f"blob {name} has {size:,} bytes; expected {end:,}")
        return self._pieces(name, start, end)

    def names(self, *, before_ms: int) -> Iterator[str]:
        """See Blobs."""
        try:
            for page in self._library.list(self._store):
                for entry in page:
                    put: datetime = entry["last_modified"]
                    if put.timestamp() * 1000 < before_ms:
                        yield entry["path"]
        except self._failures as error:
            raise self._unavailable(error) from error

    def _pieces(self, name: str, start: int, end: int) -> Iterator[bytes]:
        get = partial(self._library.get_range, self._store, name)
        for at in range(start, end, REQUEST_BYTES):
            until = min(at + REQUEST_BYTES, end)
            yield bytes(self._request(partial(get, start=at, end=until)))

    def _delete(self, name: str) -> None:
        self._request(lambda: self._library.delete(self._store, name))

    @property
    def failure(self) -> str:
        """See Blobs."""
        return self._last_failure.reason()

    def _request(self, send: Callable[[], T]) -> T:
        """Return the answer of the bucket. Raises BlobsUnavailable."""
        if reason := self._last_failure.reason(PAUSE_SECONDS):
            raise BlobsUnavailable(
                f"blobs at {self._where}: no request within {PAUSE_SECONDS} s of a failure",
                reason=reason,
            )
        try:
            answer = send()
        except FileNotFoundError as error:
            raise self._unavailable(error) from error
        except self._failures as error:
            self._last_failure.note(_REASON)
            raise self._unavailable(error) from error
        self._last_failure.note("")
        return answer

    def _unavailable(self, error: Exception) -> BlobsUnavailable:
        return BlobsUnavailable(
            f"blobs at {self._where}: {str(error).partition(chr(10))[0]}",
            reason="" if isinstance(error, FileNotFoundError) else _REASON,
        )


def _client_variables() -> dict[str, str]:
    values = {name: from_environment(f"AWS_{name.upper()}") for name in _CLIENT_VARIABLES}
    return {name: value for name, value in values.items() if value is not None}
