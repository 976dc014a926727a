"""Critical facts: lasting statements about a user, each stored once."""

from __future__ import annotations

from dataclasses import dataclass

from ..context import Caller, Context
from ..search import IndexEntry
from ..store import Row, Transaction
from .layers import add_layer, fact_layer
from .paging import AFTER_ALL, space_rows, split_page
from .summaries.l1 import SQL

FACTS_LISTED_MAX = 50


@dataclass(frozen=True, slots=True)
class FactsPage:
    """One page of facts, and the id below which the next page begins.

    Each row has text, created_ms and event_id: the turn the fact came with, or None.
    """

    facts: list[Row]
    next: int | None


def list_facts(
    context: Context, caller: Caller, user_id: str, *, below: int | None = None
) -> FactsPage:
    """Return a page of a user's critical facts, newest first. Raises PinnedToOtherUser."""

    def query(tx: Transaction, space: Row) -> list[Row]:
        page = {"below": below or AFTER_ALL, "most": FACTS_LISTED_MAX + 1}
        return tx.all(SQL.facts_below, space_id=space.id, **page)

    facts, last = split_page(space_rows(context, caller, user_id, query), FACTS_LISTED_MAX)
    return FactsPage(facts, last and last.id)


def store_fact(
    context: Context,
    tx: Transaction,
    *,
    space_id: int,
    session: int,
    event: int | None,
    text: str,
    entry: IndexEntry,
) -> bool:
    """Store a fact, stripped of surrounding white space. Return False if the space has it.

    `event` is the row of the turn it came with, `entry` the index entry of its `layer_text`.
    """
    values = {"space_id": space_id, "session": session, "event": event, "text": text.strip()}
    new = tx.one_or_none(SQL.add_fact, **values, fact_id=context.ids("f_"), now_ms=context.clock())
    if new is not None:
        add_layer(tx, space_id=space_id, layer=fact_layer(text), item=new.id, entry=entry)
    return new is not None
