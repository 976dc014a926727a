"""The search index of a space, brought up to date from its rows before each search.

Every search looks at the space's row first. Whatever was written since the last one, by this
process or another, is read and taken in; so an answered write is in the very next search, and
nothing has to be told to anybody.
"""

from __future__ import annotations

from datetime import datetime

from ..context import Context
from ..search import EventText, IndexView, SpaceIndex, analysis_id, unpack_repaired
from ..store import Row, Transaction, embedder_id, load_queries

SQL = load_queries("remembrancer.memory", "memory.sql")
NUMBER_BITS = 32  # an event's row id is its space's id, then so many bits for its number
ROWS_AT_ONCE = 20_000  # read and taken in together: bounds the memory a first search needs


def row_id(space_id: int, number: int) -> int:
    """Where the event with this number of a space is kept: all events of a space are one range."""
    return space_id << NUMBER_BITS | number


def number_of(row: int) -> int:
    """The number within its space of the event kept at `row`."""
    return row & ((1 << NUMBER_BITS) - 1)


def space_view(context: Context, tx: Transaction, space: Row) -> IndexView:
    """The index of a space with everything that `tx` sees; `space` is its row, read in `tx`."""

    def fill(index: SpaceIndex) -> None:
        _fill(context, tx, index, space)

    return context.index_cache.view(
        space.id, revision=space.revision, end=space.events_made, fill=fill
    )


def _fill(context: Context, tx: Transaction, index: SpaceIndex, space: Row) -> None:
    embedder = embedder_id(tx, analysis_id(context.embedder), make=False)
    for low in range(index.next_event, space.events_made, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, space.events_made)
        span = {"low": row_id(space.id, low), "high": row_id(space.id, high)}
        rows = tx.all(SQL.index_rows, embedder=embedder, **span)
        coded = [(number_of(row[0]), *row[1:]) for row in rows]
        index.add(
            unpack_repaired(
                coded,
                context.embedder.dimensions,
                lambda number: event_text(tx, row_id(space.id, number)),
            ),
            high,
        )


def event_text(tx: Transaction, row: int) -> EventText:
    """The turn kept at `row`, as it was said."""
    event = tx.all(SQL.event_texts, low=row, high=row + 1)[0]
    return EventText(
        query=event.query, response=event.response, topic=event.topic, occurred_ms=event.occurred_ms
    )


def milliseconds(when: datetime | None, otherwise: int) -> int:
    """A time as milliseconds since 1970, or `otherwise`."""
    return otherwise if when is None else round(when.timestamp() * 1000)


def space_of(row: int) -> int:
    """The id of the space that the event kept at `row` belongs to."""
    return row >> NUMBER_BITS


def flag_names(column: str) -> list[str]:
    """What was noticed in an event, from its row."""
    return column.split(",") if column else []
