"""Copy a store: its tables, read from the engine's own catalog, compared by hash."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from graphlib import TopologicalSorter
from itertools import groupby
from typing import Any

from ..engine import Row, Store, StoreUnavailable, Transaction
from ..locations import engine_of, place_of, schema_at
from ..queries import load_queries
from ..schema import migrations

SQL = load_queries("remembrancer.store.transfer", "catalog.sql")
OF_ONE_STORE = {  # tables that are not contents
    # schema version, locks, copy mark, rate limits
    "store_schema", "turnstile", "copied_from", "rates",
    # search tables that PostgreSQL derives
    "search_spaces", "search_words", "search_terms", "search_vectors",
}  # fmt: skip
FIRST_PAGE_ROWS, PAGE_ROWS_MAX = 16, 1_000
PAGE_BYTES = 4 << 20  # approximate size of a page when rows are large

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the columns that are written.

    `key`: columns that identify a row; all columns if the table has no key. `forms`: the form of
    each key column in the key's index: `{}`, or a digest of it. Rows are found and paged in these
    forms, through that index.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    forms: tuple[str, ...]
    has_key: bool

    def key_of(self, row: Row) -> Key:
        """Return the key of a row."""
        return tuple(getattr(row, column) for column in self.key)

    def count(self, tx: Transaction) -> int:
        """Return the number of rows."""
        return int(tx.one(f"select count(*) as n from {quote(self.name)}").n)

    def pages(self, tx: Transaction, columns: Sequence[str] = ()) -> Iterator[list[Row]]:
        """Yield all rows in key order, page by page, with all columns or those named, which include
        the key's.
        """
        select = f"select {_listed(map(quote, columns or self.columns))} from {quote(self.name)}"
        by = self._indexed()

        def page(last: Row | None, most: int) -> list[Row]:
            after = "" if last is None else f"where ({by}) > ({self._placeholders(0)})"
            values = {} if last is None else self._values(0, last)
            return tx.all(f"{select} {after} order by {by} limit {most}", **values)

        return pages(page)

    def same(self, tx: Transaction, rows: Sequence[Row], columns: Sequence[str]) -> dict[Key, Row]:
        """Return the rows with the keys of `rows`, which may come from another store, by key."""
        keys = _listed(f"({self._placeholders(place)})" for place in range(len(rows)))
        values = dict[str, Any]()
        for place, row in enumerate(rows):
            values |= self._values(place, row)
        select = f"select {_listed(map(quote, columns))} from {quote(self.name)}"
        matches = tx.all(f"{select} where ({self._indexed()}) in (values {keys})", **values)
        return {self.key_of(row): row for row in matches}

    def add(self, tx: Transaction, rows: Sequence[Row]) -> None:
        """Insert rows with the columns of `columns`; replace rows with the same key."""
        values, tuples = dict[str, Any](), list[str]()
        for place, row in enumerate(rows):
            named = {f"value_{place}_{column}": value for column, value in enumerate(row)}
            values |= named
            tuples.append(f"({_listed(f':{name}' for name in named)})")
        columns = _listed(map(quote, self.columns))
        insert = f"insert into {quote(self.name)} ({columns}) values {_listed(tuples)}"
        rest = [column for column in self.columns if column not in self.key]
        if self.has_key and rest:
            changes = _listed(f"{quote(column)} = excluded.{quote(column)}" for column in rest)
            insert += f" on conflict ({self._indexed()}) do update set {changes}"
        tx.run(insert, **values)

    def remove(self, tx: Transaction, rows: Sequence[Row]) -> None:
        """Delete the rows with the keys of these rows, which may come from another store."""
        where = f"({self._indexed()}) = ({self._placeholders(0)})"
        for row in rows:
            tx.run(f"delete from {quote(self.name)} where {where}", **self._values(0, row))

    def _indexed(self) -> str:
        """Return the columns of the key, each in its form."""
        return _listed(
            form.format(quote(column)) for form, column in zip(self.forms, self.key, strict=True)
        )

    def _placeholders(self, place: int) -> str:
        """Return the placeholders of the key of row `place`, each in its form; see `_values`."""
        return _listed(
            form.format(f":key_{place}_{number}") for number, form in enumerate(self.forms)
        )

    def _values(self, place: int, row: Row) -> dict[str, Any]:
        return {f"key_{place}_{number}": value for number, value in enumerate(self.key_of(row))}


def tables(tx: Transaction) -> list[Table]:
    """The tables that hold what the service keeps, in such an order that rows name only rows of
    tables before theirs.
    """
    by_name = {}
    for name, rows in groupby(tx.all(SQL.columns), key=lambda row: row.table):
        columns = list(rows)
        in_key = sorted((row for row in columns if row.key_place), key=lambda row: row.key_place)
        key = in_key or columns
        by_name[name] = Table(
            name,
            columns=tuple(row.column for row in columns),
            key=tuple(row.column for row in key),
            forms=tuple("digest_of({})" if row.is_digest else "{}" for row in key),
            has_key=bool(in_key),
        )
    order = TopologicalSorter({name: set[str]() for name in sorted(by_name)})
    for row in tx.all(SQL.references):
        order.add(row.table, row.named)
    return [by_name[name] for name in order.static_order() if name not in OF_ONE_STORE]


def quote(name: str) -> str:
    """A name of the catalogue as SQL takes it, whatever word it is."""
    return f'"{name}"'


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


def pages(
    page: Callable[[Row | None, int], list[Row]], rows_max: int = PAGE_ROWS_MAX
) -> Iterator[list[Row]]:
    """Yield rows page by page: memory does not grow with their number.

    `page` takes the last row of the page before, None at first, and the number of rows to return.
    """
    last, most = None, FIRST_PAGE_ROWS
    while rows := page(last, most):
        yield rows
        last, most = rows[-1], next_page_rows(rows, most, rows_max)


def next_page_rows(rows: Sequence[Row], most: int, rows_max: int = PAGE_ROWS_MAX) -> int:
    """Return the number of rows of the next page, after one of `most`: fewer if rows are large."""
    size = sum(len(value) if isinstance(value, str | bytes) else 8 for row in rows for value in row)
    return max(1, min(rows_max, 16 * most, PAGE_BYTES * most // max(1, size)))


Advance = Callable[[int], None]  # called with the number of rows of each step


@dataclass(frozen=True, slots=True)
class TableDigest:
    """The contents of a table: number of rows, and the sum of their SHA-256 in hex, independent of
    order.
    """

    rows: int
    hash: str


def store_digest(store: Store) -> dict[str, TableDigest]:
    """Return the digests of all tables by name, read in one transaction."""
    return store.read(digests)


def digests(tx: Transaction) -> dict[str, TableDigest]:
    """Return the digests of all tables by name."""
    by_name = sorted(tables(tx), key=lambda table: table.name)
    return {table.name: table_digest(tx, table) for table in by_name}


def table_digest(tx: Transaction, table: Table, advance: Advance = lambda _: None) -> TableDigest:
    """Return the digest of one table."""
    tx.one_or_none(SQL.be_patient)
    count = total = 0
    names = sorted(table.columns)  # migrations may have added them in another order
    for rows in table.pages(tx, names):
        count += len(rows)
        total += sum(int.from_bytes(hashlib.sha256(_encoded(row)).digest(), "big") for row in rows)
        advance(len(rows))
    return TableDigest(count, f"{total % 2**256:064x}")


def _encoded(row: Sequence[Row]) -> bytes:
    """Return a row as unique bytes: each value with its type and, if it varies, its length."""
    parts = []
    for value in row:
        if value is None:
            parts.append(b"-")
        elif isinstance(value, int):
            parts.append(b"i%d;" % value)
        elif isinstance(value, str):
            text = value.encode()
            parts.append(b"s%d;%b" % (len(text), text))
        elif isinstance(value, float):
            parts.append(b"f" + struct.pack(">d", value))
        else:
            parts.append(b"b%d;%b" % (len(value), value))
    return b"".join(parts)


ROWS_A_WRITE = 100  # over a network, the number of statements dominates
_MARK = "copied_from"
# triggers ensure that the trail only grows, entry by entry, and maintain its head
_TRAIL, _HEAD = "audit", "audit_head"
_OTHER_TRAIL = (
    "the audit trail of the target is not a prefix of the source's: copy into a new, empty store"
)

# called with the name of a phase and its number of rows
Progress = Callable[[str, int], AbstractContextManager[Advance]]


class CopyRefused(Exception):
    """The store cannot become a copy of the other one."""


class CopyUnfinished(StoreUnavailable):
    """This store is an unfinished copy."""


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The digests of the tables of the source when it was copied, and of the target now.

    `has_moved_on`: the source has changed since it was copied.
    """

    source: dict[str, TableDigest]
    target: dict[str, TableDigest]
    has_moved_on: bool

    @property
    def is_same(self) -> bool:
        """True if the target holds what the source held."""
        return self.source == self.target


def copy(source: Store, target: Store, *, place: str, progress: Progress) -> CopyResult:
    """Make `target` hold what `source`, located at `place`, holds at this moment, and compare them.

    The copy is not finished yet: see `finish`. The target must be empty, or an unfinished copy of
    the same place. Raises CopyRefused and StoreUnavailable.
    """
    if source.read(_mark_of) is not None:
        raise CopyRefused(f"{place} is itself an unfinished copy")
    target.write(lambda tx: _mark(tx, place))
    ours, theirs = source.read(lambda tx: _Copying(tx, target, place).run(progress))
    now = source.read(lambda tx: {table.name: table.count(tx) for table in tables(tx)})
    has_moved_on = any(now[name] != digest.rows for name, digest in ours.items())
    return CopyResult(ours, theirs, has_moved_on)


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


def can_become_copy(store: Store) -> bool:
    """Return True for an unfinished copy, and for a store with no more rows than a new one has."""
    return store.read(lambda tx: _mark_of(tx) is not None or not _filled(tx))


def _filled(tx: Transaction) -> list[str]:
    return [table.name for table in tables(tx) if table.has_key and table.count(tx)]


def _mark_of(tx: Transaction) -> str | None:
    if tx.one_or_none(SQL.has_table, table=_MARK) is None:
        return None
    return str(tx.one(f"select place from {_MARK}").place)


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

    def run(self, progress: Progress) -> tuple[dict[str, TableDigest], dict[str, TableDigest]]:
        """Copy all tables; return the digests of the source's and of the target's, by name."""
        rows = sum(ours.count(self._source) for ours, _ in self._pairs)
        with progress("copying", rows) as advance:
            # remove first, so that no removed row conflicts with a new one
            for ours, theirs in reversed(self._pairs):
                self._remove(ours, theirs)
            for ours, theirs in self._pairs:
                self._add(ours, theirs, advance)
        self._write(self._advance_sequences)
        source, target = dict[str, TableDigest](), dict[str, TableDigest]()
        with progress("comparing", 2 * rows) as advance:
            for ours, theirs in sorted(self._pairs, key=lambda pair: pair[0].name):
                source[ours.name] = table_digest(self._source, ours, advance)
                digest = partial(table_digest, table=theirs, advance=advance)
                target[ours.name] = self._target.read(digest)
        return source, target

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
                present = partial(theirs.same, rows=rows, columns=theirs.columns)
                existing = {} if is_new else self._target.read(present)
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
