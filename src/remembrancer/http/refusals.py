"""Later answers to callers that are refused again and again, so that they ask less often."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

PER_SECOND = 10  # refusals of one caller that are answered at once
BURST_SECONDS = 2.0  # of them
_WAITING_MAX = 1000  # further ones are answered at once
_TRACKED_MAX = 10_000  # callers; above this, those without a delay are dropped


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
        if len(self._paid_at) > _TRACKED_MAX:
            self._paid_at = {one: at for one, at in self._paid_at.items() if at > now}
        return paid_at - now - BURST_SECONDS
