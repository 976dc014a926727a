"""What people typed into a form, read by the same rules as what programs send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .. import bodies

M = TypeVar("M", bound=BaseModel)


def number(text: str) -> int | str:
    """A whole number as it was typed; what is none stays as it is, to be refused by its model."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else text


def typed(model: type[M], values: Mapping[str, Any]) -> M | dict[str, str]:
    """The request that the fields make; else what is wrong, by the name of the field."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        wrong: dict[str, str] = {}
        for fault in error.errors(include_url=False, include_input=False):
            pointer, said = bodies.fault(fault)
            wrong.setdefault(pointer.strip("/").partition("/")[0], f"{said[:1].upper()}{said[1:]}.")
        return wrong


def sought(model: type[M], values: Mapping[str, Any]) -> tuple[M, dict[str, str]]:
    """What the fields of a search ask for, those left empty left out; where they cannot be read, all there is, and what is wrong."""
    found = typed(model, {name: value for name, value in values.items() if value not in ("", None)})
    return (model(), found) if isinstance(found, dict) else (found, {})
