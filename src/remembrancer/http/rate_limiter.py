"""How often a key may call: the generic cell rate algorithm, one number a key.

Where servers share a store, they share the numbers too; a server that cannot reach them counts by
itself meanwhile.
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
_TRACKED_MAX = 10_000  # keys; those that have been idle are dropped when there are more


class RateExceeded(TooManyRequests):
    """Too many requests with this key. Wait as many seconds as the header `Retry-After` says."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        super().__init__(retry_after=allowance.wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a key may still do. `wait_s` is 0 when the call at hand is allowed."""

    kind: str
    per_minute: int
    remaining: int
    reset_s: int  # until the whole minute's worth is there again
    wait_s: int = 0

    def headers(self) -> dict[str, str]:
        """The RateLimit headers (draft-ietf-httpapi-ratelimit-headers)."""
        return {
            "RateLimit-Policy": f'"{self.kind}";q={self.per_minute};w=60',
            "RateLimit": f'"{self.kind}";r={self.remaining};t={self.reset_s}',
        }


class RateLimiter:
    """Calls per minute, spread evenly, with a burst of a whole minute's worth.

    Safe to use from many threads.
    """

    def __init__(
        self,
        kind: str,
        per_minute: int,
        now_ns: Callable[[], int] = time.monotonic_ns,
        *,
        store: Store | None = None,
    ) -> None:
        """`per_minute` 0:

        no limit at all. With a `store` that is shared, the limit is one of all its servers.
        """
        self.kind, self.per_minute = kind, per_minute
        self._now_ns = now_ns
        self._shared = store if store is not None and store.is_shared else None
        self._free_at: dict[Hashable, int] = {}  # when the key has its whole burst back
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> Allowance | None:
        """Count one call of `key`; what is left to it, None without a limit.

        Raises RateExceeded.
        """
        if not self.per_minute:
            return None
        every = _MINUTE_NS // self.per_minute
        allowed, owed = self._counted(key, every)
        wait_s = 0 if allowed else max(_seconds_up(owed + every - _MINUTE_NS), 1)
        allowance = Allowance(
            kind=self.kind,
            per_minute=self.per_minute,
            remaining=(_MINUTE_NS - owed) // every,
            reset_s=_seconds_up(owed),
            wait_s=wait_s,
        )
        if not allowed:
            raise RateExceeded(allowance)
        return allowance

    def _counted(self, key: Hashable, every: int) -> tuple[bool, int]:
        """Whether a call is allowed, and how many ns of a minute the key has used up then."""
        if self._shared is not None:
            with suppress(
                StoreUnavailable
            ):  # what the call is for will say so; the limiter is not what stops a server
                counted = count_call(self._shared, self.kind, str(key), every_us=every // 1_000)
                return counted.is_allowed, counted.owed_us * 1_000
        with self._lock:
            now = self._now_ns()
            owed = max(self._free_at.get(key, now) - now, 0)
            allowed = owed + every <= _MINUTE_NS
            if allowed:
                owed += every
                self._free_at[key] = now + owed
            if len(self._free_at) > _TRACKED_MAX:
                self._free_at = {k: at for k, at in self._free_at.items() if at > now}
        return allowed, owed


def _seconds_up(ns: int) -> int:
    return -(-ns // 1_000_000_000)
