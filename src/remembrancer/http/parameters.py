"""Query strings, validated against a model as strictly as bodies.

Starlette's own parser is not used: it replaces invalid UTF-8 and takes the last of two values.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ValidationError

from .bodies import fault, invalid

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_BOOLEANS = {"true": True, "false": False}
M = TypeVar("M", bound=BaseModel)


def parse_query(model: type[M], query: bytes) -> M:
    """Parse and validate a query string. Unknown parameters are ignored.

    Raises InvalidRequest, naming the parameter, for invalid UTF-8, a repeated parameter, and
    values that do not match the model.
    """
    kinds = _kinds(model)
    values: dict[str, Any] = {}
    for pair in query.split(b"&"):
        left, _, right = pair.partition(b"=")
        name = unquote_to_bytes(left.replace(b"+", b" ")).decode("utf-8", "replace")
        if name not in kinds:
            continue
        if name in values:
            raise invalid([(f"/{name}", "the parameter is repeated")])
        values[name] = _convert(kinds[name], _text(name, right))
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise invalid(
            fault(f) for f in error.errors(include_url=False, include_input=False)
        ) from None


def _text(name: str, value: bytes) -> str:
    if _BROKEN_ESCAPE.search(value):
        message = "a percent sign must be followed by two hex digits; encode a literal one as %25"
        raise invalid([(f"/{name}", message)])
    try:
        return unquote_to_bytes(value.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        raise invalid([(f"/{name}", "text must be valid UTF-8, percent-encoded")]) from None


def _convert(kinds: frozenset[str], text: str) -> Any:
    """Convert a text to the type of its parameter, or return it for the model to reject."""
    if "integer" in kinds and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if "boolean" in kinds:
        return _BOOLEANS.get(text, text)
    return text


@cache
def _kinds(model: type[BaseModel]) -> dict[str, frozenset[str]]:
    """Return the JSON types of each parameter."""
    schema = model.model_json_schema()["properties"]
    return {
        name: frozenset(str(kind.get("type")) for kind in [part, *part.get("anyOf", [])])
        for name, part in schema.items()
    }
