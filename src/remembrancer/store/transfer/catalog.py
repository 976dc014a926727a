"""What tables a store has, in the words of its own catalogue:

for what treats all of them alike, such as a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import groupby
from typing import Any

from ..engine import Row, Transaction
from ..queries import load_queries

SQL = load_queries("remembrancer.store.transfer", "catalog.sql")
OF_ONE_STORE = {  # not what it keeps
    # its steps, its locks, whose copy it is, who called how often just now
    "schema_version", "turnstile", "copied_from", "rates",
    # what a database derives for itself to search by
    "search_spaces", "search_words", "search_terms", "search_vectors",
}  # fmt: skip
PAGE_ROWS_MAX = 1_000
PAGE_BYTES = 4 << 20  # about what a page holds, where rows are large

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table, with the columns that are written to it.

    `key`: the columns that tell its rows apart, all of them where the table names none; `forms`:
    how the index of the key has each, `{}` or a digest of it. Rows are found and walked through in
    these forms, by that index.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    forms: tuple[str, ...]
    has_key: bool

    def key_of(self, row: Row) -> Key:
        """What tells the row apart."""
        return tuple(getattr(row, column) for column in self.key)

    def count(self, tx: Transaction) -> int:
        """How many rows it has."""
        return int(tx.one(f"select count(*) as n from {quote(self.name)}").n)  # noqa: S608  names in SQL are the catalogue's, here and below

    def pages(self, tx: Transaction, columns: Sequence[str] = ()) -> Iterator[list[Row]]:
        """All rows in the order of the key, a page at a time; of each row all columns, or those
        named, which include the key's.
        """
        select = f"select {_listed(map(quote, columns or self.columns))} from {quote(self.name)}"  # noqa: S608
        by = self._indexed()
        bound, page_rows = "", PAGE_ROWS_MAX
        values: dict[str, Any] = {}
        while rows := tx.all(f"{select} {bound} order by {by} limit {page_rows}", **values):
            yield rows
            if len(rows) < page_rows:
                return
            bound, values = f"where ({by}) > ({self._given(0)})", self._values(0, rows[-1])
            page_rows = _rows_that_fit(rows)

    def same(self, tx: Transaction, rows: Sequence[Row], columns: Sequence[str]) -> dict[Key, Row]:
        """Those rows that have the keys of `rows`, which may be another store's, by their keys."""
        given = ", ".join(f"({self._given(place)})" for place in range(len(rows)))
        values = {
            name: value
            for place, row in enumerate(rows)
            for name, value in self._values(place, row).items()
        }
        select = f"select {_listed(map(quote, columns))} from {quote(self.name)}"  # noqa: S608
        found = tx.all(f"{select} where ({self._indexed()}) in (values {given})", **values)
        return {self.key_of(row): row for row in found}

    def add(self, tx: Transaction, rows: Sequence[Row]) -> None:
        """Insert rows, whose columns are in the order of `columns`; one whose key is there already
        takes the other's place.
        """
        names = [
            [f"value_{place}_{column}" for column in range(len(self.columns))]
            for place in range(len(rows))
        ]
        given = ", ".join(f"({_listed(f':{name}' for name in row)})" for row in names)
        insert = (
            f"insert into {quote(self.name)} ({_listed(map(quote, self.columns))}) values {given}"  # noqa: S608
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
        """Delete the rows with the keys of these, which may be another store's."""
        for row in rows:
            tx.run(
                f"delete from {quote(self.name)} where ({self._indexed()}) = ({self._given(0)})",
                **self._values(0, row),
            )  # noqa: S608

    def _indexed(self) -> str:
        """The columns of the key, each in its form."""
        return _listed(
            form.format(quote(column)) for form, column in zip(self.forms, self.key, strict=True)
        )

    def _given(self, place: int) -> str:
        """The same of a row given by `_values`."""
        return _listed(
            form.format(f":key_{place}_{number}") for number, form in enumerate(self.forms)
        )

    def _values(self, place: int, row: Row) -> dict[str, Any]:
        return {f"key_{place}_{number}": value for number, value in enumerate(self.key_of(row))}


def tables(tx: Transaction) -> list[Table]:
    """The tables that hold what the service keeps, in such an order that rows name only rows of
    tables before theirs.
    """
    found = {}
    for name, rows in groupby(tx.all(SQL.columns), key=lambda row: row.table):
        columns = list(rows)
        in_key = sorted((row for row in columns if row.key_place), key=lambda row: row.key_place)
        key = in_key or columns
        found[name] = Table(
            name,
            columns=tuple(row.column for row in columns),
            key=tuple(row.column for row in key),
            forms=tuple("digest_of({})" if row.is_digest else "{}" for row in key),
            has_key=bool(in_key),
        )
    order = TopologicalSorter({name: set[str]() for name in sorted(found)})
    for row in tx.all(SQL.references):
        order.add(row.table, row.named)
    return [found[name] for name in order.static_order() if name not in OF_ONE_STORE]


def quote(name: str) -> str:
    """A name of the catalogue as SQL takes it, whatever word it is."""
    return f'"{name}"'


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


def _rows_that_fit(rows: Sequence[Row]) -> int:
    """How many rows to ask for after these: fewer where they are large."""
    size = sum(
        len(value) if isinstance(value, str | bytes) else 8 for row in rows for value in row
    ) // len(rows)
    return max(1, min(PAGE_ROWS_MAX, PAGE_BYTES // max(1, size)))
