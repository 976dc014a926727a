"""Write the segments of the indexes in the background, and remove those that are out of date.

A segment is made from rows alone, in one snapshot that has the revision it is named after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..context import Context
from ..search import SegmentFolder, SegmentName, SpaceIndex
from ..store import Row, StoreUnavailable, Transaction
from .spaces import SQL, batch_of, has_segments, row_id, segment_origin, space_view

T = TypeVar("T")


def check_segments(context: Context) -> None:
    """Let `write_segments` look at every space that has segments.

    A process may have been killed after an erasure and before it removed a segment.
    """
    if context.segments is not None:
        for space_id in context.segments.spaces():
            context.segments.note(space_id)


def write_segments(context: Context, is_stopping: Callable[[], bool] = lambda: False) -> None:
    """Bring the segments up to date of the spaces that were noted since the last call.

    Raises StoreUnavailable.
    """
    segments = context.segments
    if segments is None or not has_segments(context):
        return
    due = segments.take_due()
    try:
        for space_id in due:
            if not is_stopping():
                _write_space(context, segments, space_id, is_stopping)
    except StoreUnavailable:
        for space_id in due:
            segments.note(space_id)
        raise


def _write_space(
    context: Context, segments: SegmentFolder, space_id: int, is_stopping: Callable[[], bool]
) -> None:
    # one process at a time, so that no unfinished file of another is removed
    with context.store.lock(f"segments of space {space_id}"):
        owner = context.store.read(lambda tx: tx.one_or_none(SQL.space_owner, id=space_id))
        if owner is None:
            segments.drop(space_id)
        else:
            SegmentWriter(context, segments, owner, is_stopping).work()


class SegmentWriter:
    """Writes the segments of one space."""

    def __init__(
        self,
        context: Context,
        segments: SegmentFolder,
        owner: Row,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._context, self._segments, self._owner = context, segments, owner
        self._space_id, self._is_stopping = int(owner.id), is_stopping

    def work(self) -> None:
        """Remove what is out of date, write what is missing, and map it where it was in memory."""
        space, segments, space_id = self._space(), self._segments, self._space_id
        now = space.revision, space.events_made
        segments.sweep(space_id, *now)
        for low, high in segments.missing(space_id, *now):
            if self._is_stopping() or not self._write(SegmentName(low, high, space.revision)):
                segments.note(space_id)
                return
        segments.sweep(space_id, *now)
        cache = self._context.index_cache
        if cache.own_parts(space_id) >= segments.large:
            cache.drop(space_id)
            self._read(lambda tx: space_view(self._context, tx, self._row(tx)))

    def _write(self, name: SegmentName) -> bool:
        """Write a segment, unless its events have no rows; return False if that failed."""
        context, space_id = self._context, self._space_id

        def content(tx: Transaction) -> tuple[list[Row], SpaceIndex] | None:
            if self._row(tx).revision != name.revision:
                return None
            row_range = {"low": row_id(space_id, name.low), "high": row_id(space_id, name.high)}
            rows = tx.all(SQL.index_rows, **context.embedder_numbers(tx), **row_range)
            index = SpaceIndex(context.layout.dimensions)
            index.add(batch_of(context, tx, space_id, rows), name.high)
            return rows, index

        result = self._read(content)
        if result is None:
            return False
        rows, index = result
        if not rows:
            return True
        return self._segments.publish(
            name,
            segment_origin(context, space_id, name.low, name.high, rows),
            index.as_range(),
            lambda: self._space().revision == name.revision,
        )

    def _space(self) -> Row:
        return self._read(self._row)

    def _row(self, tx: Transaction) -> Row:
        return tx.one(SQL.space_by_id, id=self._space_id)

    def _read(self, action: Callable[[Transaction], T]) -> T:
        return self._context.store.read(action, account_id=self._owner.account_id)
