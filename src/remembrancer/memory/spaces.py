"""The search index of a space, updated from its rows before each search, and pages of rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from ..accounts import space_user_id
from ..context import Caller, Context
from ..protocol.errors import InvalidRequest
from ..protocol.sources import TurnSource
from ..protocol.text import beginning
from ..protocol.trust import SOURCES
from ..search import (
    EntryBatch,
    EventText,
    IndexView,
    SegmentName,
    SegmentOrigin,
    SpaceIndex,
    analysis_id,
    unpack_repaired,
)
from ..store import Row, Transaction, load_queries
from ..store.rows import read_row

# --- The search index of a space, updated from its rows before each search -------------------
# Every search reads the row of its space first and adds whatever this or another process wrote
# since the last one. A completed write is therefore in the very next search, without any
# notification.

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
        if context.segments is not None:
            context.segments.drop(space_id)


def layers_key(space_id: int) -> tuple[str, int]:
    """Return the key of the index of a space's facts and summaries."""
    return "layers", space_id


def _fill(context: Context, tx: Transaction, index: SpaceIndex, space: Row) -> None:
    """Add the missing events: from segments where there are, else from rows."""
    numbers = context.embedder_numbers(tx)
    segments = context.segments if has_segments(context) else None
    names = segments.names(space.id, space.revision) if segments else []
    names = [name for name in names if name.high <= space.events_made]
    ahead = segments.open_ahead(space.id, _in_turn(names, index.next_event)) if segments else {}
    while (low := index.next_event) < space.events_made:
        name = max((one for one in names if one.low == low), default=None)
        if name is not None and segments is not None:
            names.remove(name)
            is_current = partial(_is_current, context, tx, numbers)
            content = segments.open(space.id, name, is_current, ahead.get(name))
            if content is not None:
                index.attach(content, name.high, events=space.events_made)
            continue
        following = [one.low for one in names if one.low > low]
        high = min(low + ROWS_AT_ONCE, space.events_made, *following)
        row_range = {"low": row_id(space.id, low), "high": row_id(space.id, high)}
        rows = tx.all(SQL.index_rows, **numbers, **row_range)
        index.add(batch_of(context, tx, space.id, rows), high)
        if segments is not None and low // segments.sizes[-1] != high // segments.sizes[-1]:
            segments.note(space.id)


def _in_turn(names: Sequence[SegmentName], low: int) -> list[SegmentName]:
    """Return the segments from an event on that do not overlap, of those that begin alike the
    longest.
    """
    chosen: list[SegmentName] = []
    for name in sorted(names, key=lambda one: (one.low, -one.high)):
        if name.low >= low:
            chosen.append(name)
            low = name.high
    return chosen


def has_segments(context: Context) -> bool:
    """Return True if indexes have segments: not while vectors of two embedders are served."""
    return context.segments is not None and context.older is None


def segment_origin(
    context: Context, space_id: int, low: int, high: int, rows: Sequence[Row]
) -> SegmentOrigin:
    """Return the origin of a segment that is made from the rows of a range of events.

    It names the last row, which is lost first where a power cut loses answered writes: other
    events may then have the numbers of the range.
    """
    last = rows[-1]
    return SegmentOrigin(
        space_id=space_id,
        low=low,
        high=high,
        made_by=f"{analysis_id(context.embedder)} {context.layout.width}",
        last=number_of(last.id),
        digest=hashlib.blake2b(
            f"{last.id} {last.session} {last.occurred_ms} ".encode() + last.words, digest_size=16
        ).hexdigest(),
    )


def _is_current(
    context: Context, tx: Transaction, numbers: dict[str, int], origin: SegmentOrigin
) -> bool:
    """Return True if a segment of this origin was made from the rows as they are."""
    last = row_id(origin.space_id, origin.last)
    rows = tx.all(SQL.index_rows, low=last, high=last + 1, **numbers)
    return bool(rows) and origin == segment_origin(context, *origin[:3], rows)


def batch_of(context: Context, tx: Transaction, space_id: int, rows: Sequence[Row]) -> EntryBatch:
    """Convert rows of `event_index` to arrays."""
    place = context.layout.place
    coded = [(number_of(row[0]), *row[1:4], place(row[4], row[5])) for row in rows]
    return unpack_repaired(
        coded, context.layout.dimensions, lambda number: event_text(tx, row_id(space_id, number))
    )


def event_text(tx: Transaction, row: int) -> EventText:
    """Return the stored text of an event. `row` is its row id."""
    return read_row(EventText, tx.all(SQL.event_texts, low=row, high=row + 1)[0])


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
    """The numbers of erased events of a space, and its revisions before and after erasing them."""

    space_id: int
    since: int
    revision: int
    numbers: Sequence[int]


def space_of(row: int) -> int:
    """Return the id of the space of an event. `row` is its row id."""
    return row >> NUMBER_BITS


def read_metadata(column: str | None) -> dict[str, Any] | None:
    """Return the metadata of a turn or a fact from the column of its row."""
    return None if column is None else json.loads(column)


def write_metadata(metadata: Mapping[str, Any] | None) -> str | None:
    """Return the column of a row with the metadata of a turn or a fact; null for none."""
    return json.dumps(metadata, ensure_ascii=False) if metadata else None


def shortened(row: Row, characters: int) -> Row:
    """Return a row with at most so many characters of each side of its turn."""
    sides = {"query": row.query, "response": row.response}
    return row._replace(**{name: beginning(text, characters) for name, text in sides.items()})


def read_sides(row: Row) -> TurnSource:
    """Return who the sides of a turn come from; `row` has query_source and response_source."""
    return TurnSource(query=SOURCES[row.query_source], response=SOURCES[row.response_source])


def revised(tx: Transaction, space_id: int, numbers: Sequence[int] = ()) -> ErasedEvents:
    """Give a space a new revision, whose index lacks the events with these numbers."""
    tx.run(SQL.revise_space, space_id=space_id)
    revision = tx.one(SQL.space_by_id, id=space_id).revision
    return ErasedEvents(space_id=space_id, since=revision - 1, revision=revision, numbers=numbers)


def flag_names(column: str) -> list[str]:
    """Return the flags of an event from the column of its row."""
    return column.split(",") if column else []


def update_index(context: Context, erased: Sequence[ErasedEvents | None]) -> None:
    """Update indexes after turns were erased or withdrawn, once that is durable."""
    for events in erased:
        if events is not None:
            revisions = {"since": events.since, "revision": events.revision}
            context.index_cache.erase(events.space_id, events.numbers, **revisions)
            if context.segments is not None:
                context.segments.advance(events.space_id, events.numbers, **revisions)


# --- Pages of rows from the space of a user --------------------------------------------------

AFTER_ALL = 1 << 62  # greater than every row id and every time in ms


@dataclass(frozen=True, slots=True)
class PageCursor:
    """The last item of a page of a list in descending order; the next page begins after it."""

    ms: int
    id: int


def space_rows(
    context: Context, caller: Caller, user_id: str, query: Callable[[Transaction, Row], list[Row]]
) -> list[Row]:
    """Return the rows that `query` reads from a user's space; none if the user has no space.

    Raises PinnedToOtherUser, StoreUnavailable.
    """
    user_id = space_user_id(caller, user_id)

    def read(tx: Transaction) -> list[Row]:
        space = tx.one_or_none(SQL.space_of, user_id=user_id)
        return [] if space is None else query(tx, space)

    return context.store.read(read, account_id=caller.account_id)


def split_page(rows: list[Row], size: int) -> tuple[list[Row], Row | None]:
    """Return the first `size` rows, and the last of these if more rows follow, else None."""
    page = rows[:size]
    return page, page[-1] if len(rows) > size else None
