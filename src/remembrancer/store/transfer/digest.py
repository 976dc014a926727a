"""Counts and hashes of a store's contents, the same for the same rows on every engine."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..engine import Row, Store, Transaction
from .catalog import SQL, Table, tables

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
