"""Requests as clients really write them: null for absent fields, and integers such as 5.0."""

from __future__ import annotations

import json
from typing import Any

import pytest
from http_server.examples import EXAMPLES, kinds, schema_of
from pydantic import BaseModel

from remembrancer.http.bodies import parse
from remembrancer.protocol.errors import InvalidRequest
from remembrancer.protocol.operation import AnyOperation

EACH_BODY = pytest.mark.parametrize(
    ("endpoint", "example"), EXAMPLES, ids=[one.operation_id for one, _ in EXAMPLES]
)


def parsed(endpoint: AnyOperation, body: dict[str, Any]) -> Any:
    """Return what the action of an endpoint gets for a body, or the errors of the answer."""
    assert endpoint.body is not None
    try:
        return parse(endpoint.body, json.dumps(body).encode())
    except InvalidRequest as refusal:
        return refusal.extra["errors"]


@EACH_BODY
def test_null_for_an_optional_field_means_absent(
    endpoint: AnyOperation, example: dict[str, Any]
) -> None:
    """`null` for an optional field is an absent field, and no other field takes it.

    See specification.md#api-null-is-absent, specification.md#status-openapi.
    """
    schema = schema_of(endpoint)
    for name, part in schema["properties"].items():
        takes_null = any(kind.get("type") == "null" for kind in kinds(part))
        assert takes_null == (name not in schema.get("required", ())), name
        absent = {key: value for key, value in example.items() if key != name}
        if takes_null:
            assert parsed(endpoint, absent) == parsed(endpoint, {**absent, name: None}), name


@EACH_BODY
def test_whole_numbers_are_integers_however_they_are_written(
    endpoint: AnyOperation, example: dict[str, Any]
) -> None:
    """3439.0 is an integer (specification.md#api-strict-types)."""
    for name, part in schema_of(endpoint)["properties"].items():
        for kind in kinds(part):
            number = kind.get("minimum", 1)
            if kind.get("type") == "integer":
                written: tuple[Any, Any] = number, float(number)
            elif kind.get("items", {}).get("type") == "integer":
                written = [1, 2], [1.0, 2.0]
            else:
                continue
            first, second = (parsed(endpoint, {**example, name: value}) for value in written)
            assert first == second, name
            assert isinstance(first, BaseModel), first
