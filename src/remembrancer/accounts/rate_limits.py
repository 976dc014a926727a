"""Rate limits that all servers of a store share: the generic cell rate algorithm in one statement.

Each request uses up a part of a minute, which refills evenly. The statement locks the caller's row,
so that requests are counted one after the other on whichever server they arrive.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from ..store import Store, load_queries

SQL = load_queries("remembrancer.accounts", "rate_limits.sql")


class RateCount(NamedTuple):
    """The result of counting a request, and how much of a minute the caller has used up.

    The used part includes this request if it is allowed.
    """

    is_allowed: bool
    owed_us: int


def count_call(store: Store, kind: str, who: str, *, every_us: int) -> RateCount:
    """Count a request if the allowance permits it; it uses up `every_us` of a minute.

    Raises StoreUnavailable.
    """
    caller = {"kind": kind, "who": who, "now_us": _now_us()}
    allowed = store.count(SQL.count_request, **caller, every_us=every_us)
    if allowed is not None:
        return RateCount(is_allowed=True, owed_us=allowed.owed_us)
    usage = store.count(SQL.used_allowance, **caller)
    return RateCount(is_allowed=False, owed_us=usage.owed_us if usage else 0)


def forget_idle(store: Store) -> None:
    """Delete the rows of callers whose allowance is complete. Raises StoreUnavailable."""
    store.count(SQL.delete_idle, now_us=_now_us())


def _now_us() -> int:
    return time.time_ns() // 1_000
