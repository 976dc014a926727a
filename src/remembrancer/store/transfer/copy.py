"""Copy a store to another one, on any engine.

The copy compares: rows missing in the target are added, changed rows are updated, rows no longer in
the source are removed. So an interrupted run can be continued by another one, and a run after new
writes to the source transfers the rest. Until it is finished the target is marked as a copy, and
nothing else may use it (docs/decisions/0023-copy.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from ..engine import Row, Store, StoreUnavailable, Transaction
from ..locations import engine_of, place_of, schema_at
from ..schema import migrations
from .catalog import SQL, Advance, Key, Table, TableDigest, quote, table_digest, tables

ROWS_A_WRITE = 100  # over a network, the number of statements dominates
_MARK = "copied_from"
_TRAIL, _HEAD = (
    "audit",
    "audit_head",
)  # triggers ensure that the trail only grows, entry by entry, and maintain its head
_OTHER_TRAIL = (
    "the audit trail of the target is not a prefix of the source's: copy into a new, empty store"
)

Progress = Callable[
    [str, int], AbstractContextManager[Advance]
]  # name of the phase and its number of rows


class CopyRefused(Exception):
    """The store cannot become a copy of the other one."""


class CopyUnfinished(StoreUnavailable):
    """This store is an unfinished copy."""


@dataclass(frozen=True, slots=True)
class TableComparison:
    """A table of the source when it was copied, and of the target now."""

    source: TableDigest
    target: TableDigest

    @property
    def is_same(self) -> bool:
        """True if the target has every row and no other."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The comparison of each table. `has_moved_on`: the source has changed since it was copied."""

    compared: list[TableComparison]
    has_moved_on: bool

    @property
    def is_same(self) -> bool:
        """True if the target holds what the source held."""
        return all(one.is_same for one in self.compared)


def copy(source: Store, target: Store, *, place: str, progress: Progress) -> CopyResult:
    """Make `target` hold what `source`, located at `place`, holds at this moment, and compare them.

    The copy is not finished yet: see `finish`. The target must be empty, or an unfinished copy of
    the same place. Raises CopyRefused and StoreUnavailable.
    """
    if source.read(_mark_of) is not None:
        raise CopyRefused(f"{place} is itself an unfinished copy")
    target.write(lambda tx: _mark(tx, place))
    compared = source.read(lambda tx: _Copying(tx, target, place).run(progress))
    now = source.read(lambda tx: {table.name: table.count(tx) for table in tables(tx)})
    return CopyResult(
        compared, has_moved_on=any(now[one.source.table] != one.source.rows for one in compared)
    )


def require_schema(url: str) -> None:
    """Raise CopyRefused unless a store of this version's schema is at a URL.

    Opening an older one would migrate it, while a server of an older version may still use it.
    """
    place, schema, newest = place_of(url), schema_at(url), migrations(engine_of(url))[-1].number
    if not schema:
        raise CopyRefused(f"there is no store at {place}")
    if schema < newest:
        raise CopyRefused(
            f"{place} has schema {schema}, this version has {newest}: start a server of this "
            "version on it once to migrate it"
        )


def finish(target: Store) -> None:
    """Finish a copy, so that it can be used as a store."""
    target.write(lambda tx: tx.run(f"drop table {_MARK}"))


def refuse_unfinished(store: Store) -> None:
    """Raise CopyUnfinished for a store that is being copied to.

    The next run would undo what is written to it.
    """
    place = store.read(_mark_of)
    if place is not None:
        raise CopyUnfinished(
            f"this store is an unfinished copy of {place}: finish it with `remembrancer store copy"
            " --finish`"
        )


def is_copy(store: Store) -> bool:
    """Return True for an unfinished copy."""
    return store.read(_mark_of) is not None


def has_rows(store: Store) -> bool:
    """Return True if a table of the store has rows that a new store does not have."""
    return bool(store.read(_filled))


def _filled(tx: Transaction) -> list[str]:
    return [table.name for table in tables(tx) if table.has_key and table.count(tx)]


def _mark_of(tx: Transaction) -> str | None:
    return (
        str(tx.one(f"select place from {_MARK}").place)
        if tx.one_or_none(SQL.has_table, table=_MARK)
        else None
    )


def _mark(tx: Transaction, place: str) -> None:
    marked = _mark_of(tx)
    if marked not in (None, place):
        raise CopyRefused(f"the target is an unfinished copy of {marked}, not of {place}")
    if marked is None:
        if filled := _filled(tx):
            raise CopyRefused(
                f"the target is not empty (rows in {', '.join(filled)}): name a new file, database"
                " or schema"
            )
        tx.run(f"create table {_MARK} (place text not null)")
        tx.run(f"insert into {_MARK} (place) values (:place)", place=place)


class _Copying:
    """One run of a copy, from one snapshot of the source."""

    def __init__(self, source: Transaction, target: Store, place: str) -> None:
        source.one_or_none(SQL.be_patient)
        self._source, self._target, self._place = source, target, place
        ours, theirs = {table.name: table for table in tables(source)}, target.read(tables)
        self._pairs = [(ours[table.name], table) for table in theirs if table.name in ours]
        self._own = {table.name for table in theirs} - set(ours)
        self._stores_nul = bool(target.read(lambda tx: tx.one(SQL.stores_nul).stores))

    def run(self, progress: Progress) -> list[TableComparison]:
        """Copy and compare all tables."""
        rows = sum(ours.count(self._source) for ours, _ in self._pairs)
        with progress("copying", rows) as advance:
            for ours, theirs in reversed(
                self._pairs
            ):  # remove first, so that no removed row conflicts with a new one
                self._remove(ours, theirs)
            for ours, theirs in self._pairs:
                self._add(ours, theirs, advance)
        self._write(self._advance_sequences)
        with progress("comparing", 2 * rows) as advance:
            return sorted(
                (self._compare(*pair, advance) for pair in self._pairs),
                key=lambda one: one.source.table,
            )

    def _remove(self, ours: Table, theirs: Table) -> None:
        """Remove rows that are not in the source."""
        if theirs.name == _HEAD:
            return
        columns = tuple(dict.fromkeys(theirs.key + ours.key))  # the engines may have different keys

        def extra_rows(tx: Transaction) -> list[Row]:
            tx.one_or_none(SQL.be_patient)
            extra = []
            for rows in theirs.pages(tx, columns):
                present = set(ours.same(self._source, rows, columns).values())
                extra += [row for row in rows if row not in present]
            return extra

        extra = self._target.read(extra_rows)
        if extra and theirs.name == _TRAIL:
            raise CopyRefused(_OTHER_TRAIL)
        for batch in _batches(extra):
            self._write(partial(theirs.remove, rows=batch))

    def _add(self, ours: Table, theirs: Table, advance: Advance) -> None:
        """Add rows missing in the target, and update those that differ."""
        if theirs.name == _HEAD:
            return
        is_new = not self._target.read(theirs.count)
        for page in ours.pages(self._source, theirs.columns):
            for rows in _batches(page):
                existing = (
                    {}
                    if is_new
                    else self._target.read(partial(theirs.same, rows=rows, columns=theirs.columns))
                )
                if missing := [row for row in rows if existing.get(theirs.key_of(row)) != row]:
                    self._put(theirs, missing, existing)
                advance(len(rows))

    def _put(self, theirs: Table, rows: Sequence[Row], existing: Mapping[Key, Row]) -> None:
        if not self._stores_nul:
            _refuse_nul(theirs, rows)
        if theirs.name == _TRAIL and any(theirs.key_of(row) in existing for row in rows):
            raise CopyRefused(_OTHER_TRAIL)
        for batch in _batches(rows, 1 if theirs.name == _TRAIL else ROWS_A_WRITE):
            self._write(partial(theirs.add, rows=batch))

    def _advance_sequences(self, tx: Transaction) -> None:
        """Set the sequences of the target behind the largest copied ids."""
        for row in tx.all(SQL.sequences):
            newest = tx.one(
                f"select coalesce(max({quote(row.column)}), 0) as newest from {quote(row.table)}"
            ).newest
            tx.one_or_none(SQL.advance_sequence, table=row.table, column=row.column, newest=newest)
        if "cubes_made" in self._own:
            tx.run("update cubes_made set last = (select coalesce(max(id), 0) from cubes)")

    def _compare(self, ours: Table, theirs: Table, advance: Advance) -> TableComparison:
        def digest(tx: Transaction) -> TableDigest:
            tx.one_or_none(SQL.be_patient)
            return table_digest(tx, theirs, advance)

        return TableComparison(table_digest(self._source, ours, advance), self._target.read(digest))

    def _write(self, action: Callable[[Transaction], object]) -> None:
        """Write to the target while it is still our copy.

        Not flushed: the next run finds what a power cut removed.
        """

        def guarded(tx: Transaction) -> None:
            if _mark_of(tx) != self._place:
                raise CopyRefused("another run finished the target meanwhile")
            action(tx)

        self._target.write(guarded, flush=False)


def _batches(rows: Sequence[Row], most: int = ROWS_A_WRITE) -> Iterator[Sequence[Row]]:
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
                    f"{table.name}.{column} contains NUL, which PostgreSQL cannot store, at"
                    f" {where}: erase or change it"
                )
