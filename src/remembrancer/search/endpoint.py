"""Call a configured HTTP endpoint of models: deadlines, retries, and pauses while it is down."""

from __future__ import annotations

import json
import re
import threading
import time
import weakref
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

ANSWER_BYTES_MAX = 64 << 20
DETAIL_CHARACTERS_MAX = 200
TRIES = 3  # per request, within its deadline
FIRST_WAIT_SECONDS = 0.2  # before the first retry; doubled before each further one
PAUSE_SECONDS = (1.0, 30.0)  # after a failed request: the first pause, and the longest
_WORTH_RETRY = frozenset((408, 425, 429, 500, 502, 503, 504))
_REFUSED = frozenset((400, 413, 422))


class EndpointFailed(Exception):
    """The endpoint gave no usable answer. The message says why; it has no key."""


class RequestRefused(EndpointFailed):
    """The endpoint works, but not with this request, such as one with too long a text."""


def is_endpoint(url: str) -> bool:
    """Return True if this is an address to send texts to: http or https, without a password."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        )
    except ValueError:
        return False


def is_local(url: str) -> bool:
    """Return True if the host of an address is a loopback address or `localhost`."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class JsonEndpoint:
    """One address. Safe to use from many threads.

    After a failure it is down for a while: requests fail at once, so that searches and writes do
    not wait for it one after another.
    """

    def __init__(
        self, url: str, *, key: str = "", seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Connect to nothing yet. `seconds` is the deadline of one request, retries included."""
        import httpx2  # imported here: most servers have no such endpoint

        self.url, self._seconds, self._now = url, seconds, now
        headers = {"Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        # Ignore proxies and passwords in the environment: the text goes only to this address.
        self._client = httpx2.Client(headers=headers, trust_env=False, follow_redirects=False)
        # An embedder that another replaced serves its last requests before its connections close.
        weakref.finalize(self, self._client.close)
        self._lock, self._trying = threading.Lock(), threading.Lock()
        self._pause_s, self._down_until = 0.0, 0.0

    @property
    def is_down(self) -> bool:
        """Return True while requests fail at once, because the last one failed."""
        return self._now() < self._down_until

    @property
    def is_failing(self) -> bool:
        """Return True if the last request failed."""
        return self._pause_s > 0

    def post(self, body: Any) -> Any:
        """Send JSON and return the JSON of the answer. Raises EndpointFailed.

        After a failure one request at a time tries again; the others fail at once.
        """
        if self.is_down:
            raise EndpointFailed(f"{self.url} failed a moment ago")
        if not self.is_failing:
            return self._post(body)
        if not self._trying.acquire(blocking=False):
            raise EndpointFailed(f"{self.url} failed, and another request is trying it again")
        try:
            return self._post(body)
        finally:
            self._trying.release()

    def _post(self, body: Any) -> Any:
        until = self._now() + self._seconds
        wait_s = FIRST_WAIT_SECONDS
        for attempt in range(1, TRIES + 1):
            try:
                answer = self._post_once(body, until)
            except _Retryable as error:
                if attempt == TRIES or self._now() + wait_s >= until:
                    self._pause()
                    raise EndpointFailed(str(error)) from error
                time.sleep(wait_s)
                wait_s *= 2
            else:
                self._pause_s = 0.0
                return answer
        raise AssertionError  # the last attempt returns or raises

    def _post_once(self, body: Any, until: float) -> Any:
        import httpx2

        left_s = max(until - self._now(), 0.01)
        raw = bytearray()
        try:
            with self._client.stream("POST", self.url, json=body, timeout=left_s) as response:
                for chunk in response.iter_raw():
                    raw += chunk
                    if len(raw) > ANSWER_BYTES_MAX:
                        raise EndpointFailed(f"{self.url}: more than {ANSWER_BYTES_MAX:,} bytes")
                    if self._now() > until:  # an endpoint may send a byte a second
                        raise _Retryable(f"{self.url}: no answer within {self._seconds:g} s")
                status = response.status_code
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise _Retryable(f"{self.url}: {type(error).__name__}: {error}") from error
        if status in _WORTH_RETRY:
            raise _Retryable(f"{self.url}: HTTP {status}: {_line(bytes(raw))}")
        if status in _REFUSED:
            raise RequestRefused(f"{self.url}: HTTP {status}: {_line(bytes(raw))}")
        try:
            if status == 200:
                return json.loads(raw)
            detail = f"HTTP {status}: {_line(bytes(raw))}"
        except (ValueError, RecursionError):
            detail = "the answer is not JSON"
        self._pause()  # every request will fail until the owner changes the address or the key
        raise EndpointFailed(f"{self.url}: {detail}")

    def _pause(self) -> None:
        with self._lock:
            first, most = PAUSE_SECONDS
            self._pause_s = min(max(first, 2 * self._pause_s), most)
            self._down_until = self._now() + self._pause_s


class _Retryable(Exception):
    """A failure that another try may not have."""


def _line(raw: bytes) -> str:
    text = raw[: 4 * DETAIL_CHARACTERS_MAX].decode("utf-8", "replace")
    return re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in text)).strip()[
        :DETAIL_CHARACTERS_MAX
    ]
