"""What derived words and vectors, by number:

rows that search derives name it, so that what another one made is never mixed in.
"""

from __future__ import annotations

from .engine import Transaction
from .queries import load_queries

SQL = load_queries("remembrancer.store", "embedders.sql")
NEVER = 0  # the number of an embedder that made nothing here: no row has it


def embedder_id(tx: Transaction, name: str, *, make: bool) -> int:
    """The number an embedder goes by in this store; where it has none yet, a new one with `make`,
    else NEVER.
    """
    known = tx.one_or_none(SQL.embedder_id, name=name)
    if known is None and make:
        known = tx.one(SQL.add_embedder, name=name)
    return NEVER if known is None else int(known.id)
