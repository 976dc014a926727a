"""Blobs in a bucket of an S3-compatible store, which several servers can share
(docs/decisions/0006-obstore.md).

Keys, region and address come from the `AWS_…` variables that S3 tools read; the library reads
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from ..settings import SettingInvalid, from_environment
from .blobs import BlobLocks, BlobsUnavailable, LastFailure

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


class S3Blobs:
    """Blobs at `s3://BUCKET/PREFIX`, under their names."""

    def __init__(self, where: str, *, seconds: int = 60) -> None:
        """Open the bucket. A request fails after so many seconds, retries included.

        Raises SettingInvalid if the address is invalid or the library is not installed.
        """
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
        try:
            self._store = S3Store.from_url(
                where,
                client_options=options,
                retry_config={"max_retries": 3, "retry_timeout": attempt},
            )
        except BaseError as error:
            raise SettingInvalid(
                f"`blobs`: {where!r} is not an address such as s3://BUCKET/PREFIX, or an AWS_…"
                " variable is wrong"
            ) from error
        self._library: Any = obstore
        self._failures = (BaseError, OSError)  # FileNotFoundError: the blob does not exist
        self._last_failure = LastFailure()
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
            self._request(lambda: self._library.put(self._store, name, whole))
            yield name
        finally:
            self._holds.release(name)

    def read(self, name: str, start: int, end: int) -> Iterator[bytes]:
        """See Blobs."""
        size = self._request(lambda: self._library.head(self._store, name)["size"])
        if size < end:
            raise BlobsUnavailable(f"blob {name} has {size:,} bytes; expected {end:,}")
        return self._pieces(name, start, end)

    def delete(self, name: str, *, unless: Callable[[], bool]) -> bool:
        """See Blobs. Another server may hold the blob, so only old blobs are deleted."""
        with self._holds.lock:
            if name in self._holds or unless():
                return False
            self._request(lambda: self._library.delete(self._store, name))
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
            yield self._request(partial(self._range, name, at, min(at + REQUEST_BYTES, end)))

    def _range(self, name: str, start: int, end: int) -> bytes:
        return bytes(self._library.get_range(self._store, name, start=start, end=end))

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
