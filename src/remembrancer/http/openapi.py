"""The OpenAPI 3.1 document, generated from the operations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from ..protocol import errors, limits
from ..protocol.openai_api import OpenAIErrorBody, is_openai_path, openai_body
from ..protocol.operation import AnyOperation
from ..protocol.status import INTERFACE_VERSION
from ..protocol.teams import TeamQuery

# The `$ref` of each model.
Refs = dict[tuple[type[BaseModel], JsonSchemaMode], dict[str, Any]]

_OPENAI = "OpenAI"  # before the names of error responses under /v1
_REF = "#/components/schemas/{model}"
_ABOUT = """A shared memory for AI agents. Bodies are JSON in UTF-8. Unknown fields are ignored;
types are strict; `null` for an optional field means that it is absent. Errors are
`application/problem+json` (RFC 9457) with a stable code in `error`; under `/v1` they have OpenAI's
shape. Every path that supports GET
supports HEAD too."""


def _header(name: str, example: str, description: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": description,
        "schema": {"type": "string", **schema},
        "example": example,
    }


_IDEMPOTENCY_KEY = _header(
    "Idempotency-Key",
    "5d2f0a6c-turn-17",
    "A unique text for this request. A request with the same key and body within "
    f"{limits.IDEMPOTENCY_HOURS} hours returns the first response again, with the header "
    "`Idempotent-Replayed: true`, and writes nothing.",
    minLength=1,
    maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS_MAX,
    pattern=r"^[!-~]+$",
)
_RANGE_HEADERS = [
    _header("Range", "bytes=0-4", "A single byte range. Any other value returns the whole file."),
    _header(
        "If-None-Match",
        '"0"',
        "The `ETag` of your copy. The response is 304 if the file has not changed.",
    ),
]
_RANGE_RESPONSES: dict[str, Any] = {
    "206": {
        "description": "The requested range; see `Content-Range`.",
        "content": {"*/*": {}},
    },
    "304": {"description": "Not modified."},
}


_MEDIA_SCHEMAS: dict[str, dict[str, Any]] = {
    "*/*": {},  # a file of any type: a JSON file may hold a number
    "application/json": {"type": "object"},
    "text/event-stream": {  # each event
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("event", "data")},
        "required": ["data"],
    },
}


@cache
def document(operations: tuple[AnyOperation, ...]) -> dict[str, Any]:
    """Return the OpenAPI document of these operations, cached. Callers must not change it."""
    schemas, refs = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, refs)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Remembrancer",
            "version": INTERFACE_VERSION,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                f"{prefix}{kind.__name__}": _problem(kind, refs, is_openai=bool(prefix))
                for prefix in ("", _OPENAI)
                for kind in errors.PROBLEMS
            },
            "headers": {
                "RequestId": _response_header("Id of this request, also in the server's log.")
            },
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "sk_ and hexadecimal characters",
                    "description": "An API key.",
                }
            },
        },
    }


def _schemas(operations: Sequence[AnyOperation]) -> tuple[dict[str, Any], Refs]:
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (errors.ProblemBody, "serialization"),
        (OpenAIErrorBody, "serialization"),
    ]
    models += [(e.body, "validation") for e in operations if e.body]
    models += [(e.answer, "serialization") for e in operations if e.answer]
    refs, definitions = models_json_schema(list(dict.fromkeys(models)), ref_template=_REF)
    return definitions["$defs"], cast(Refs, refs)


def _operation(operation: AnyOperation, refs: Refs) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "description": operation.description,
    }
    needs_key_sometimes = errors.Unauthorized in operation.errors
    described["security"] = (
        [{"key": []}] if operation.needs_key else [{}, {"key": []}] if needs_key_sometimes else []
    )
    if parameters := [
        *_path_parameters(operation),
        *_query_parameters(operation),
        *([_IDEMPOTENCY_KEY] if operation.takes_idempotency_key else []),
        *(_RANGE_HEADERS if operation.has_ranges else []),
    ]:
        described["parameters"] = parameters
    if operation.body:
        schema, examples = refs[operation.body, "validation"], _examples(operation.body)
        content = {"application/json": {"schema": schema, "examples": examples}}
        described["requestBody"] = {"required": True, "content": content}
    responses: dict[str, Any] = {"200": _success(operation, refs)}
    if operation.has_ranges:
        responses |= _RANGE_RESPONSES
    prefix = _OPENAI if is_openai_path(operation.path) else ""
    for kind in _problems(operation):
        responses[str(kind.status)] = {"$ref": f"#/components/responses/{prefix}{kind.__name__}"}
    described["responses"] = responses
    return described


def _path_parameters(operation: AnyOperation) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1, "maxLength": limits.ID_CHARACTERS_MAX}
    about = "An id from an earlier response."
    return [
        {"name": part[1:-1], "in": "path", "required": True, "schema": schema, "description": about}
        for part in operation.path.split("/")
        if part.startswith("{")
    ]


def _query_parameters(operation: AnyOperation) -> list[dict[str, Any]]:
    query = operation.query
    if query is None and operation.team is not None and operation.body is None:
        query = TeamQuery
    if query is None:
        return []
    schema = query.model_json_schema()
    example: dict[str, Any] = next(iter(_examples(query).values()), {"value": {}})["value"]
    parameters = []
    for name, part in schema["properties"].items():
        plain = {key: value for key, value in part.items() if key not in ("description", "title")}
        if plain.get("default", 0) is None:  # a query parameter can be missing, but not null
            plain.pop("default")
            plain = next(kind for kind in plain["anyOf"] if kind.get("type") != "null")
        row = {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", []),
            "description": part["description"],
        }
        # An object is sent as JSON: the default of OpenAPI would be a parameter for each member.
        is_object = plain.get("type") == "object"
        row |= (
            {"content": {"application/json": {"schema": plain}}} if is_object else {"schema": plain}
        )
        parameters.append(row | ({"example": example[name]} if name in example else {}))
    return parameters


def schema_of(parameter: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter of the document."""
    content = parameter.get("content", {}).get("application/json", parameter)
    schema: dict[str, Any] = content["schema"]
    return schema


def _examples(model: type[BaseModel]) -> dict[str, Any]:
    extra = model.model_config.get("json_schema_extra")
    examples = extra.get("examples") if isinstance(extra, dict) else None
    values = examples if isinstance(examples, list) else []
    return {f"example{n}": {"value": value} for n, value in enumerate(values, 1)}


def _success(operation: AnyOperation, refs: Refs) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if operation.answer:
        content["application/json"] = {"schema": refs[operation.answer, "serialization"]}
    if operation.media_type:
        content[operation.media_type] = {
            "schema": _MEDIA_SCHEMAS.get(operation.media_type, {"type": "string"})
        }
    headers: dict[str, Any] = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
    if operation.takes_idempotency_key:
        headers["Idempotent-Replayed"] = _response_header(
            "`true` if this is the response to an earlier request.", const="true"
        )
    return {"description": "Success.", "headers": headers, "content": content}


def _problems(operation: AnyOperation) -> Iterable[type[errors.Problem]]:
    """Return the errors of an operation, by status."""
    has_body, has_path = operation.body is not None, "{" in operation.path
    has_query = operation.query is not None or operation.team is not None
    has_input = has_body or has_query or operation.takes_idempotency_key
    rows: tuple[tuple[type[errors.Problem], bool], ...] = (
        (errors.InvalidJson, has_body),
        (errors.Unauthorized, operation.needs_key),
        (errors.Forbidden, operation.needs_key),
        (errors.NotFound, has_path or operation.team is not None),
        (errors.TooSlow, has_body),
        (errors.Conflict, operation.takes_idempotency_key),
        (errors.TooLarge, True),
        (errors.UnsupportedMediaType, has_body),
        (errors.RangeNotSatisfiable, operation.has_ranges),
        (errors.MisdirectedRequest, True),
        (errors.InvalidRequest, has_input),
        (errors.TooManyRequests, operation.needs_key),
        (errors.Internal, not operation.is_constant),
        (errors.Unavailable, True),
    )
    return (kind for kind, is_possible in rows if is_possible or kind in operation.errors)


def _problem(kind: type[errors.Problem], refs: Refs, *, is_openai: bool) -> dict[str, Any]:
    content = {
        "schema": refs[OpenAIErrorBody if is_openai else errors.ProblemBody, "serialization"],
        "example": openai_body(kind()) if is_openai else kind().body("01hzy4k6t7v2w"),
    }
    media_type = "application/json" if is_openai else errors.MEDIA_TYPE
    headers: dict[str, Any] = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
    if kind is errors.Unauthorized:
        about = "The authentication scheme."
        headers["WWW-Authenticate"] = _response_header(about, const="Bearer")
    if kind in (errors.TooManyRequests, errors.Unavailable):
        headers["Retry-After"] = _response_header("Seconds to wait.", pattern="^[0-9]+$")
    return {"description": str(kind()), "content": {media_type: content}, "headers": headers}


def _response_header(description: str, **schema: Any) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string", **schema}}
