"""The search index of large spaces inside PostgreSQL, built from rows in the background.

Writes do not touch it: it lags behind, and a search reads the latest rows in addition. Erasing
updates it at once (`erase_search` in forget.sql).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...context import Context
from ...search import EntryBatch, SpaceTerms, analysis_id
from ...store import Row, Transaction, embedder_id, load_queries
from ...store.embedders import NEVER
from ..spaces import SQL as SPACES
from ..spaces import batch_of, number_of, row_id

SQL = load_queries("remembrancer.memory.recall", "postgresql.sql")
ERASE = load_queries("remembrancer.memory.history", "forget.sql")
BATCH = 1_000  # events indexed per step
CLEARED = 10_000  # parts deleted per step after the embedder changed
# Fewer new events than this are not worth a transaction; searches read them from their rows.
SLACK = 500
# In a space with more parts the vectors get an HNSW index; in a smaller one all are compared.
EXACT_PARTS_MAX = 20_000
_LINK_BYTES = 400  # memory for each part while its HNSW index is built, in addition to its signs
_LINK_MEMORY_BYTES_MAX = 2 << 30


def statistics_of(row: Row) -> SpaceTerms:
    """Return the term statistics of the indexed part of a space, from its row."""
    languages = np.frombuffer(row.languages or bytes(8 * 256), "<i8")
    speakers = frozenset(np.frombuffer(row.speakers, "<u4").tolist())
    return SpaceTerms(row.events, row.parts, row.words, row.logs, row.squares, languages, speakers)


def prefixed(space_id: int, term: int) -> int:
    """Return a term as stored in PostgreSQL, where each space has its own terms."""
    return space_id << 32 | term


def advance_index(context: Context) -> bool:
    """Do one step of maintenance; return False if there was nothing to do.

    A step indexes some events, deletes some parts of another embedder, or builds the HNSW index of
    a space, which takes minutes for a million parts. Raises StoreUnavailable.
    """
    least = context.settings.database_search_events
    if not context.store.supports_vector_search or not least:
        return False
    by = analysis_id(context.embedder)

    def find_work(tx: Transaction) -> tuple[Row | None, Row | None, list[Row]]:
        embedder = embedder_id(tx, by, make=False)
        if embedder == NEVER:
            return None, None, []
        behind = tx.one_or_none(SQL.behind, embedder=embedder, least=least, slack=min(SLACK, least))
        return (
            behind,
            tx.one_or_none(SQL.unlinked, embedder=embedder, parts=EXACT_PARTS_MAX),
            tx.all(SQL.orphaned),
        )

    behind, unlinked, orphaned = context.store.read(find_work)
    for index in orphaned:
        context.store.run_outside_transaction(f'drop index concurrently if exists "{index.name}"')
    if behind is not None:
        # Not flushed: a step that a power cut loses is done again.
        context.store.write(
            lambda tx: _index_next(context, tx, behind.id),
            account_id=behind.account_id,
            flush=False,
        )
        return True
    return unlinked is not None and build_vector_index(context, unlinked)


def _index_next(context: Context, tx: Transaction, space_id: int) -> None:
    """Index the next events of a space, or delete some parts of another embedder."""
    numbers = context.embedder_numbers(tx)
    of_space = {"space_id": space_id}
    indexed = tx.one_or_none(SQL.indexed_space, **of_space)
    if indexed is not None and indexed.embedder != numbers["embedder"]:
        if not tx.run(SQL.clear_some, most=CLEARED, **of_space):
            tx.run(SQL.delete_terms, **of_space)
            tx.run(SQL.delete_space, **of_space)
        return
    if indexed is None:
        tx.run(SQL.add_space, embedder=numbers["embedder"], **of_space)
        indexed = tx.one(SQL.indexed_space, **of_space)
    end = tx.one(SPACES.space_by_id, id=space_id).events_made
    new_rows = {"low": row_id(space_id, indexed.filled_to), "high": row_id(space_id, end)}
    rows = tx.all(SQL.rows_from, most=BATCH, **numbers, **new_rows)
    _store_batch(
        context,
        tx,
        space_id,
        rows,
        filled_to=number_of(rows[-1].id) + 1 if len(rows) == BATCH else end,
    )


def rebuild(context: Context, tx: Transaction, space_id: int, events: Sequence[int]) -> None:
    """Index events again whose entries were renewed, if PostgreSQL has them already.

    `events` are row ids.
    """
    numbers = context.embedder_numbers(tx)
    of_space = {"space_id": space_id}
    indexed = (
        tx.one_or_none(SQL.indexed_by, embedder=numbers["embedder"], **of_space)
        if context.store.supports_vector_search
        else None
    )
    stale = [
        event for event in events if indexed is not None and number_of(event) < indexed.filled_to
    ]
    if indexed is None or not stale:
        return
    tx.run(ERASE.erase_search, **of_space, numbers=[number_of(event) for event in stale])
    _store_batch(
        context,
        tx,
        space_id,
        tx.all(SQL.rows, ids=stale, **numbers),
        filled_to=indexed.filled_to,
    )


def _store_batch(
    context: Context,
    tx: Transaction,
    space_id: int,
    rows: Sequence[Row],
    *,
    filled_to: int,
) -> None:
    """Store the index entries of events, and update the statistics of the space."""
    of_space = {"space_id": space_id}
    statistics = statistics_of(tx.one(SQL.indexed_space, **of_space))
    if rows:
        batch = batch_of(context, tx, space_id, rows)
        statistics.add(batch)
        _store_parts(tx, of_space, batch, context.layout.width)
        terms, counts = np.unique(batch.term, return_counts=True)
        tx.run(
            SQL.count_terms,
            terms=[prefixed(space_id, term) for term in terms.tolist()],
            counts=counts.tolist(),
            **of_space,
        )
    tx.run(
        SQL.count_space,
        filled_to=filled_to,
        events=statistics.events,
        parts=statistics.parts,
        words=statistics.words,
        logs=statistics.logs,
        squares=statistics.squares,
        languages=statistics.languages.astype("<i8").tobytes(),
        speakers=np.array(sorted(statistics.speakers), "<u4").tobytes(),
        **of_space,
    )


def _store_parts(tx: Transaction, of_space: dict[str, int], batch: EntryBatch, width: int) -> None:
    firsts = np.flatnonzero(np.r_[True, batch.event[1:] != batch.event[:-1]])
    parts = np.arange(len(batch)) - np.repeat(firsts, np.diff(np.r_[firsts, len(batch)]))
    ends = np.r_[0, np.cumsum(batch.head["terms"], dtype="i8")].tolist()
    prefix = of_space["space_id"] << 32
    terms = (batch.term.astype("i8") | prefix).tolist()
    tx.run(
        SQL.add_words,
        numbers=batch.event.tolist(),
        parts=parts.tolist(),
        sessions=batch.session.tolist(),
        times_ms=batch.occurred_ms.tolist(),
        lengths=batch.head["length"].tolist(),
        terms=["{" + ",".join(map(str, terms[start:end])) + "}" for start, end in pairwise(ends)],
        **of_space,
    )
    vectors = batch.vectors[:, :width]  # of the embedder, without those of an older one
    with_vectors = np.flatnonzero(vectors.any(axis=1))
    if len(with_vectors):
        tx.run(
            SQL.add_vectors,
            numbers=batch.event[with_vectors].tolist(),
            parts=parts[with_vectors].tolist(),
            times_ms=batch.occurred_ms[with_vectors].tolist(),
            signs=[signs(vector) for vector in vectors[with_vectors]],
            **of_space,
        )


def signs(vector: npt.NDArray[np.int8]) -> str:
    """Return the signs of a vector as a PostgreSQL bit string; 1 means greater than 0.

    64 bytes for 512 dimensions. Similar vectors share most signs; exact similarity is computed from
    the vectors of the few candidates.
    """
    return ((vector > 0).astype("u1") + ord("0")).tobytes().decode()


def build_vector_index(context: Context, space: Row) -> bool:
    """Build the HNSW index of a space's vectors, unless another server is building it.

    An index that a killed server left incomplete is built again.
    """
    name = f"search_vectors_{space.space_id}_{space.embedder}"
    index = context.store.read(lambda tx: tx.one_or_none(SQL.link_state, name=name))
    if index is not None and index.is_made:
        return False
    if index is not None and not index.is_valid:
        context.store.run_outside_transaction(f"drop index concurrently if exists {name}")
    if index is None or not index.is_valid:
        dimensions = context.layout.width
        memory = min(space.parts * (dimensions // 8 + _LINK_BYTES), _LINK_MEMORY_BYTES_MAX)
        context.store.run_outside_transaction(
            f"create index concurrently if not exists {name} on search_vectors"
            f" using hnsw ((signs::bit({dimensions})) bit_hamming_ops)"
            f" where space_id = {space.space_id}",
            memory_bytes=memory,
        )
    of_space = {
        "account_id": space.account_id,
        "space_id": space.space_id,
        "embedder": space.embedder,
    }
    context.store.write(lambda tx: tx.run(SQL.note_linked, **of_space))
    return True
