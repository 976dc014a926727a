"""Translation of common SQL and values for PostgreSQL's driver."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types.numeric import Int8Dumper, NumericBinaryLoader
from psycopg.types.string import StrDumper

from ..engine import Row
from ..queries import NamedStatement

_TOKEN = re.compile(
    r"""(?P<literal> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | :: )
    | :(?P<name>[a-z_][a-z0-9_]*) | (?P<percent>%)""",
    re.VERBOSE | re.IGNORECASE,
)
_BLOB = re.compile(r"cast\(([a-z_.]+) as blob\)")  # the bytes of a text, as SQLite gives them
_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE")


class PreparedQuery(NamedTuple):
    """A statement in the driver's form, and the names of its values."""

    sql: bytes
    names: tuple[str, ...]

    def values(self, values: dict[str, Any]) -> dict[str, Any] | None:
        """Return the values of the statement; None if it has none. Raises KeyError for a missing
        one.
        """
        return {name: values[name] for name in self.names} or None


def prepare(sql: str) -> PreparedQuery:
    """Return a statement in the driver's form: `:name` becomes `%(name)s`.

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
    names = tuple(dict.fromkeys(match["name"] for match in _TOKEN.finditer(sql) if match["name"]))

    def translate(match: re.Match[str]) -> str:
        if match["name"]:
            return f"%({match['name']})s"
        text = match[0]
        # without values the driver does not interpret percent signs
        return text.replace("%", "%%") if names else text

    return PreparedQuery(_TOKEN.sub(translate, sql).encode(), names)


def changed_rows(cursor: psycopg.Cursor[Any]) -> int:
    """Return the number of rows that the last statement changed; 0 for a query."""
    return cursor.rowcount if (cursor.statusmessage or "").startswith(_CHANGES) else 0


def cursor_of(connection: psycopg.Connection[Any]) -> psycopg.Cursor[Any]:
    """Return a cursor that yields named rows in binary format."""
    return connection.cursor(row_factory=named_rows, binary=True)


def has_rows(cursor: psycopg.Cursor[Any]) -> bool:
    """Return True if the last statement returns rows, even none; cheaper than `description`."""
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


def named_rows(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], Row]:
    """Return a row factory for named tuples; unusable column names become positions."""
    result = cursor.pgresult
    names = (result.fname(place) for place in range(result.nfields)) if result is not None else ()
    return _row_class(tuple(names))._make  # type: ignore[no-any-return]


@lru_cache(maxsize=4096)
def _row_class(names: tuple[bytes | None, ...]) -> Any:
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

    Integers are always sent as 64 bits: `id << 32` would overflow smaller ones. Rows come in binary
    (`cursor_of`): bytes as text are twice as long, and loading an index takes twice the time.
    """
    adapters = connection.adapters
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _BoolDumper)
    adapters.register_dumper(str, StrDumper)  # typed as text, so that `:text is null` has a type
    adapters.register_loader("bool", _BoolLoader)
    adapters.register_loader("numeric", _NumericLoader)
