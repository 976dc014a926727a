"""The tables of a store, read from the engine's own catalog, for work on all tables alike, such as
a copy.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import groupby
from typing import Any

from ..engine import Row, Store, Transaction
from ..queries import load_queries

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
        keys = ", ".join(f"({self._placeholders(place)})" for place in range(len(rows)))
        values = {
            name: value
            for place, row in enumerate(rows)
            for name, value in self._values(place, row).items()
        }
        select = f"select {_listed(map(quote, columns))} from {quote(self.name)}"
        matches = tx.all(f"{select} where ({self._indexed()}) in (values {keys})", **values)
        return {self.key_of(row): row for row in matches}

    def add(self, tx: Transaction, rows: Sequence[Row]) -> None:
        """Insert rows with the columns of `columns`; replace rows with the same key."""
        names = [
            [f"value_{place}_{column}" for column in range(len(self.columns))]
            for place in range(len(rows))
        ]
        tuples = ", ".join(f"({_listed(f':{name}' for name in row)})" for row in names)
        insert = (
            f"insert into {quote(self.name)} ({_listed(map(quote, self.columns))}) values {tuples}"
        )
        rest = [column for column in self.columns if column not in self.key]
        if self.has_key and rest:
            changes = _listed(f"{quote(column)} = excluded.{quote(column)}" for column in rest)
            insert += f" on conflict ({self._indexed()}) do update set {changes}"
        tx.run(
            insert,
            **{
                name: value
                for row, values in zip(names, rows, strict=True)
                for name, value in zip(row, values, strict=True)
            },
        )

    def remove(self, tx: Transaction, rows: Sequence[Row]) -> None:
        """Delete the rows with the keys of these rows, which may come from another store."""
        for row in rows:
            tx.run(
                f"delete from {quote(self.name)} where ({self._indexed()}) ="
                f" ({self._placeholders(0)})",
                **self._values(0, row),
            )

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

    table: str
    rows: int
    hash: str


def store_digest(store: Store) -> list[TableDigest]:
    """Return the digests of all tables, read in one transaction."""

    def digests(tx: Transaction) -> list[TableDigest]:
        tx.one_or_none(SQL.be_patient)
        return sorted((table_digest(tx, table) for table in tables(tx)), key=lambda one: one.table)

    return store.read(digests)


def table_digest(tx: Transaction, table: Table, advance: Advance = lambda _: None) -> TableDigest:
    """Return the digest of one table."""
    count = total = 0
    names = sorted(table.columns)  # migrations may have added them in another order
    for rows in table.pages(tx, names):
        count += len(rows)
        total += sum(int.from_bytes(hashlib.sha256(_encoded(row)).digest(), "big") for row in rows)
        advance(len(rows))
    return TableDigest(table.name, count, f"{total % 2**256:064x}")


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
