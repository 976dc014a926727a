"""Ids of embedders. Index rows name the embedder that made them, so vectors are never mixed."""

from __future__ import annotations

from .engine import Transaction
from .queries import load_queries

SQL = load_queries("remembrancer.store", "embedders.sql")
NEVER = 0  # id of an embedder without rows in this store


def embedder_id(tx: Transaction, name: str, *, make: bool) -> int:
    """Return the id of an embedder in this store; if it has none: a new one with `make`, else
    NEVER.
    """
    row = tx.one_or_none(SQL.embedder_id, name=name)
    if row is None and make:
        row = tx.one(SQL.add_embedder, name=name)
    return NEVER if row is None else int(row.id)
