"""Records of an export and rows of the store: a field has the column of its name.

A time such as `created_at` or `valid_from` has the column `created_ms` or `valid_from_ms`, a
boolean is 0 or 1, flags are words with commas between, metadata is JSON, a source
is its rank.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import AwareDatetime

from ...protocol.sources import RANKS, SOURCES
from ...store import Row
from ..spaces import flag_names, milliseconds, read_metadata, write_metadata
from .records import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

AnyRecord = TypeVar("AnyRecord", bound=Record)


def record_of(model: type[AnyRecord], row: Row, **fields: Any) -> AnyRecord:
    """Return the record of a row. `fields` replace those of the row."""
    columns, times, booleans = row._asdict(), _fields(model, AwareDatetime), _fields(model, bool)
    values = dict(fields)
    for name in model.model_fields:
        if name in fields:
            continue
        if name in times:
            ms = columns[_time_column(name)]
            values[name] = None if ms is None else time_of(ms)
        elif name == "flags":
            values[name] = flag_names(columns[name])
        elif name == "metadata":
            values[name] = read_metadata(columns[name])
        elif name.endswith("source"):
            values[name] = SOURCES[columns[name]]
        else:
            values[name] = bool(columns[name]) if name in booleans else columns[name]
    return model.model_validate(values)


def columns_of(record: Record) -> dict[str, Any]:
    """Return the columns of a record's row, by name."""
    times, booleans = _fields(type(record), AwareDatetime), _fields(type(record), bool)
    columns: dict[str, Any] = {}
    for name in type(record).model_fields:
        value = getattr(record, name)
        if name in times:
            columns[_time_column(name)] = None if value is None else milliseconds(value, 0)
        elif name == "flags":
            columns[name] = ",".join(value)
        elif name == "metadata":
            columns[name] = write_metadata(value)
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
def _fields(model: type[Record], target: Any) -> frozenset[str]:
    """Return the names of the fields of a type, or of it or None."""
    return frozenset(
        name for name, field in model.model_fields.items() if _mentions(field.annotation, target)
    )


def _mentions(annotation: Any, target: Any) -> bool:
    return annotation is target or any(_mentions(part, target) for part in get_args(annotation))
