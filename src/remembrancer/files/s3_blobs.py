"""Blobs in a bucket of an S3-compatible store, which several servers can share
(docs/decisions/0006-obstore.md).

Keys, region and address come from the `AWS_…` variables that S3 tools read; the library reads
them, not this module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from ..settings import SettingInvalid
from .blobs import BlobLocks, BlobsUnavailable

REQUEST_BYTES = 4 << 20  # bytes per request: a store closes a stream that a slow reader keeps open


class S3Blobs:
    """Blobs at `s3://BUCKET/PREFIX`, under their names."""

    def __init__(self, where: str) -> None:
        """Open the bucket.

        Raises SettingInvalid if the address is invalid or the library is not installed.
        """
        try:
            import obstore  # imported here: only this engine needs the extra
            from obstore.exceptions import BaseError
            from obstore.store import S3Store
        except ImportError as error:
            raise SettingInvalid(
                "`blobs`: files in S3 need a library: pip install 'remembrancer[s3]'"
            ) from error
        try:
            self._store = S3Store.from_url(where, retry_config={"max_retries": 3})
        except BaseError as error:
            raise SettingInvalid(
                f"`blobs`: {where!r} is not an address such as s3://BUCKET/PREFIX, or an AWS_…"
                " variable is wrong"
            ) from error
        self._library: Any = obstore
        self._failures = (BaseError, OSError)  # FileNotFoundError: the blob does not exist
        self._where = where
        self._holds = BlobLocks()

    @contextmanager
    def hold(self, content: bytes | Iterable[bytes]) -> Iterator[str]:
        """See Blobs. The content is written even if it exists,

        so that its time is the time of the last write.
        """
        whole = content if isinstance(content, bytes) else b"".join(content)
        name = hashlib.sha256(whole).hexdigest()
        with self._holds.lock:
            self._holds.take(name)
        try:
            try:
                self._library.put(self._store, name, whole)
            except self._failures as error:
                raise self._unavailable(error) from error
            yield name
        finally:
            self._holds.release(name)

    def read(self, name: str, start: int, end: int) -> Iterator[bytes]:
        """See Blobs."""
        try:
            size = self._library.head(self._store, name)["size"]
        except self._failures as error:
            raise self._unavailable(error) from error
        if size < end:
            raise BlobsUnavailable(f"blob {name} has {size:,} bytes; expected {end:,}")
        return self._pieces(name, start, end)

    def delete(self, name: str, *, unless: Callable[[], bool]) -> bool:
        """See Blobs. Another server may hold the blob, so only old blobs are deleted."""
        with self._holds.lock:
            if name in self._holds or unless():
                return False
            try:
                self._library.delete(self._store, name)
            except self._failures as error:
                raise self._unavailable(error) from error
        return True

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
        for at in range(start, end, REQUEST_BYTES):
            try:
                yield bytes(
                    self._library.get_range(
                        self._store, name, start=at, end=min(at + REQUEST_BYTES, end)
                    )
                )
            except self._failures as error:
                raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> BlobsUnavailable:
        return BlobsUnavailable(f"blobs at {self._where}: {str(error).partition(chr(10))[0]}")
