"""Make one store the copy of another, whatever their engines.

The copy is made by comparing: a row that the target lacks is added, one that differs is changed,
one that the source has no more is removed. So a run that was stopped, at any moment, is gone on
with by another; and a run after the source was written to brings over the rest. Until it is
finished the target says whose copy it is, and nothing else works on it
(docs/decisions/0023-copy.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from ..engine import Row, Store, StoreUnavailable, Transaction
from .catalog import SQL, Key, Table, quote, tables
from .digest import Advance, TableDigest, store_digest

ROWS_A_WRITE = 100  # over a network it is the number of statements that takes the time
_MARK = "copied_from"
_TRAIL, _HEAD = (
    "audit",
    "audit_head",
)  # triggers see to it that the trail only grows, entry by entry, and moves its head itself
_OTHER_TRAIL = "the audit trail of the target is not the beginning of the source's: copy into a new, empty store"

Progress = Callable[
    [str, int], AbstractContextManager[Advance]
]  # what begins, and of how many rows


class CopyRefused(Exception):
    """The one store cannot become a copy of the other."""


class CopyUnfinished(StoreUnavailable):
    """This store is a copy that is not finished."""


@dataclass(frozen=True, slots=True)
class TableComparison:
    """What a table of the source held at the moment it was copied, and what the target holds now."""

    source: TableDigest
    target: TableDigest

    @property
    def is_same(self) -> bool:
        """Whether it has every row, and no other."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class CopyResult:
    """Each table compared, and whether the source has other numbers of rows by now than at the
    moment it was copied.
    """

    compared: list[TableComparison]
    has_moved_on: bool

    @property
    def is_same(self) -> bool:
        """Whether the target holds what the source held."""
        return all(one.is_same for one in self.compared)


def copy(source: Store, target: Store, *, place: str, progress: Progress) -> CopyResult:
    """Let `target` hold what `source`, which is at `place`, holds at this moment, and compare the
    two. Not finished yet: see `finish`.

    The target is empty, or an unfinished copy of the same place. Raises CopyRefused, and
    StoreUnavailable.
    """
    if source.read(_mark_of) is not None:
        raise CopyRefused(f"{place} is an unfinished copy itself")
    target.write(lambda tx: _mark(tx, place))
    compared = source.read(lambda tx: _Copying(tx, target, place).run(progress))
    now = source.read(lambda tx: {table.name: table.count(tx) for table in tables(tx)})
    return CopyResult(
        compared, has_moved_on=any(now[one.source.table] != one.source.rows for one in compared)
    )


def finish(target: Store) -> None:
    """Let a copy be a store like any other."""
    target.write(lambda tx: tx.run(f"drop table {_MARK}"))


def refuse_unfinished(store: Store) -> None:
    """Raise CopyUnfinished for a store that is being copied to:

    the next run would undo what is written to it.
    """
    place = store.read(_mark_of)
    if place is not None:
        raise CopyUnfinished(
            f"this store is an unfinished copy of {place}: end it with `remembrancer store copy` and `--finish`"
        )


def _mark_of(tx: Transaction) -> str | None:
    return (
        str(tx.one(f"select place from {_MARK}").place)
        if tx.one_or_none(SQL.has_table, table=_MARK)
        else None
    )  # noqa: S608  a name of ours


def _mark(tx: Transaction, place: str) -> None:
    marked = _mark_of(tx)
    if marked not in (None, place):
        raise CopyRefused(f"the target is an unfinished copy of {marked}, not of {place}")
    if marked is None:
        filled = [table.name for table in tables(tx) if table.has_key and table.count(tx)]
        if filled:
            raise CopyRefused(
                f"the target is not empty, there are rows in {', '.join(filled)}: name a new file, database or schema"
            )
        tx.run(f"create table {_MARK} (place text not null)")
        tx.run(f"insert into {_MARK} (place) values (:place)", place=place)  # noqa: S608  a name of ours


class _Copying:
    """One run: what a moment of the source holds, brought to a target."""

    def __init__(self, source: Transaction, target: Store, place: str) -> None:
        source.one_or_none(SQL.be_patient)
        self._source, self._target, self._place = source, target, place
        ours, theirs = {table.name: table for table in tables(source)}, target.read(tables)
        self._pairs = [(ours[table.name], table) for table in theirs if table.name in ours]
        self._own = {table.name for table in theirs} - set(ours)
        self._keeps_nul = bool(target.read(lambda tx: tx.one(SQL.keeps_nul).keeps))

    def run(self, progress: Progress) -> list[TableComparison]:
        """Copy and compare."""
        rows = sum(ours.count(self._source) for ours, _ in self._pairs)
        with progress("copying", rows) as advance:
            for ours, theirs in reversed(
                self._pairs
            ):  # all of it first, so that nothing that is gone is in the way of what is new
                self._remove(ours, theirs)
            for ours, theirs in self._pairs:
                self._add(ours, theirs, advance)
        self._write(self._count_on)
        with progress("comparing", 2 * rows) as advance:
            return sorted(
                (self._compare(*pair, advance) for pair in self._pairs),
                key=lambda one: one.source.table,
            )

    def _remove(self, ours: Table, theirs: Table) -> None:
        """Remove the rows that the source has no more."""
        if theirs.name == _HEAD:
            return
        columns = tuple(
            dict.fromkeys(theirs.key + ours.key)
        )  # the key need not be the same one on both engines

        def gone_of(tx: Transaction) -> list[Row]:
            tx.one_or_none(SQL.be_patient)
            gone = []
            for rows in theirs.pages(tx, columns):
                kept = set(ours.same(self._source, rows, columns).values())
                gone += [row for row in rows if row not in kept]
            return gone

        gone = self._target.read(gone_of)
        if gone and theirs.name == _TRAIL:
            raise CopyRefused(_OTHER_TRAIL)
        for some in _parted(gone):
            self._write(partial(theirs.remove, rows=some))

    def _add(self, ours: Table, theirs: Table, advance: Advance) -> None:
        """Add the rows that the target lacks, and change those that differ."""
        if theirs.name == _HEAD:
            return
        is_new = not self._target.read(theirs.count)
        for page in ours.pages(self._source, theirs.columns):
            for rows in _parted(page):
                known = (
                    {}
                    if is_new
                    else self._target.read(partial(theirs.same, rows=rows, columns=theirs.columns))
                )
                if lacking := [row for row in rows if known.get(theirs.key_of(row)) != row]:
                    self._put(theirs, lacking, known)
                advance(len(rows))

    def _put(self, theirs: Table, rows: Sequence[Row], known: Mapping[Key, Row]) -> None:
        if not self._keeps_nul:
            _refuse_nul(theirs, rows)
        if theirs.name == _TRAIL and any(theirs.key_of(row) in known for row in rows):
            raise CopyRefused(_OTHER_TRAIL)
        for some in _parted(rows, 1 if theirs.name == _TRAIL else ROWS_A_WRITE):
            self._write(partial(theirs.add, rows=some))

    def _count_on(self, tx: Transaction) -> None:
        """Let numbers that are given from now on be larger than those that were."""
        for row in tx.all(SQL.counted):
            newest = tx.one(
                f"select coalesce(max({quote(row.column)}), 0) as newest from {quote(row.table)}"
            ).newest  # noqa: S608
            tx.one_or_none(SQL.count_on, table=row.table, column=row.column, newest=newest)
        if "cubes_made" in self._own:
            tx.run("update cubes_made set last = (select coalesce(max(id), 0) from cubes)")

    def _compare(self, ours: Table, theirs: Table, advance: Advance) -> TableComparison:
        def look(tx: Transaction) -> TableDigest:
            tx.one_or_none(SQL.be_patient)
            return store_digest(tx, theirs, advance)

        return TableComparison(store_digest(self._source, ours, advance), self._target.read(look))

    def _write(self, action: Callable[[Transaction], object]) -> None:
        """Write to the target as long as it is our copy.

        Not flushed: what a power cut takes is found missing by the next run.
        """

        def guarded(tx: Transaction) -> None:
            if _mark_of(tx) != self._place:
                raise CopyRefused("the target was finished meanwhile, by another run")
            action(tx)

        self._target.write(guarded, flush=False)


def _parted(rows: Sequence[Row], most: int = ROWS_A_WRITE) -> Iterator[Sequence[Row]]:
    return (rows[start : start + most] for start in range(0, len(rows), most))


def _refuse_nul(table: Table, rows: Sequence[Row]) -> None:
    for row in rows:
        for column, value in zip(table.columns, row, strict=True):
            if isinstance(value, str) and "\0" in value:
                where = ", ".join(
                    f"{name} {value!r}"
                    for name, value in zip(table.key, table.key_of(row), strict=True)
                )
                raise CopyRefused(
                    f"{table.name}.{column} has the character NUL, which PostgreSQL does not keep, at {where}: erase or change it"
                )
