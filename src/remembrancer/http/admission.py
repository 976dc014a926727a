"""Admission of requests: rate limits, memory of bodies, shares of threads, later refusals."""

from __future__ import annotations

import asyncio
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from ..accounts.rate_limits import count_call
from ..protocol.errors import TooManyRequests, Unavailable
from ..store import Store, StoreUnavailable
from .problems import RETRY_AFTER_S

# --- The account of a request before its key or cookie is checked, so that accounts take turns

_KNOWN_MAX = 10_000  # keys and cookies; above this, all are learned again
_SESSION_COOKIES = ("__Host-session", "session")


class AccountGroups:
    """The accounts of keys, and of browsers, that were valid before. Thread-safe.

    All other requests are one group: a stranger with a thousand invented keys has no more turns
    than one.
    """

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(16)
        self._accounts: dict[bytes, int] = {}

    def of(self, headers: Headers) -> int | None:
        """Return the number of the account, None for strangers."""
        return self._accounts.get(self._digest(headers))

    def learn(self, headers: Headers, account_id: int) -> None:
        """Remember whose key or cookie this is; it has just been checked."""
        digest = self._digest(headers)
        if digest not in self._accounts:
            if len(self._accounts) >= _KNOWN_MAX:
                self._accounts = {}
            self._accounts[digest] = account_id

    def forget(self, headers: Headers) -> None:
        """Forget a key or cookie that is not valid any more."""
        self._accounts.pop(self._digest(headers), None)

    def _digest(self, headers: Headers) -> bytes:
        # Never the key itself, which must not stay in the memory.
        text = headers.get("authorization", "")
        if not text and "cookie" in headers:
            cookies = cookie_parser(headers["cookie"])
            text = next((cookies[name] for name in _SESSION_COOKIES if name in cookies), "")
        return blake2b(text.encode("latin-1", "replace"), key=self._salt, digest_size=16).digest()


# --- Rate limiter: the generic cell rate algorithm, one number per key -----------------------
# Servers that share a store share the numbers. Each takes one per cent of a minute's requests at a
# time, so that counting does not cost every request a write. A server that cannot reach the store
# counts alone.

_MINUTE_NS = 60_000_000_000
_TRACKED_MAX = 10_000  # keys; above this, idle ones are dropped


class RateExceeded(TooManyRequests):
    """Too many requests with this key. Wait for the seconds in the header `Retry-After`."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        super().__init__(retry_after=allowance.wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The remaining requests of a key. `wait_s` is 0 if this request is allowed."""

    kind: str
    per_minute: int
    remaining: int
    reset_s: int  # until the full allowance is available again
    wait_s: int = 0

    def headers(self) -> dict[str, str]:
        """Return the RateLimit headers (draft-ietf-httpapi-ratelimit-headers)."""
        return {
            "RateLimit-Policy": f'"{self.kind}";q={self.per_minute};w=60',
            "RateLimit": f'"{self.kind}";r={self.remaining};t={self.reset_s}',
        }


class RateLimiter:
    """Requests per minute, spread evenly, with a burst of one minute's allowance. Thread-safe."""

    def __init__(
        self,
        kind: str,
        per_minute: int,
        now_ns: Callable[[], int] = time.monotonic_ns,
        *,
        store: Store | None = None,
    ) -> None:
        """Create a limiter. `per_minute` 0 means unlimited.

        With a shared `store`, all its servers count together.
        """
        self.kind, self.per_minute = kind, per_minute
        self._now_ns = now_ns
        self._shared = store if store is not None and store.is_shared else None
        # Requests that are counted at once, and those that are counted and not yet made, by key,
        # with the ns of the minute used and when they lapse.
        self._batch = max(per_minute // 100, 1) if self._shared else 1
        self._prepaid: dict[Hashable, tuple[int, int, int]] = {}
        self._free_at: dict[Hashable, int] = {}  # when the key has its full burst again
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> Allowance | None:
        """Count one request of `key` and return its allowance, or None if unlimited.

        Raises RateExceeded.
        """
        if not self.per_minute:
            return None
        interval_ns = _MINUTE_NS // self.per_minute
        counted = None
        if self._shared is not None:
            # The limiter must not fail a request; the action itself reports that the store is down.
            with suppress(StoreUnavailable):
                counted = self._count_shared(self._shared, key, interval_ns)
        is_allowed, used_ns = counted or self._count_here(key, interval_ns)
        return self._allowance(used_ns, interval_ns * self._batch, is_allowed=is_allowed)

    def take_more(self, key: Hashable, further: int) -> Allowance | None:
        """Count a request that was counted once as `further` requests more: all, or none.

        Those that exceed what a minute allows are not counted, so that a request of that size is
        possible after a minute. Raises RateExceeded.
        """
        further = min(further, self.per_minute - 1)
        if further < 1:
            return None
        needed_ns = _MINUTE_NS // self.per_minute * further
        counted = None
        if self._shared is not None:
            with suppress(StoreUnavailable):  # see `take`
                result = count_call(self._shared, self.kind, str(key), every_us=needed_ns // 1_000)
                counted = result.is_allowed, result.owed_us * 1_000
        is_allowed, used_ns = counted or self._count_here(key, needed_ns)
        return self._allowance(used_ns, needed_ns, is_allowed=is_allowed)

    def _allowance(self, used_ns: int, needed_ns: int, *, is_allowed: bool) -> Allowance:
        """Return the allowance of a key. Raises RateExceeded unless the request is allowed."""
        interval_ns = _MINUTE_NS // self.per_minute
        wait_s = 0 if is_allowed else max(ceil((used_ns + needed_ns - _MINUTE_NS) / 1e9), 1)
        allowance = Allowance(
            kind=self.kind,
            per_minute=self.per_minute,
            remaining=(_MINUTE_NS - used_ns) // interval_ns,
            reset_s=ceil(used_ns / 1e9),
            wait_s=wait_s,
        )
        if not is_allowed:
            raise RateExceeded(allowance)
        return allowance

    def _count_here(self, key: Hashable, needed_ns: int) -> tuple[bool, int]:
        """Count on this server alone.

        Returns True if the request is allowed, and the ns of the minute that the key has used.
        """
        with self._lock:
            now = self._now_ns()
            used_ns = max(self._free_at.get(key, now) - now, 0)
            is_allowed = used_ns + needed_ns <= _MINUTE_NS
            if is_allowed:
                used_ns += needed_ns
                self._free_at[key] = now + used_ns
            if len(self._free_at) > _TRACKED_MAX:
                self._free_at = {k: at for k, at in self._free_at.items() if at > now}
        return is_allowed, used_ns

    def _count_shared(self, store: Store, key: Hashable, interval_ns: int) -> tuple[bool, int]:
        with self._lock:
            now = self._now_ns()
            left, used_ns, lapses_at = self._prepaid.pop(key, (0, 0, 0))
            if left and now < lapses_at:
                if left > 1:
                    self._prepaid[key] = left - 1, used_ns, lapses_at
                return True, used_ns - (left - 1) * interval_ns
        result = count_call(store, self.kind, str(key), every_us=self._batch * interval_ns // 1_000)
        used_ns = result.owed_us * 1_000
        if not result.is_allowed:
            return False, used_ns
        left = self._batch - 1
        if left:
            with self._lock:
                others, _, _ = self._prepaid.get(key, (0, 0, 0))  # of another thread just now
                self._prepaid[key] = left + others, used_ns, now + _MINUTE_NS
                if len(self._prepaid) > _TRACKED_MAX:
                    self._prepaid = {k: p for k, p in self._prepaid.items() if p[2] > now}
        return True, max(used_ns - left * interval_ns, 0)


# --- The memory that bodies of requests take, bounded in all and by account ------------------

# Of each body, what is not counted: small calls pass while others fill the memory. Their number is
# bounded by that of the requests in flight.
SMALL_BYTES = 64 << 10


@dataclass(slots=True)
class InFlight:
    """A request in flight: its account, None for strangers, and the bytes that it holds."""

    account_id: int | None
    entered_as: int | None = None  # the account as it was known at its head
    body_bytes: int = 0
    counted_bytes: int = 0


class RequestMemory:
    """The bytes of all bodies, from their arrival to the response. On the event loop only."""

    def __init__(self, bytes_max: int) -> None:
        """Create the count. One account may hold half of `bytes_max`."""
        self._bytes_max = bytes_max
        self._by_account = Counter[int | None]()
        self.held = 0  # bytes

    def grow(self, request: InFlight, size: int) -> None:
        """Count further bytes of a body. Raises Unavailable.

        The only large body of an account, or of all, is never too much.
        """
        request.body_bytes += size
        more = max(request.body_bytes - SMALL_BYTES, 0) - request.counted_bytes
        if not more:
            return
        others = self.held - request.counted_bytes
        own_others = self._by_account[request.account_id] - request.counted_bytes
        if (others and self.held + more > self._bytes_max) or (
            own_others and self._by_account[request.account_id] + more > self._bytes_max // 2
        ):
            raise Unavailable(
                "Too many large bodies are on their way or wait. Try again in a moment.",
                retry_after=RETRY_AFTER_S,
            )
        self._count(request, more)

    def assign(self, request: InFlight, account_id: int | None) -> None:
        """Count what a request holds as that of an account, which has just been recognised."""
        size = request.counted_bytes
        self._count(request, -size)
        request.account_id = account_id
        self._count(request, size)

    def release(self, request: InFlight) -> None:
        """Count nothing of a request any more."""
        if request.counted_bytes:
            self._count(request, -request.counted_bytes)

    def _count(self, request: InFlight, size: int) -> None:
        request.counted_bytes += size
        self.held += size
        self._by_account[request.account_id] += size
        if not self._by_account[request.account_id]:
            del self._by_account[request.account_id]


# --- Later answers to callers that are refused again and again, so that they ask less often --

PER_SECOND = 10  # refusals of one caller that are answered at once
BURST_SECONDS = 2.0  # of them
_WAITING_MAX = 1000  # further ones are answered at once
_REFUSED_MAX = 10_000  # callers; above this, those without a delay are dropped


class Refusals:
    """The delays of refusals, by caller. On the event loop only."""

    def __init__(self, seconds_max: float) -> None:
        """Create them. No refusal waits longer than `seconds_max`; 0 disables them."""
        self._seconds_max = seconds_max
        self._paid_at: dict[Hashable, float] = {}
        self.waiting = 0  # answers that are delayed

    async def delay(self, caller: Hashable) -> None:
        """Count a refusal of a caller, and wait if it had too many."""
        seconds = min(self._seconds_due(caller), self._seconds_max)
        if seconds <= 0 or self.waiting >= _WAITING_MAX:
            return
        self.waiting += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self.waiting -= 1

    def _seconds_due(self, caller: Hashable) -> float:
        now = asyncio.get_running_loop().time()
        paid_at = max(self._paid_at.get(caller, now), now)
        # Not more than the longest delay, so that a caller is soon answered at once again.
        limit = now + BURST_SECONDS + self._seconds_max
        self._paid_at[caller] = min(paid_at + 1 / PER_SECOND, limit)
        if len(self._paid_at) > _REFUSED_MAX:
            self._paid_at = {one: at for one, at in self._paid_at.items() if at > now}
        return paid_at - now - BURST_SECONDS


# --- Let other threads run more often while one computes for long ----------------------------
# A search passes several threads, and each waits up to the switch interval for one that computes:
# with Python's 5 ms, searches took up to fourteen times as long while a turn of 900 KB was
# analysed. A short interval costs throughput, so it lasts as long as such work (bench/results.md,
# large turns).

SECONDS = 0.0002


class ShortTurns:
    """A context in which threads switch often. Nests; enter and leave it in one thread."""

    def __init__(self) -> None:
        self._entered = 0
        self._usual_seconds = sys.getswitchinterval()

    def __enter__(self) -> None:
        if self._entered == 0:
            self._usual_seconds = sys.getswitchinterval()
            sys.setswitchinterval(SECONDS)
        self._entered += 1

    def __exit__(self, *_: object) -> None:
        self._entered -= 1
        if self._entered == 0:
            sys.setswitchinterval(self._usual_seconds)
