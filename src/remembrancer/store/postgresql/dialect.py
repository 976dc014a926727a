"""What PostgreSQL's driver needs of SQL and values that were written for every engine."""

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
    r"""(?P<kept> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | :: ) | :(?P<name>[a-z_][a-z0-9_]*) | (?P<percent>%)""",
    re.VERBOSE | re.IGNORECASE,
)
_BLOB = re.compile(r"cast\(([a-z_.]+) as blob\)")  # the bytes of a text, as SQLite gives them
_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE")


class PreparedQuery(NamedTuple):
    """A statement as the driver takes it, and the values it names."""

    sql: bytes
    names: tuple[str, ...]

    def values(self, given: dict[str, Any]) -> dict[str, Any] | None:
        """The values it names; None = it names none. Raises KeyError for one that is not given."""
        return {name: given[name] for name in self.names} or None


def prepare(sql: str) -> PreparedQuery:
    """A statement in the driver's words:

    `:name` becomes `%(name)s`; a query's own variant for PostgreSQL stands in for it.
    """
    return _translated(for_postgresql(sql))


def for_postgresql(sql: str) -> str:
    """Return a statement in PostgreSQL's dialect, with its named parameters.

    A query's own variant replaces it, and `cast(column as blob)` becomes `convert_to(…)`.
    """
    if isinstance(sql, NamedStatement):
        sql = sql.variants.get("postgresql", str(sql))
    return _BLOB.sub(r"convert_to(\1, 'UTF8')", sql)


@lru_cache(
    maxsize=4096
)  # more than there are named queries; tests and tools bring some of their own
def _translated(sql: str) -> PreparedQuery:
    names = tuple(dict.fromkeys(found["name"] for found in _TOKEN.finditer(sql) if found["name"]))

    def put(found: re.Match[str]) -> str:
        if found["name"]:
            return f"%({found['name']})s"
        text = found[0]
        return (
            text.replace("%", "%%") if names else text
        )  # without values the driver leaves a statement as it is

    return PreparedQuery(_TOKEN.sub(put, sql).encode(), names)


def changed_rows(cursor: psycopg.Cursor[Any]) -> int:
    """How many rows the statement just run changed; one that only reads changed none."""
    return cursor.rowcount if (cursor.statusmessage or "").startswith(_CHANGES) else 0


def cursor_of(connection: psycopg.Connection[Any]) -> psycopg.Cursor[Any]:
    """A cursor that gives named rows."""
    return connection.cursor(row_factory=named_rows, binary=True)


def has_rows(cursor: psycopg.Cursor[Any]) -> bool:
    """Whether the statement just run gives rows, be there none; `description` would describe each
    column to tell.
    """
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


def named_rows(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], Row]:
    """Rows as named tuples, a column without a usable name by its place."""
    result = cursor.pgresult
    names = (result.fname(place) for place in range(result.nfields)) if result is not None else ()
    return _row_class(tuple(names))._make  # type: ignore[no-any-return]


@lru_cache(maxsize=4096)
def _row_class(names: tuple[bytes | None, ...]) -> Any:
    return namedtuple("Row", [(name or b"").decode() for name in names], rename=True)  # noqa: PYI024  columns are known at run time only


class _Truth(Loader):
    """A truth value as SQLite gives it: 1 or 0."""

    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"\x01")


class _Sum(Loader):
    """The sum of whole numbers as one:

    no column is a decimal, but PostgreSQL makes their sum one.
    """

    format = Format.BINARY

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        self._decimal = NumericBinaryLoader(oid, context)

    def load(self, data: Buffer) -> int | float:
        number = self._decimal.load(data)
        return float(number) if number.as_tuple().exponent else int(number)


class _Flag(Int8Dumper):
    """A truth value into a column of numbers."""

    def dump(self, obj: Any) -> Buffer | None:
        return b"1" if obj else b"0"


def register_adapters(connection: psycopg.Connection[Any]) -> None:
    """Let values go and come as SQLite's do. Numbers are always 64 bits: `id << 32` of a smaller
    one would lose them.

    Rows come in binary (`cursor_of`): bytes written as text are twice as many, and an index is read
    in half the time.
    """
    adapters = connection.adapters
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _Flag)
    adapters.register_dumper(str, StrDumper)  # known as text, so that `:text is null` has a type
    adapters.register_loader("bool", _Truth)
    adapters.register_loader("numeric", _Sum)
