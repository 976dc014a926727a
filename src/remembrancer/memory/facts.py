"""Critical facts: what lasts, each kept once."""

from __future__ import annotations

from dataclasses import dataclass

from ..accounts import space_user_id
from ..context import Caller, Context
from ..store import Row, Transaction
from .spaces import SQL as SPACES
from .summaries.l1 import SQL

FACTS_LISTED_MAX = 50


@dataclass(frozen=True, slots=True)
class FactsPage:
    """Some facts (text, created_ms, and the event_id of the turn each came with, or None), and
    below which the next are.
    """

    facts: list[Row]
    next: int | None


def list_facts(
    context: Context, caller: Caller, user_id: str, *, below: int | None = None
) -> FactsPage:
    """A page of a user's critical facts, newest first. Raises Pinned."""
    asked = space_user_id(caller, user_id)

    def read(tx: Transaction) -> list[Row]:
        space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=asked)
        return (
            []
            if space is None
            else tx.all(
                SQL.facts_below,
                space_id=space.id,
                below=below or 1 << 62,
                most=FACTS_LISTED_MAX + 1,
            )
        )

    rows = context.store.read(read, account_id=caller.account_id)
    shown = rows[:FACTS_LISTED_MAX]
    return FactsPage(shown, shown[-1].id if len(rows) > len(shown) else None)


def store_fact(
    context: Context, tx: Transaction, *, space_id: int, session: int, event: int | None, text: str
) -> bool:
    """Keep a fact, white space at its ends aside; False when the space knows it already.

    `event` is the turn it came with.
    """
    values = {"space_id": space_id, "session": session, "event": event, "text": text.strip()}
    return tx.run(SQL.add_fact, **values, now_ms=context.clock()) == 1
