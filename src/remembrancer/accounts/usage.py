"""Usage counters by day, account and key: counted in memory and added to the store once a minute.

A killed process loses its last minute. The counters show how the service is used; they are not
meant for billing.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from ..context import Caller, Records
from ..protocol.text import DAY_MS
from ..store import Row, StoreUnavailable, Transaction, load_queries

SQL = load_queries("remembrancer.accounts", "usage.sql")
Kind: TypeAlias = Literal[
    "turn",
    "imported",  # turns of an import, which no agent stored
    "search",
    "chat",
    "run",
    "check",
    "model_call",
    "model_failure",
    "tokens_read",
    "tokens_written",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
DAYS_SHOWN = 30
THE_SERVICE = 0  # account_id of usage without an account, such as model calls
FLUSH_INTERVAL_S = 60.0
_log = logging.getLogger(__name__)


class UsageCounter:
    """Counts usage in memory until it is added to the store.

    Safe to use from many threads; counting never waits for the store.
    """

    def __init__(self, records: Records, every_s: float = FLUSH_INTERVAL_S) -> None:
        self._records, self._every_s = records, every_s
        self._counts: Counter[tuple[int, int, int, Kind]] = Counter()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._closed = False

    def count(
        self, kind: Kind, *, account_id: int = THE_SERVICE, key_id: int = 0, times: int = 1
    ) -> None:
        """Add to a counter of today."""
        if times < 1:
            return
        day = self._records.clock() // DAY_MS
        with self._lock:
            self._counts[day, account_id, key_id, kind] += times
            if self._timer is None and not self._closed:
                self._timer = threading.Timer(self._every_s, self.add)
                # A process that was not closed must not wait a minute to exit.
                self._timer.daemon = True
                self._timer.start()

    def add(self) -> None:
        """Add the counters to the store; on failure keep them for the next time."""
        with self._lock:
            counts, self._counts, self._timer = self._counts, Counter(), None
        try:
            if counts:
                self._records.store.write(lambda tx: _add(tx, counts), flush=False)
        except StoreUnavailable as error:
            _log.warning("usage counters not stored yet: %s", error)
            with self._lock:
                self._counts.update(counts)

    def close(self) -> None:
        """Add the remaining counters. Call it before the store is closed."""
        with self._lock:
            self._closed, timer = True, self._timer
        if timer is not None:
            timer.cancel()
        self.add()


def count_at_once(
    tx: Transaction, kind: Kind, *, now_ms: int, account_id: int, key_id: int, times: int
) -> None:
    """Add to a counter of today in the transaction of what is counted."""
    if times > 0:
        _add(tx, Counter({(now_ms // DAY_MS, account_id, key_id, kind): times}))


def _add(tx: Transaction, counts: Counter[tuple[int, int, int, Kind]]) -> None:
    for (day, account_id, key_id, kind), count in counts.items():
        tx.run(
            SQL.count_usage, day=day, account_id=account_id, key_id=key_id, kind=kind, count=count
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUsage:
    """Usage of one key, or of an account's browsers (`hint` is None)."""

    account: str
    key_id: int
    hint: str | None
    label: str | None
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """Usage of the last days, oldest first, ending today.

    `days` are numbers of days since 1970-01-01; `by_day` has one count per day for each kind.
    """

    days: list[int]
    by_day: dict[str, list[int]]
    by_key: list[KeyUsage]

    def total(self, kind: Kind) -> int:
        """Return the sum over all days."""
        return sum(self.by_day[kind])


def usage_of(
    records: Records, caller: Caller, days: int = DAYS_SHOWN, *, own: bool = False
) -> UsageReport:
    """Return the usage of the caller's account; for an owner, of all accounts unless `own`.

    Raises StoreUnavailable.
    """
    today = records.clock() // DAY_MS
    dates = list(range(today - days + 1, today + 1))
    filters = {
        "since": dates[0],
        "account_id": None if caller.is_owner and not own else caller.account_id,
    }

    def read(tx: Transaction) -> tuple[list[Row], list[Row]]:
        return tx.all(SQL.usage_of_days, **filters), tx.all(SQL.usage_of_keys, **filters)

    daily, keyed = records.store.read(read)
    by_day = {str(kind): [0] * days for kind in KINDS}
    for row in daily:
        if row.kind in by_day and row.day <= today:
            by_day[row.kind][row.day - dates[0]] = row.count
    by_key: dict[tuple[str, int], KeyUsage] = {}
    for row in keyed:
        usage = KeyUsage(account=row.account, key_id=row.key_id, hint=row.hint, label=row.label)
        by_key.setdefault((row.account, row.key_id), usage).counts[row.kind] = row.count
    return UsageReport(days=dates, by_day=by_day, by_key=list(by_key.values()))
