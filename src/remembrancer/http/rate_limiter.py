"""Rate limiter: the generic cell rate algorithm, one number per key.

Servers that share a store share the numbers. Each takes one per cent of a minute's requests at a
time, so that counting does not cost every request a write. A server that cannot reach the store
counts alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass

from ..accounts.rate_limits import count_call
from ..protocol.errors import TooManyRequests
from ..store import Store, StoreUnavailable

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
        is_allowed, used_ns = self._count(key, interval_ns)
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
            with suppress(StoreUnavailable):  # see `_count`
                result = count_call(self._shared, self.kind, str(key), every_us=needed_ns // 1_000)
                counted = result.is_allowed, result.owed_us * 1_000
        is_allowed, used_ns = counted or self._count_here(key, needed_ns)
        return self._allowance(used_ns, needed_ns, is_allowed=is_allowed)

    def _allowance(self, used_ns: int, needed_ns: int, *, is_allowed: bool) -> Allowance:
        """Return the allowance of a key. Raises RateExceeded unless the request is allowed."""
        interval_ns = _MINUTE_NS // self.per_minute
        wait_s = 0 if is_allowed else max(_seconds_up(used_ns + needed_ns - _MINUTE_NS), 1)
        allowance = Allowance(
            kind=self.kind,
            per_minute=self.per_minute,
            remaining=(_MINUTE_NS - used_ns) // interval_ns,
            reset_s=_seconds_up(used_ns),
            wait_s=wait_s,
        )
        if not is_allowed:
            raise RateExceeded(allowance)
        return allowance

    def _count(self, key: Hashable, interval_ns: int) -> tuple[bool, int]:
        """Return True if the request is allowed, and the ns of the minute that the key has used."""
        if self._shared is not None:
            # The limiter must not fail a request; the action itself reports that the store is down.
            with suppress(StoreUnavailable):
                return self._count_shared(self._shared, key, interval_ns)
        return self._count_here(key, interval_ns)

    def _count_here(self, key: Hashable, needed_ns: int) -> tuple[bool, int]:
        """Count on this server alone. Returns like `_count`."""
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


def _seconds_up(ns: int) -> int:
    return -(-ns // 1_000_000_000)
