"""The memory that bodies of requests take, bounded in all and by account."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..protocol.errors import Unavailable
from .problems import RETRY_AFTER_S

# Of each body, what is not counted: small calls pass while others fill the memory. Their number is
# bounded by that of the requests in flight.
SMALL_BYTES = 64 << 10


@dataclass(slots=True)
class InFlight:
    """A request in flight: its account, None for strangers, and the bytes that it holds."""

    account_id: int | None
    entered_as: int | None = field(init=False)  # the account as it was known at its head
    body_bytes: int = 0
    counted_bytes: int = 0

    def __post_init__(self) -> None:
        self.entered_as = self.account_id


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
        self._count(request, -request.counted_bytes)

    def _count(self, request: InFlight, size: int) -> None:
        request.counted_bytes += size
        self.held += size
        self._by_account[request.account_id] += size
        if not self._by_account[request.account_id]:
            del self._by_account[request.account_id]
