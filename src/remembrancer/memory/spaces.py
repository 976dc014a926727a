"""The search index of a space, brought up to date from its rows before each search.

Every search looks at the space's row first. Whatever was written since the last one, by this process or another, is
read and taken in; so an answered write is in the very next search, and nothing has to be told to anybody.
"""

from __future__ import annotations

from datetime import UTC, datetime

from ..context import Context
from ..search import Batch, SpaceIndex, View, WordsDamaged, derived_by, pack, take_apart, unpack
from ..store import Row, Transaction, named

SQL = named("remembrancer.memory", "memory.sql")
NUMBER_BITS = 32  # an event's row id is its space's id, then so many bits for its number
ROWS_AT_ONCE = 20_000  # read and taken in together: bounds the memory a first search needs


def row_id(space_id: int, number: int) -> int:
    """Where the event with this number of a space is kept: all events of a space are one range."""
    return space_id << NUMBER_BITS | number


def number_of(row: int) -> int:
    """The number within its space of the event kept at `row`."""
    return row & ((1 << NUMBER_BITS) - 1)


def view_of(context: Context, tx: Transaction, space: Row) -> View:
    """The index of a space with everything that `tx` sees; `space` is its row, read in `tx`."""
    index = context.shelf.take(space.id)
    with index.lock:
        if index.revision < space.revision:
            index.clear()
        if index.next_event < space.events_made:
            _fill(context, tx, index, space)
            context.shelf.weigh(space.id, index)
        index.revision = max(index.revision, space.revision)
        return index.view()


def _fill(context: Context, tx: Transaction, index: SpaceIndex, space: Row) -> None:
    embedder = tx.one(SQL.embedder_id, name=derived_by(context.embedder))
    for low in range(index.next_event, space.events_made, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, space.events_made)
        span = {"low": row_id(space.id, low), "high": row_id(space.id, high)}
        rows = tx.all(SQL.index_rows, embedder=embedder.id if embedder else None, **span)
        index.add(_batch(tx, rows, context.embedder.dimensions), high)


def _batch(tx: Transaction, rows: list[Row], dimensions: int) -> Batch:
    try:
        return unpack([(number_of(row[0]), *row[1:]) for row in rows], dimensions)
    except WordsDamaged:  # written by another version, or harmed: the text is the truth
        return unpack([(number_of(row[0]), row[1], row[2], *_derived(tx, row, dimensions)) for row in rows], dimensions)


def _derived(tx: Transaction, row: Row, dimensions: int) -> tuple[bytes, bytes | None]:
    try:
        unpack([tuple(row)], dimensions)
    except WordsDamaged:
        event = tx.all(SQL.event_texts, low=row.id, high=row.id + 1)[0]
        return pack(take_apart(query=event.query, response=event.response, topic=event.topic, occurred_ms=event.occurred_ms)), row.vectors
    return row.words, row.vectors


def rfc3339(ms: int) -> str:
    """A time as RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(when: datetime | None, otherwise: int) -> int:
    """A time as milliseconds since 1970, or `otherwise`."""
    return otherwise if when is None else round(when.timestamp() * 1000)


def space_of(row: int) -> int:
    """The id of the space that the event kept at `row` belongs to."""
    return row >> NUMBER_BITS
