"""Renew index entries of cubes after the embedder or the text analysis changed.

Until then searches find them by their words.
"""

from __future__ import annotations

from ..context import Context
from ..search import analysis_id, index_entries
from ..store import Row, Transaction, embedder_id
from .lessons import SQL, cube_text

# Cubes renewed per step. A search waits for their embedding, tens of milliseconds at most.
BATCH = 16


def reindex_cubes(context: Context) -> bool:
    """Renew one batch of stale cubes; return False if there was none.

    Raises StoreUnavailable, EmbedderUnavailable.
    """
    analysis = analysis_id(context.embedder)

    def find_stale(tx: Transaction) -> list[Row]:
        return tx.all(SQL.stale, embedder=embedder_id(tx, analysis, make=False), most=BATCH)

    stale = context.store.read(find_stale)
    if not stale:
        return False
    entries = index_entries(
        context.embedder,
        [cube_text(row.topic, row.essence, row.rules) for row in stale],
        needs_vectors=True,
    )

    def write(tx: Transaction) -> None:
        number = embedder_id(tx, analysis, make=True)
        for row, entry in zip(stale, entries, strict=True):
            tx.run(
                SQL.set_index, id=row.id, words=entry.words, vectors=entry.vectors, embedder=number
            )
        # The last batch increases the revision in its own transaction, so that no index stays
        # behind the rows.
        if not tx.all(SQL.stale, embedder=number, most=1):
            tx.run(SQL.revise)

    # Not flushed: a batch that a power cut loses is renewed again.
    context.store.write(write, flush=False)
    return True
