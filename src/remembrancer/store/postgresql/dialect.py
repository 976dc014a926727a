"""Translation of common SQL and values for PostgreSQL's driver."""

from __future__ import annotations

import re
from collections import namedtuple
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.pq.abc import PGresult
from psycopg.types.numeric import Int8Dumper, NumericBinaryLoader
from psycopg.types.string import StrDumper

from ..queries import NamedStatement

_TOKEN = re.compile(
    r"""(?P<literal> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | :: )
    | :(?P<name>[a-z_][a-z0-9_]*)""",
    re.VERBOSE | re.IGNORECASE,
)
_BLOB = re.compile(r"cast\(([a-z_.]+) as blob\)")  # the bytes of a text, as SQLite gives them
_CHANGES = (b"INSERT", b"UPDATE", b"DELETE", b"MERGE")


class BoundStatement(NamedTuple):
    """A statement with `$1`, `$2`, … and their values."""

    sql: bytes
    values: tuple[Any, ...] = ()
    is_constant: bool = True  # False: its text differs each time, so it is not prepared


class PreparedQuery(NamedTuple):
    """A statement in the protocol's form, and the names of its values in the order of `$1`, …"""

    sql: bytes
    names: tuple[str, ...]

    def bind(self, values: dict[str, Any]) -> BoundStatement:
        """Return the statement with its values. Raises KeyError for a missing one."""
        return BoundStatement(self.sql, tuple([values[name] for name in self.names]))


def prepare(sql: str) -> PreparedQuery:
    """Return a statement in the protocol's form: `:name` becomes `$1`.

    A query's variant for PostgreSQL replaces the common form.
    """
    return _translated(for_postgresql(sql))


def for_postgresql(sql: str) -> str:
    """Return a statement in PostgreSQL's dialect, with its named parameters.

    A query's own variant replaces it, and `cast(column as blob)` becomes `convert_to(…)`.
    """
    if isinstance(sql, NamedStatement):
        sql = sql.variants.get("postgresql", str(sql))
    return _BLOB.sub(r"convert_to(\1, 'UTF8')", sql)


@lru_cache(maxsize=4096)  # more than there are named queries
def _translated(sql: str) -> PreparedQuery:
    names: dict[str, int] = {}

    def translate(match: re.Match[str]) -> str:
        if not match["name"]:
            return match[0]
        return f"${names.setdefault(match['name'], len(names) + 1)}"

    return PreparedQuery(_TOKEN.sub(translate, sql).encode(), tuple(names))


def changed_rows(result: PGresult) -> int:
    """Return the number of rows that a statement changed; 0 for a query."""
    is_change = (result.command_status or b"").startswith(_CHANGES)
    return result.command_tuples or 0 if is_change else 0


@lru_cache(maxsize=4096)
def row_class(names: tuple[bytes | None, ...]) -> Any:
    """Return a class of named tuples; unusable column names become positions."""
    columns = [(name or b"").decode() for name in names]
    return namedtuple("Row", columns, rename=True)  # noqa: PYI024


class _BoolLoader(Loader):
    """Load booleans as SQLite does: 1 or 0."""

    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"\x01")


class _NumericLoader(Loader):
    """Load sums of integers as integers: PostgreSQL returns them as numeric."""

    format = Format.BINARY

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        self._decimal = NumericBinaryLoader(oid, context)

    def load(self, data: Buffer) -> int | float:
        number = self._decimal.load(data)
        return float(number) if number.as_tuple().exponent else int(number)


class _BoolDumper(Int8Dumper):
    """Dump booleans into integer columns."""

    def dump(self, obj: Any) -> Buffer | None:
        return b"1" if obj else b"0"


def register_adapters(connection: psycopg.Connection[Any]) -> None:
    """Make the connection exchange values as SQLite does.

    Integers are always sent as 64 bits: `id << 32` would overflow smaller ones. Rows come in
    binary: bytes as text are twice as long, and loading an index takes twice the time.
    """
    adapters = connection.adapters
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _BoolDumper)
    adapters.register_dumper(str, StrDumper)  # typed as text, so that `:text is null` has a type
    adapters.register_loader("bool", _BoolLoader)
    adapters.register_loader("numeric", _NumericLoader)
