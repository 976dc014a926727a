"""Metadata in the store, and filters as statements: which turns or facts of a space pass.

Each value of the metadata is a row of `metadata_values`, written with its turn or fact. It is coded
so that the order of its text is the order of the values, and types stay apart: `s` and a text, `l`
and a text of a list, `e` for an empty list, `b` and 0 or 1, `n` and the bits of a number, whose
order is that of the numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..context import Context
from ..protocol.filters import COMPARISONS, Combination, Condition, Filter, Scalar, parse_filters
from ..store import Row, Transaction, load_queries
from .spaces import number_of, read_metadata, row_id

SQL = load_queries("remembrancer.memory", "filters.sql")
ItemKind: TypeAlias = Literal["events", "facts"]
_KINDS: dict[ItemKind, int] = {"events": 0, "facts": 1}  # as stored
_SIGN = 1 << 63
_TO_SQL = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


# --- Metadata in the store -------------------------------------------------------------------


def index_metadata(
    tx: Transaction, kind: ItemKind, *, space_id: int, item: int, stored: str | None
) -> None:
    """Record the values of the metadata of a turn or a fact (its row id)."""
    for key, value in {
        one for pair in (read_metadata(stored) or {}).items() for one in _rows(pair)
    }:
        tx.later(
            SQL.add_value, space_id=space_id, kind=_KINDS[kind], key=key, value=value, item=item
        )


def change_metadata(
    tx: Transaction, kind: ItemKind, *, space_id: int, item: int, stored: str | None
) -> None:
    """Replace the metadata of a turn or a fact (its row id)."""
    tx.run(SQL.set_of_event if kind == "events" else SQL.set_of_fact, id=item, metadata=stored)
    tx.run(SQL.drop_values, kind=_KINDS[kind], item=item)
    index_metadata(tx, kind, space_id=space_id, item=item, stored=stored)


def _rows(pair: tuple[str, Any]) -> Iterator[tuple[str, str]]:
    key, value = pair
    if isinstance(value, list):
        yield from ((key, f"l{text}") for text in value) if value else [(key, "e")]
    else:
        yield key, _coded(value)


def _coded(value: Scalar) -> str:
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, bool):
        return f"b{int(value)}"
    [bits] = struct.unpack(">Q", struct.pack(">d", value + 0.0))  # + 0.0: no negative zero
    return f"n{bits ^ (_SIGN if bits < _SIGN else 2 * _SIGN - 1):016x}"


# --- Filters as statements -------------------------------------------------------------------


class FilterSql(NamedTuple):
    """A piece of SQL with its values."""

    sql: str
    values: dict[str, Any]


def passing(filters: Mapping[str, Any] | Filter, kind: ItemKind) -> FilterSql:
    """Return a condition on rows of `events` or `facts` of one space, for a `where`.

    Besides its own values it needs `account_id` and `space_id`.
    """
    values: dict[str, Any] = {}
    parsed = parse_filters(filters) if isinstance(filters, Mapping) else filters
    return FilterSql(_sql(parsed, kind, values), values)


def passing_or_all(filters: Mapping[str, Any] | None, kind: ItemKind) -> FilterSql:
    """Return the condition of filters, or one that every row fulfils without any."""
    return FilterSql("true", {}) if filters is None else passing(filters, kind)


def _sql(filters: Filter, kind: ItemKind, values: dict[str, Any]) -> str:
    if isinstance(filters, Combination):
        parts = [_sql(part, kind, values) for part in filters.parts]
        if filters.word == "not":
            return f"not ({' or '.join(parts)})"
        return f"({f' {filters.word} '.join(parts)})"
    condition, is_negative = positive(filters)
    found = matching(condition, kind, len(values))
    values |= found.values
    return f"{kind}.id {'not ' if is_negative else ''}in ({found.sql})"


def positive(condition: Condition) -> tuple[Condition, bool]:
    """Return the condition that items must fulfil, or, if the second result is True, must not."""
    name, operator, value = condition.name, condition.operator, condition.value
    if operator == "ne":
        return Condition(name, "eq", value), True
    if operator == "nin":
        return Condition(name, "in", value), True
    if operator == "exists" and not value:
        return Condition(name, "exists", True), True
    return condition, False


def matching(condition: Condition, kind: ItemKind, first: int = 0) -> FilterSql:
    """Return a query for the ids of the items of a space that fulfil a positive condition.

    Its values are numbered from `first`.
    """
    values = _Values(first)
    select, *columns = _SELECTS[kind].get(condition.name, (_BY_VALUE[kind],))
    compared = " or ".join(_compared(column, condition, values) for column in columns)
    compared = f"({compared})" if columns else _of_metadata(condition, values)
    return FilterSql(select.replace("true", compared), values)


_BY_VALUE = {"events": SQL.events_by_value, "facts": SQL.facts_by_value}
_SELECTS: dict[ItemKind, dict[str, tuple[str, ...]]] = {
    "events": {
        "session_id": (SQL.events_by_session, "sessions.session_id"),
        "topic": (SQL.events_by_turn, "turns.topic"),
        "source": (SQL.events_by_turn, "turns.query_source", "turns.response_source"),
        "occurred_at": (SQL.events_by_turn, "turns.occurred_ms"),
    },
    "facts": {
        "session_id": (SQL.facts_by_session, "sessions.session_id"),
        "topic": (SQL.facts_by_turn, "turns.topic"),
        "source": (SQL.facts_by_field, "stated.source"),
        "occurred_at": (SQL.facts_by_field, "stated.valid_from_ms"),
    },
}


class _Values(dict[str, Any]):
    """The values of a statement, by the names that `add` gives them."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._first = first

    def add(self, value: Any) -> str:
        name = f"filter_{self._first + len(self)}"
        self[name] = value
        return f":{name}"


def _of_metadata(condition: Condition, values: _Values) -> str:
    operator, value = condition.operator, condition.value
    sql = f"key = {values.add(condition.name)}"
    if operator == "exists":
        return sql
    if operator == "contains":
        text = f"(value > 's' and value < 't' and {_has('substr(value, 2)', value, values)})"
        return f"{sql} and (value = {values.add(f'l{value}')} or {text})"
    if operator in COMPARISONS:
        letter = _coded(value)[0]
        low, high = values.add(letter), values.add(chr(ord(letter) + 1))
        compared = f"value {_TO_SQL[operator]} {values.add(_coded(value))}"
        return f"{sql} and value >= {low} and value < {high} and {compared}"
    several = value if operator == "in" else [value]
    coded = [_coded(one) for one in several]
    coded += [f"l{one}" for one in several if isinstance(one, str)]
    return f"{sql} and value in ({', '.join(map(values.add, coded))})"


def _has(column: str, text: str, values: _Values) -> str:
    # On every engine; `instr` and `strpos` are each known to one.
    return f"replace({column}, {values.add(text)}, '') <> {column}"


def _compared(column: str, condition: Condition, values: _Values) -> str:
    operator, value = condition.operator, condition.value
    if operator == "exists":
        return f"{column} is not null"
    if operator == "contains":
        return _has(column, value, values)
    if operator == "in":
        return f"{column} in ({', '.join(map(values.add, value))})"
    return f"{column} {_TO_SQL[operator]} {values.add(value)}"


# --- Filters as masks over the events of a space ---------------------------------------------


def passing_events(
    context: Context, tx: Transaction, space: Row, filters: Filter
) -> npt.NDArray[np.bool_]:
    """Return which events of a space pass, by number: (events_made,) bool.

    What each condition selects is kept, and only new events are read for the next search.
    """

    def mask(part: Filter) -> npt.NDArray[np.bool_]:
        if isinstance(part, Combination):
            join = np.logical_and if part.word == "and" else np.logical_or
            joined: npt.NDArray[np.bool_] = join.reduce([mask(one) for one in part.parts])
            return ~joined if part.word == "not" else joined
        condition, is_negative = positive(part)
        return _fulfilling(context, tx, space, condition) ^ is_negative

    return mask(filters)


def _fulfilling(
    context: Context, tx: Transaction, space: Row, condition: Condition
) -> npt.NDArray[np.bool_]:
    statement = matching(condition, "events")

    def find(number: int) -> list[int]:
        rows = tx.all(
            SQL.events_from.replace("select 0 as id", statement.sql),
            space_id=space.id,
            low=row_id(space.id, number),
            **statement.values,
        )
        return [number_of(row[0]) for row in rows]

    return context.index_cache.masks.mask(
        space.id, repr(condition), revision=space.revision, end=space.events_made, find=find
    )
