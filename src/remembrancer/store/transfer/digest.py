"""Counts and hashes of what a store holds: the same for the same rows, whatever the engine."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..engine import Row, Store, Transaction
from .catalog import SQL, Table, tables

Advance = Callable[[int], None]  # told of each step how many rows it took


@dataclass(frozen=True, slots=True)
class TableDigest:
    """What a table holds:

    its number of rows, and the sum of the SHA-256 of each, which no order changes, in hex.
    """

    table: str
    rows: int
    hash: str


def table_digest(store: Store) -> list[TableDigest]:
    """What each table of a store holds, all at one moment."""

    def look(tx: Transaction) -> list[TableDigest]:
        tx.one_or_none(SQL.be_patient)
        return sorted((store_digest(tx, table) for table in tables(tx)), key=lambda one: one.table)

    return store.read(look)


def store_digest(tx: Transaction, table: Table, advance: Advance = lambda _: None) -> TableDigest:
    """What one table holds."""
    count = total = 0
    names = sorted(table.columns)  # whatever order the history of this store brought them in
    for rows in table.pages(tx, names):
        count += len(rows)
        total += sum(int.from_bytes(hashlib.sha256(_encoded(row)).digest(), "big") for row in rows)
        advance(len(rows))
    return TableDigest(table.name, count, f"{total % 2**256:064x}")


def _encoded(row: Sequence[Row]) -> bytes:
    """A row as bytes that no other row has:

    each value with its type and, where that varies, its length.
    """
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
