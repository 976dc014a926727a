"""The JSON Schema of the arguments of a tool, made from the model of its request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel


def arguments_schema(
    model: type[BaseModel], arguments: Sequence[str], required: Sequence[str]
) -> dict[str, Any]:
    """Return the schema of an object with these fields of a model."""
    model_schema = model.model_json_schema()
    properties = {
        name: _argument(model_schema["properties"][name], required=name in required)
        for name in arguments
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    if "$ref" in json.dumps(properties):
        schema["$defs"] = model_schema["$defs"]
    return schema


def _argument(schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return the schema of an argument: without the title, which repeats its name, and open to null
    if it is optional.
    """
    argument = {name: value for name, value in schema.items() if name != "title"}
    if required or any(part.get("type") == "null" for part in argument.get("anyOf", ())):
        return argument
    about = ("description", "default")
    kind = {name: value for name, value in argument.items() if name not in about}
    return {
        "anyOf": [kind, {"type": "null"}],
        **{name: value for name, value in argument.items() if name in about},
    }
