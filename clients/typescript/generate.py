"""Write endpoints.d.ts from the OpenAPI document: `python generate.py [FILE]`."""

# ruff: noqa: INP001 - a program, not a package

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remembrancer.http.openapi import document
from remembrancer.protocol.operations import OPERATIONS

TARGET = Path(__file__).parent / "endpoints.d.ts"
HEAD = "// Generated from the OpenAPI document by generate.py. Do not edit.\n"
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the TypeScript type of a JSON schema; `unknown` where it allows everything."""
    options = schema.get("anyOf") or schema.get("oneOf")
    if "$ref" in schema:
        text = str(schema["$ref"]).rpartition("/")[2]
    elif "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        text = " | ".join(literal(value) for value in values)
    elif options:
        text = " | ".join(dict.fromkeys(type_of(part) for part in options))
    elif schema.get("type") == "array":
        item = type_of(schema.get("items", {}))
        text = f"({item})[]" if " | " in item else f"{item}[]"
    elif schema.get("type") == "object":
        text = object_of(schema)
    else:
        text = _PLAIN.get(str(schema.get("type")), "unknown")
    return text


def literal(value: Any) -> str:
    """Return a value as a TypeScript literal."""
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def object_of(schema: Mapping[str, Any]) -> str:
    """Return an object type; a field without a default in an answer is always there."""
    properties = schema.get("properties")
    if not properties:
        return "Record<string, unknown>"
    required = set(schema.get("required", ()))
    fields = [
        f"{name}{'' if name in required else '?'}: {type_of(part)}"
        for name, part in properties.items()
    ]
    if schema.get("additionalProperties") is True:
        fields.append("[name: string]: unknown")
    return "{ " + "; ".join(fields) + " }"


def _schema_of(parameter: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a parameter; an object has it in its content, which is JSON."""
    content = parameter.get("content", {}).get("application/json", parameter)
    schema: Mapping[str, Any] = content["schema"]
    return schema


def parameters_of(operation: Mapping[str, Any], place: str) -> str:
    """Return the type of the parameters in one place, or an empty text if there are none."""
    rows = [row for row in operation.get("parameters", ()) if row["in"] == place]
    if not rows:
        return ""
    required = any(row["required"] for row in rows)
    fields = "; ".join(
        f"{row['name']}{'' if row['required'] else '?'}: {type_of(_schema_of(row))}" for row in rows
    )
    return f"{place}{'' if required else '?'}: {{ {fields} }}"


def endpoint_of(operation: Mapping[str, Any]) -> str:
    """Return the type of an endpoint: its path, query, body and answer."""
    parts = [part for place in ("path", "query") if (part := parameters_of(operation, place))]
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        parts.append(f"body: {type_of(schema)}")
    content = operation["responses"]["200"]["content"]
    answer = content.get("application/json")
    parts.append(f"answer: {type_of(answer['schema']) if answer else 'string'}")
    return "{ " + "; ".join(parts) + " }"


def generated() -> str:
    """Return the text of endpoints.d.ts."""
    api = document(OPERATIONS)
    schemas = sorted(api["components"]["schemas"].items())
    lines = [f"export type {name} = {type_of(schema)};" for name, schema in schemas]
    lines.append("/** Every endpoint: method and path. */\nexport interface Endpoints {")
    for path, operations in api["paths"].items():
        for method, operation in operations.items():
            lines.append(f"  /** {operation['summary']} */")
            lines.append(f'  "{method.upper()} {path}": {endpoint_of(operation)};')
    return HEAD + "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_text(generated(), "utf-8")
