"""Objects and rows: a field has the column of its name.

A time such as `created_at` or `valid_from` has the column `created_ms` or `valid_from_ms`, a
boolean is 0 or 1, flags are words with commas between, metadata is JSON, a source is its rank.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import AwareDatetime

from ..protocol.text import rfc3339
from ..protocol.trust import RANKS, SOURCES
from .engine import Row

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_row(kind: Callable[..., T], row: Row, /, **fields: Any) -> T:
    """Return the message, or the object of a dataclass, that a row holds.

    `fields` take the place of columns. A field that has neither keeps its default.
    """
    columns, values = row._asdict(), dict(fields)
    for name, annotation in _annotations(kind).items():
        column = name if name in columns else _time_column(name)
        if name in fields or column not in columns:
            continue
        value = columns[column]
        if column != name:
            to_time = time_of if _mentions(annotation, AwareDatetime) else rfc3339
            value = None if value is None else to_time(value)
        elif name == "flags":
            value = value.split(",") if value else []
        elif name == "metadata":
            value = json.loads(value) if value else None
        elif name.endswith("source"):
            value = SOURCES[value]
        elif _mentions(annotation, bool):
            value = bool(value)
        values[name] = value
    return kind(**values)


def columns_of(message: Any) -> dict[str, Any]:
    """Return the columns of the row of a message or a dataclass, by name."""
    columns: dict[str, Any] = {}
    for name, annotation in _annotations(message.__class__).items():
        value = getattr(message, name)
        if _mentions(annotation, AwareDatetime):
            ms = None if value is None else round(value.timestamp() * 1000)
            columns[_time_column(name)] = ms
        elif name == "flags":
            columns[name] = ",".join(value)
        elif name == "metadata":
            columns[name] = json.dumps(value, ensure_ascii=False) if value else None
        elif name.endswith("source"):
            columns[name] = RANKS[value]
        else:
            columns[name] = int(value) if _mentions(annotation, bool) else value
    return columns


def time_of(ms: int, offset_minutes: int = 0) -> datetime:
    """Return a time (ms since 1970) in a zone, minutes east of UTC."""
    zone = timezone(timedelta(minutes=offset_minutes)) if offset_minutes else UTC
    return (_EPOCH + timedelta(milliseconds=ms)).astimezone(zone)


def _time_column(field: str) -> str:
    return f"{field.removesuffix('_at')}_ms"


@cache
def _annotations(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a message or a dataclass, by name."""
    if is_dataclass(kind):
        return {field.name: field.type for field in dataclass_fields(kind)}
    return {name: field.annotation for name, field in kind.model_fields.items()}


@cache
def _mentions(annotation: Any, target: type) -> bool:
    """Return True for a type, and for it or None; dataclasses have their types as texts."""
    if isinstance(annotation, str):
        return target.__name__ in annotation.split(" | ")
    return annotation is target or any(_mentions(part, target) for part in get_args(annotation))
