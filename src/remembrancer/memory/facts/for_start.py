"""The facts of a start pack: pinned ones, then the most useful."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from ...store import Row, Transaction
from .write import SQL

FACTS_MAX = 200  # of a pack; candidates of each kind as well
HALF_LIFE_DAYS = 90.0  # of the usefulness of a fact since it was last shown
_DAY_MS = 24 * 60 * 60 * 1000


def start_facts(tx: Transaction, space_id: int, now_ms: int, as_of_ms: int | None) -> list[Row]:
    """Return the facts that hold, pinned ones first, then the most useful: text and kind.

    Useful are those that searches showed often and lately, and new ones. With `as_of_ms` (ms since
    1970): the facts that held then, pinned ones first, then the newest.
    """
    if as_of_ms is not None:
        return tx.all(
            SQL.facts_as_of, space_id=space_id, as_of_ms=as_of_ms, now_ms=now_ms, most=FACTS_MAX
        )
    rows = tx.all(SQL.facts_for_start, space_id=space_id, now_ms=now_ms, most=FACTS_MAX)
    rows.sort(key=lambda row: (row.pinned, _usefulness(row, now_ms), row.id), reverse=True)
    return rows[:FACTS_MAX]


def _usefulness(row: Row, now_ms: int) -> float:
    days: float = max(now_ms - row.used_ms, 0) / _DAY_MS
    return float(math.log2(2 + row.uses) * 0.5 ** (days / HALF_LIFE_DAYS))


def note_uses(tx: Transaction, fact_ids: Sequence[str], now_ms: int) -> None:
    """Count that an answer showed facts."""
    tx.run(SQL.note_uses, fact_ids=json.dumps(list(fact_ids)), now_ms=now_ms)
