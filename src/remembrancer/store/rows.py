"""Messages and rows: a field has the column of its name.

A time such as `created_at` or `valid_from` has the column `created_ms` or `valid_from_ms`, a
boolean is 0 or 1, flags are words with commas between, metadata is JSON, a source is its rank.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import AwareDatetime, BaseModel

from ..protocol.text import rfc3339
from ..protocol.trust import RANKS, SOURCES
from .engine import Row

MessageT = TypeVar("MessageT", bound=BaseModel)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_row(kind: type[MessageT], row: Row, /, **fields: Any) -> MessageT:
    """Return the message that a row holds.

    `fields` take the place of columns. A field that has neither keeps its default.
    """
    columns, values = row._asdict(), dict(fields)
    times, booleans = _fields(kind, AwareDatetime), _fields(kind, bool)
    for name in kind.model_fields.keys() - fields.keys():
        column = name if name in columns else _time_column(name)
        if column not in columns:
            continue
        value = columns[column]
        if column != name:
            value = value if value is None else (time_of if name in times else rfc3339)(value)
        elif name == "flags":
            value = value.split(",") if value else []
        elif name == "metadata":
            value = json.loads(value) if value else None
        elif name.endswith("source"):
            value = SOURCES[value]
        elif name in booleans:
            value = bool(value)
        values[name] = value
    return kind.model_validate(values)


def columns_of(message: BaseModel) -> dict[str, Any]:
    """Return the columns of a message's row, by name."""
    times, booleans = _fields(type(message), AwareDatetime), _fields(type(message), bool)
    columns: dict[str, Any] = {}
    for name in type(message).model_fields:
        value = getattr(message, name)
        if name in times:
            ms = None if value is None else round(value.timestamp() * 1000)
            columns[_time_column(name)] = ms
        elif name == "flags":
            columns[name] = ",".join(value)
        elif name == "metadata":
            columns[name] = json.dumps(value, ensure_ascii=False) if value else None
        elif name.endswith("source"):
            columns[name] = RANKS[value]
        else:
            columns[name] = int(value) if name in booleans else value
    return columns


def time_of(ms: int, offset_minutes: int = 0) -> datetime:
    """Return a time (ms since 1970) in a zone, minutes east of UTC."""
    zone = timezone(timedelta(minutes=offset_minutes)) if offset_minutes else UTC
    return (_EPOCH + timedelta(milliseconds=ms)).astimezone(zone)


def _time_column(field: str) -> str:
    return f"{field.removesuffix('_at')}_ms"


@cache
def _fields(kind: type[BaseModel], target: Any) -> frozenset[str]:
    """Return the names of the fields of a type, or of it or None."""
    return frozenset(
        name for name, field in kind.model_fields.items() if _mentions(field.annotation, target)
    )


def _mentions(annotation: Any, target: Any) -> bool:
    return annotation is target or any(_mentions(part, target) for part in get_args(annotation))
