"""One fact with its timeline: the facts that it superseded and those that superseded it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...context import Caller, Context
from ...protocol.facts import Fact
from ...store import Transaction, load_queries
from ..paging import split_page
from .listing import read_facts
from .write import own_fact

SQL = load_queries("remembrancer.memory.facts", "timeline.sql")
TIMELINE_MAX = 100  # facts of a timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTimeline:
    """A fact and its timeline: the fact itself and all before and after it, oldest first."""

    user_id: str
    fact: Fact
    timeline: Sequence[Fact]  # at most TIMELINE_MAX
    is_truncated: bool  # older ones are left out


def fact_timeline(context: Context, caller: Caller, fact_id: str) -> FactTimeline:
    """Return a fact with its timeline. Raises FactUnknown, StoreUnavailable."""

    def read(tx: Transaction) -> FactTimeline:
        row, now_ms = own_fact(tx, caller, fact_id), context.clock()
        [fact] = read_facts(tx, caller, [row.id], now_ms)
        rows = tx.all(SQL.timeline, id=row.id, most=TIMELINE_MAX + 1)
        newest, last = split_page(rows, TIMELINE_MAX)
        return FactTimeline(
            user_id=row.user_id,
            fact=fact,
            timeline=read_facts(tx, caller, [one.id for one in reversed(newest)], now_ms),
            is_truncated=last is not None,
        )

    return context.store.read(read, account_id=caller.account_id)
