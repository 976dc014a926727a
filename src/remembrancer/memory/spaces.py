"""The search index of a space, updated from its rows before each search.

Every search reads the row of its space first and adds whatever this or another process wrote since
the last one. A completed write is therefore in the very next search, without any notification.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..context import Context
from ..protocol.errors import InvalidRequest
from ..search import EntryBatch, EventText, IndexView, SpaceIndex, unpack_repaired
from ..store import Row, Transaction, load_queries

SQL = load_queries("remembrancer.memory", "memory.sql")
NUMBER_BITS = 32  # low bits of an event's row id: its number; the high bits are its space's id
ROWS_AT_ONCE = 20_000  # rows per batch: bounds the memory that a first search needs


def row_id(space_id: int, number: int) -> int:
    """Return the row id of an event. The events of a space are one range of row ids."""
    return space_id << NUMBER_BITS | number


def number_of(row: int) -> int:
    """Return the number of an event within its space."""
    return row & ((1 << NUMBER_BITS) - 1)


def space_view(context: Context, tx: Transaction, space: Row) -> IndexView:
    """Return a view of a space's index that includes everything `tx` sees.

    `space` is the row of the space, read in `tx`.
    """

    def fill(index: SpaceIndex) -> None:
        _fill(context, tx, index, space)

    return context.index_cache.view(
        space.id, revision=space.revision, end=space.events_made, fill=fill
    )


def drop_indexes(context: Context, spaces: Iterable[int]) -> None:
    """Discard the indexes of erased spaces: nobody searches them again, and they have their words.

    Call it once the erasure is durable.
    """
    for space_id in spaces:
        context.index_cache.drop(space_id)
        context.index_cache.drop(layers_key(space_id))


def layers_key(space_id: int) -> tuple[str, int]:
    """Return the key of the index of a space's facts and summaries."""
    return "layers", space_id


def _fill(context: Context, tx: Transaction, index: SpaceIndex, space: Row) -> None:
    numbers = context.embedder_numbers(tx)
    for low in range(index.next_event, space.events_made, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, space.events_made)
        row_range = {"low": row_id(space.id, low), "high": row_id(space.id, high)}
        rows = tx.all(SQL.index_rows, **numbers, **row_range)
        index.add(batch_of(context, tx, space.id, rows), high)


def batch_of(context: Context, tx: Transaction, space_id: int, rows: Sequence[Row]) -> EntryBatch:
    """Convert rows of `event_index` to arrays."""
    place = context.layout.place
    coded = [(number_of(row[0]), *row[1:4], place(row[4], row[5])) for row in rows]
    return unpack_repaired(
        coded, context.layout.dimensions, lambda number: event_text(tx, row_id(space_id, number))
    )


def event_text(tx: Transaction, row: int) -> EventText:
    """Return the stored text of an event. `row` is its row id."""
    event = tx.all(SQL.event_texts, low=row, high=row + 1)[0]
    return EventText(
        query=event.query, response=event.response, topic=event.topic, occurred_ms=event.occurred_ms
    )


def milliseconds(when: datetime | None, otherwise: int) -> int:
    """Convert a time to milliseconds since 1970 (UTC); None gives `otherwise`."""
    return otherwise if when is None else round(when.timestamp() * 1000)


class TimeInFuture(InvalidRequest):
    """`as_of` is in the future. Name a time that has passed."""

    def __init__(self) -> None:
        """Name the field."""
        super().__init__(errors=[{"pointer": "/as_of", "detail": "is in the future"}])


class TimeNotInFuture(InvalidRequest):
    """The time at which something expires has passed. Name a time in the future."""

    def __init__(self, field: str) -> None:
        """Name the field."""
        super().__init__(errors=[{"pointer": f"/{field}", "detail": "has passed"}])


def past_ms(context: Context, as_of: datetime | None) -> int | None:
    """Convert `as_of` to ms since 1970 (UTC); None stays None. Raises TimeInFuture."""
    if as_of is None:
        return None
    ms = milliseconds(as_of, 0)
    if ms > context.clock():
        raise TimeInFuture
    return ms


def future_ms(
    context: Context, expires_at: datetime | None, *, field: str = "expires_at"
) -> int | None:
    """Convert a time to ms since 1970 (UTC); None stays None. Raises TimeNotInFuture."""
    if expires_at is None:
        return None
    ms = milliseconds(expires_at, 0)
    if ms <= context.clock():
        raise TimeNotInFuture(field)
    return ms


def offset_minutes(when: datetime | None) -> int:
    """Return the offset of a time in minutes east of UTC; 0 for None."""
    offset = None if when is None else when.utcoffset()
    return 0 if offset is None else round(offset.total_seconds() / 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedEvents:
    """The numbers of erased events of a space, and the space's revision after erasing them."""

    space_id: int
    revision: int
    numbers: Sequence[int]


def space_of(row: int) -> int:
    """Return the id of the space of an event. `row` is its row id."""
    return row >> NUMBER_BITS


def flag_names(column: str) -> list[str]:
    """Return the flags of an event from the column of its row."""
    return column.split(",") if column else []
