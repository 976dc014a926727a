"""Requests of the client agree with the OpenAPI document that the service serves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints
from urllib.parse import unquote

from client.test_requests import ALIASES
from pydantic import BaseModel

from remembrancer.client import Client, requests
from remembrancer.client.api_request import ApiRequest


def test_requests_agree_with_the_openapi_document(client: Client) -> None:
    """Method, path, request model, query parameters and answer model of every operation."""
    document = client.openapi_document()

    differences = [
        f"{name}: {actual} instead of {expected}"
        for name, method, path, operation in _operations(document)
        for actual, expected in _comparisons(name, method, path, operation)
        if actual != expected
    ]
    assert len(list(_operations(document))) > 40
    assert differences == []


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield operation id, method, path and operation."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if operation["operationId"] not in ALIASES:
                yield operation["operationId"], method.upper(), path, operation


def _comparisons(
    name: str, method: str, path: str, operation: dict[str, Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of what the client declares and what the document says."""
    build = getattr(requests, name)
    hints = get_type_hints(build)
    (answer,) = get_args(hints.pop("return"))
    models = [
        hint
        for parameter in hints.values()
        for hint in (parameter, *get_args(parameter))
        if inspect.isclass(hint) and issubclass(hint, BaseModel)
    ]
    request = _request(build, path, models)
    parameters = operation.get("parameters", [])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    content = operation["responses"]["200"]["content"].get("application/json", {})

    yield (request.method, unquote(request.path)), (method, path)
    yield [model.__name__ for model in models if body], [_model_name(body)] if body else []
    yield (
        {field for model in models if not body for field in model.model_fields},
        {parameter["name"] for parameter in parameters if parameter["in"] == "query"},
    )
    yield (
        "Idempotency-Key" in request.headers,
        any(parameter["name"] == "Idempotency-Key" for parameter in parameters),
    )
    if "$ref" in content.get("schema", {}):
        yield answer.__name__, _model_name(content)


def _request(build: Any, path: str, models: list[type[BaseModel]]) -> ApiRequest[Any]:
    """Build a request from the example of its model, with placeholders as path parameters."""
    arguments: list[Any] = re.findall(r"\{\w+\}", path)
    signature = inspect.signature(build)
    required = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.default is inspect.Parameter.empty
    ]
    if len(required) > len(arguments):
        (model,) = models
        (example,) = model.model_json_schema()["examples"]
        arguments.append(model.model_validate(example))
    request: ApiRequest[Any] = build(*arguments)
    return request


def _model_name(content: dict[str, Any]) -> str:
    """Return the name of the referenced schema without the suffix of its mode."""
    name: str = content["schema"]["$ref"].rpartition("/")[2]
    return re.sub(r"-(Input|Output)$", "", name)
