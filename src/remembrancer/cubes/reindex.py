"""Derive cubes anew after the embedder or the analysis of words changed.

Until then they are found by their words.
"""

from __future__ import annotations

from ..context import Context
from ..search import analysis_id, index_entries
from ..store import Row, Transaction, embedder_id
from .lessons import SQL, cube_text

# cubes derived anew at a time: a search waits for their embedding, tens of milliseconds at most
BATCH = 16


def reindex_cubes(context: Context) -> bool:
    """Derive one batch of stale cubes anew; False when there was none.

    Raises StoreUnavailable, EmbedderUnavailable.
    """
    by = analysis_id(context.embedder)

    def find(tx: Transaction) -> list[Row]:
        return tx.all(SQL.stale, embedder=embedder_id(tx, by, make=False), most=BATCH)

    stale = context.store.read(find)
    if not stale:
        return False
    derived = index_entries(
        context.embedder, [cube_text(row.topic, row.essence, row.rules) for row in stale]
    )

    def write(tx: Transaction) -> None:
        number = embedder_id(tx, by, make=True)
        for row, new in zip(stale, derived, strict=True):
            tx.run(SQL.set_index, id=row.id, words=new.words, vectors=new.vectors, embedder=number)
        # the last: in this very transaction, so that no index stays behind the rows
        if not tx.all(SQL.stale, embedder=number, most=1):
            tx.run(SQL.revise)

    context.store.write(write, flush=False)  # what a power cut takes is derived once more
    return True
