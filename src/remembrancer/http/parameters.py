"""Parameters in a path's query string, checked against a model as strictly as a body is.

The framework's own reading is not used: it puts a replacement character for what is not UTF-8, and
of two values takes the last.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ValidationError

from .bodies import fault, invalid

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_BOOLEANS = {"true": True, "false": False}
M = TypeVar("M", bound=BaseModel)


def parse_query(model: type[M], query: bytes) -> M:
    """The parameters in a query string; those the model does not know are passed over.

    Raises InvalidRequest for a value that is not UTF-8, one given twice, and what breaks the model;
    it names the parameter.
    """
    kinds = _kinds(model)
    values: dict[str, Any] = {}
    for pair in query.split(b"&"):
        left, _, right = pair.partition(b"=")
        name = unquote_to_bytes(left.replace(b"+", b" ")).decode("utf-8", "replace")
        if name not in kinds:
            continue
        if name in values:
            raise invalid([(f"/{name}", "it is given twice")])
        values[name] = _read(kinds[name], _text(name, right))
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise invalid(
            fault(f) for f in error.errors(include_url=False, include_input=False)
        ) from None


def _text(name: str, value: bytes) -> str:
    if _BROKEN_ESCAPE.search(value):
        raise invalid(
            [
                (
                    f"/{name}",
                    "a percent sign must be followed by two hex digits; by itself it is written %25",
                )
            ]
        )
    try:
        return unquote_to_bytes(value.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        raise invalid([(f"/{name}", "text must be valid UTF-8, percent-encoded")]) from None


def _read(kinds: frozenset[str], text: str) -> Any:
    """A text as the kind of value its parameter takes; what it cannot be is left to the model to
    refuse.
    """
    if "integer" in kinds and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if "boolean" in kinds:
        return _BOOLEANS.get(text, text)
    return text


@cache
def _kinds(model: type[BaseModel]) -> dict[str, frozenset[str]]:
    """The JSON types each parameter takes."""
    schema = model.model_json_schema()["properties"]
    return {
        name: frozenset(str(kind.get("type")) for kind in [part, *part.get("anyOf", [])])
        for name, part in schema.items()
    }
