"""Forms, validated by the same models as API requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..http import bodies

M = TypeVar("M", bound=BaseModel)
_LOCAL_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?", re.ASCII)
_MESSAGES = {
    "string_too_long": "At most {max_length:,} characters.",
    "too_long": "At most {max_length:,} characters.",
    "string_too_short": "This field is required.",
    "too_short": "Choose at least one.",
    "greater_than_equal": "Must be at least {ge}.",
    "less_than_equal": "Must be at most {le}.",
    "int_type": "Must be a whole number.",
    "int_parsing": "Must be a whole number.",
    "literal_error": "Must be one of {expected}.",
}


def number(text: str) -> int | str:
    """Return a whole number, or the text itself, which the model then rejects."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else text


def utc_time(text: str) -> str | None:
    """Return the value of a `datetime-local` field as a time in UTC (RFC 3339), None if empty.

    Any other text is returned unchanged; the model then rejects it.
    """
    text = text.strip()
    match = _LOCAL_TIME.fullmatch(text)
    return f"{match[1]}{match[2] or ':00'}Z" if match else text or None


def parse_form(model: type[M], values: Mapping[str, Any]) -> M | dict[str, str]:
    """Return the validated request, or error messages by field name."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        messages: dict[str, str] = {}
        for fault in error.errors(include_url=False, include_input=False):
            pointer, _ = bodies.fault(fault)
            messages.setdefault(pointer.strip("/").partition("/")[0], _message(fault))
        return messages


def _message(fault: ErrorDetails) -> str:
    """Return an error message for the user who filled in the form."""
    if fault["type"] in _MESSAGES:
        return _MESSAGES[fault["type"]].format(**fault.get("ctx", {}))
    detail = bodies.fault(fault)[1]
    return f"{detail[:1].upper()}{detail[1:]}."


def parse_filters(model: type[M], values: Mapping[str, Any]) -> tuple[M, dict[str, str]]:
    """Return the filters and error messages by field name. Invalid filters match everything.

    Empty fields are ignored.
    """
    fields = {name: value for name, value in values.items() if value not in ("", None)}
    result = parse_form(model, fields)
    return (model(), result) if isinstance(result, dict) else (result, {})
