"""What the database keeps of large spaces to search them by itself, made from their rows in the
background.

Writes know nothing of it: it lags behind, and a search reads the latest rows beside it. Erasing
takes its part along at once (`erase_search` in forget.sql).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...context import Context
from ...search import EntryBatch, SpaceTerms, analysis_id, unpack_repaired
from ...store import Row, Transaction, embedder_id, load_queries
from ...store.embedders import NEVER
from ..spaces import SQL as SPACES
from ..spaces import event_text, number_of, row_id

SQL = load_queries("remembrancer.memory.recall", "postgresql.sql")
ERASE = load_queries("remembrancer.memory.history", "forget.sql")
BATCH = 1_000  # events taken in at a time
CLEARED = 10_000  # parts erased at a time when another embedder is in force
# the latest events are left to be read from their rows: fewer than this are not worth a transaction
SLACK = 500
# the vectors of a larger space get an index; those of a smaller one are all compared
EXACT_PARTS_MAX = 20_000
_LINK_BYTES = 400  # of each part in memory while the index is made, beside its signs
_LINK_MEMORY_BYTES_MAX = 2 << 30


def statistics_of(kept: Row) -> SpaceTerms:
    """The sums over what the database has of a space, from its row."""
    languages = np.frombuffer(kept.languages or bytes(8 * 256), "<i8")
    speakers = frozenset(np.frombuffer(kept.speakers, "<u4").tolist())
    return SpaceTerms(
        kept.events, kept.parts, kept.words, kept.logs, kept.squares, languages, speakers
    )


def prefixed(space_id: int, term: int) -> int:
    """A term of a space as the database keeps it: each space has its own."""
    return space_id << 32 | term


def advance_index(context: Context) -> bool:
    """Do one step of what is to be done; False when there was nothing. Raises StoreUnavailable.

    A step takes in some events, erases some of what another embedder made, or makes the index of a
    space's vectors, which takes minutes for a million.
    """
    least = context.settings.database_search_events
    if not context.store.supports_vector_search or not least:
        return False
    by = analysis_id(context.embedder)

    def look(tx: Transaction) -> tuple[Row | None, Row | None, list[Row]]:
        embedder = embedder_id(tx, by, make=False)
        if embedder == NEVER:
            return None, None, []
        behind = tx.one_or_none(SQL.behind, embedder=embedder, least=least, slack=min(SLACK, least))
        return (
            behind,
            tx.one_or_none(SQL.unlinked, embedder=embedder, parts=EXACT_PARTS_MAX),
            tx.all(SQL.orphaned),
        )

    behind, unlinked, orphaned = context.store.read(look)
    for index in orphaned:
        context.store.run_outside_transaction(f'drop index concurrently if exists "{index.name}"')
    if behind is not None:
        # Not flushed: what a power cut takes is made once more.
        context.store.write(
            lambda tx: _take_in(context, tx, behind.account_id, behind.id),
            account_id=behind.account_id,
            flush=False,
        )
        return True
    return unlinked is not None and link(context, unlinked)


def _take_in(context: Context, tx: Transaction, account_id: int, space_id: int) -> None:
    """Take in the next events of a space, or erase some where they are of another embedder."""
    embedder = embedder_id(tx, analysis_id(context.embedder), make=False)
    of_space = {"account_id": account_id, "space_id": space_id}
    kept = tx.one_or_none(SQL.kept, **of_space)
    if kept is not None and kept.embedder != embedder:
        if not tx.run(SQL.clear_some, most=CLEARED, **of_space):
            tx.run(SQL.erase_terms, **of_space)
            tx.run(SQL.erase_space, **of_space)
        return
    if kept is None:
        tx.run(SQL.add_space, embedder=embedder, **of_space)
        kept = tx.one(SQL.kept, **of_space)
    end = tx.one(SPACES.space_by_id, id=space_id).events_made
    span = {"low": row_id(space_id, kept.filled_to), "high": row_id(space_id, end)}
    rows = tx.all(SQL.rows_from, embedder=embedder, most=BATCH, **span)
    _put(
        context,
        tx,
        account_id,
        space_id,
        rows,
        filled_to=number_of(rows[-1].id) + 1 if len(rows) == BATCH else end,
    )


def rebuild(
    context: Context, tx: Transaction, account_id: int, space_id: int, events: Sequence[int]
) -> None:
    """Take in anew events (their row ids) that were derived anew, as far as the database has them
    already.
    """
    embedder = embedder_id(tx, analysis_id(context.embedder), make=False)
    of_space = {"account_id": account_id, "space_id": space_id}
    kept = (
        tx.one_or_none(SQL.kept_by, embedder=embedder, **of_space)
        if context.store.supports_vector_search
        else None
    )
    again = [event for event in events if kept is not None and number_of(event) < kept.filled_to]
    if kept is None or not again:
        return
    tx.run(ERASE.erase_search, **of_space, numbers=[number_of(event) for event in again])
    _put(
        context,
        tx,
        account_id,
        space_id,
        tx.all(SQL.rows, embedder=embedder, ids=again),
        filled_to=kept.filled_to,
    )


def _put(
    context: Context,
    tx: Transaction,
    account_id: int,
    space_id: int,
    rows: Sequence[Row],
    *,
    filled_to: int,
) -> None:
    """Keep what search derives from events, and count it."""
    of_space = {"account_id": account_id, "space_id": space_id}
    statistics = statistics_of(tx.one(SQL.kept, **of_space))
    if rows:
        batch = batch_of(context, tx, space_id, rows)
        statistics.add(batch)
        _put_parts(tx, of_space, batch)
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


def _put_parts(tx: Transaction, of_space: dict[str, int], batch: EntryBatch) -> None:
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
    there = np.flatnonzero(batch.vectors.any(axis=1))
    if len(there):
        tx.run(
            SQL.add_vectors,
            numbers=batch.event[there].tolist(),
            parts=parts[there].tolist(),
            times_ms=batch.occurred_ms[there].tolist(),
            signs=[signs(vector) for vector in batch.vectors[there]],
            **of_space,
        )


def batch_of(context: Context, tx: Transaction, space_id: int, rows: Sequence[Row]) -> EntryBatch:
    """Rows of `event_index` as arrays."""
    coded = [(number_of(row[0]), *row[1:]) for row in rows]
    return unpack_repaired(
        coded, context.embedder.dimensions, lambda number: event_text(tx, row_id(space_id, number))
    )


def signs(vector: npt.NDArray[np.int8]) -> str:
    """Which numbers of a vector are above 0, as PostgreSQL reads bits: 64 bytes for 512 numbers.

    Vectors that are alike have most of these in common; how alike they are is told by the vectors
    themselves, of the few that are read.
    """
    return ((vector > 0).astype("u1") + ord("0")).tobytes().decode()


def link(context: Context, space: Row) -> bool:
    """Make the index of a space's vectors, unless another server is at it; one that a killed server
    left half-made is made anew.
    """
    name = f"search_vectors_{space.space_id}_{space.embedder}"
    made = context.store.read(lambda tx: tx.one_or_none(SQL.link_state, name=name))
    if made is not None and made.is_made:
        return False
    if made is not None and not made.is_valid:
        context.store.run_outside_transaction(f"drop index concurrently if exists {name}")
    if made is None or not made.is_valid:
        dimensions = context.embedder.dimensions
        memory = min(space.parts * (dimensions // 8 + _LINK_BYTES), _LINK_MEMORY_BYTES_MAX)
        context.store.run_outside_transaction(
            f"create index concurrently if not exists {name} on search_vectors"
            f" using hnsw ((signs::bit({dimensions})) bit_hamming_ops) where space_id = {space.space_id}",
            memory_bytes=memory,
        )
    of_space = {
        "account_id": space.account_id,
        "space_id": space.space_id,
        "embedder": space.embedder,
    }
    context.store.write(lambda tx: tx.run(SQL.note_linked, **of_space))
    return True
