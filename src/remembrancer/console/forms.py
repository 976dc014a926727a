"""What people typed into a form, read by the same rules as what programs send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..http import bodies

M = TypeVar("M", bound=BaseModel)
_WORDS = {
    "string_too_long": "At most {max_length:,} characters.",
    "too_long": "At most {max_length:,} characters.",
    "string_too_short": "Type something.",
    "too_short": "Choose one at least.",
    "greater_than_equal": "At least {ge}.",
    "less_than_equal": "At most {le}.",
    "int_type": "A whole number.",
    "int_parsing": "A whole number.",
    "literal_error": "One of {expected}.",
}


def number(text: str) -> int | str:
    """A whole number as it was typed; what is none stays as it is, to be refused by its model."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else text


def parse_form(model: type[M], values: Mapping[str, Any]) -> M | dict[str, str]:
    """The request that the fields make; else what is wrong, by the name of the field."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        wrong: dict[str, str] = {}
        for fault in error.errors(include_url=False, include_input=False):
            pointer, _ = bodies.fault(fault)
            wrong.setdefault(pointer.strip("/").partition("/")[0], _told(fault))
        return wrong


def _told(fault: ErrorDetails) -> str:
    """What is wrong, in words for who typed it."""
    if fault["type"] in _WORDS:
        return _WORDS[fault["type"]].format(**fault.get("ctx", {}))
    said = bodies.fault(fault)[1]
    return f"{said[:1].upper()}{said[1:]}."


def parse_filters(model: type[M], values: Mapping[str, Any]) -> tuple[M, dict[str, str]]:
    """What the fields of a search ask for, those left empty left out; where they cannot be read,
    all there is, and what is wrong.
    """
    found = parse_form(
        model, {name: value for name, value in values.items() if value not in ("", None)}
    )
    return (model(), found) if isinstance(found, dict) else (found, {})
