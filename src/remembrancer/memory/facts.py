"""Critical facts: what lasts, each kept once."""

from __future__ import annotations

from ..context import Context
from ..store import Transaction
from .summaries import SQL


def keep_fact(context: Context, tx: Transaction, *, space_id: int, session: int, event: int | None, text: str) -> bool:
    """Keep a fact, white space at its ends aside; False when the space knows it already. `event` is the turn it came with."""
    values = {"space_id": space_id, "session": session, "event": event, "text": text.strip()}
    return tx.run(SQL.add_fact, **values, now_ms=context.clock()) == 1
