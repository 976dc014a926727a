"""How often somebody called, counted for all servers of a store: the generic cell rate algorithm in
one statement.

Whoever calls has used up a part of a minute that flows back evenly. The row of a caller is locked
for as long as its statement takes, so that calls are counted one after the other, at whichever
server they arrive.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from ..store import Store, load_queries

SQL = load_queries("remembrancer.accounts", "rate_limits.sql")


class RateCount(NamedTuple):
    """Whether a call is allowed, and how much of a minute the caller has used up, this call
    included when it is allowed.
    """

    is_allowed: bool
    owed_us: int


def count_call(store: Store, kind: str, who: str, *, every_us: int) -> RateCount:
    """Count a call, each of which uses up `every_us` of a minute, where the minute holds it.

    Raises StoreUnavailable.
    """
    whose = {"kind": kind, "who": who, "now_us": _now_us()}
    taken = store.count(SQL.count_request, **whose, every_us=every_us)
    if taken is not None:
        return RateCount(is_allowed=True, owed_us=taken.owed_us)
    found = store.count(SQL.used_allowance, **whose)
    return RateCount(is_allowed=False, owed_us=found.owed_us if found else 0)


def forget_idle(store: Store) -> None:
    """Let go of those who have their whole allowance back. Raises StoreUnavailable."""
    store.count(SQL.delete_idle, now_us=_now_us())


def _now_us() -> int:
    return time.time_ns() // 1_000
