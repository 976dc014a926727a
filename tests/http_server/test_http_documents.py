"""The OpenAPI document matches the routes, and its examples work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from http_server.examples import EXAMPLES, make_mentioned, path_of
from pydantic import BaseModel
from service import Http
from starlette.applications import Starlette
from starlette.routing import Route

from remembrancer import testing
from remembrancer.console.routes import PAGES as OF_THE_CONSOLE
from remembrancer.console.routes import UNKNOWN
from remembrancer.context import Context
from remembrancer.http import openapi, pages
from remembrancer.mcp.http_transport import PATH as MCP
from remembrancer.protocol.operations import OPERATIONS

CONSOLE = {*OF_THE_CONSOLE, pages.PATH, UNKNOWN}


def test_openapi_lists_exactly_the_served_routes(app: Starlette) -> None:
    """OpenAPI describes exactly what is served (specification.md#status-openapi)."""
    others = {*CONSOLE, MCP}  # the pattern of an id with slashes is not its path
    routes = [route for route in app.routes if isinstance(route, Route)]
    served = {
        (method, route.name)
        for route in routes
        for method in route.methods or ()
        if route.path not in others and method != "HEAD"
    }

    assert openapi.document(app.state.operations) == DOCUMENT
    assert {(method.upper(), path) for method, path, _ in EVERY_OPERATION} == served
    assert others <= {route.path for route in routes}
    assert len(app.routes) == len({route.path for route in routes})


def test_openapi_json_is_the_generated_document(shared: Http) -> None:
    """The interface description is version 8.3 (specification.md#version-interface)."""
    document = json.loads(shared.with_key(None).get("/openapi.json").content)

    assert document == DOCUMENT
    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == "8.3"
    assert "Interface 8.3" in shared.get("/docs/api").text


DOCUMENT = openapi.document(OPERATIONS)
EVERY_OPERATION = [
    (method, path, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]
SCHEMAS = DOCUMENT["components"]["schemas"]


def test_operations_and_integers_are_described() -> None:
    """Clients can tell from the schema that a number which no database holds is refused."""
    ids = {operation["operationId"] for _, _, operation in EVERY_OPERATION}
    parameters = [
        (f"{path} {parameter['name']}", schema)
        for _, path, operation in EVERY_OPERATION
        for parameter in operation.get("parameters", [])
        for schema in [openapi.schema_of(parameter), *openapi.schema_of(parameter).get("anyOf", [])]
        if schema.get("type") == "integer"
    ]

    assert len(ids) == len(EVERY_OPERATION)
    for _, path, operation in EVERY_OPERATION:
        assert operation["description"].endswith("."), path
    assert parameters
    assert [n for n, s in parameters if not {"maximum", "exclusiveMaximum"} & {*s}] == []


def test_all_refs_in_the_openapi_document_resolve() -> None:
    def follow(node: Any) -> None:
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            target: Any = DOCUMENT
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
        children = node.values() if isinstance(node, dict) else node
        for value in children if isinstance(node, dict | list) else ():
            follow(value)

    follow(DOCUMENT)
    assert SCHEMAS.keys() >= {"MemoryQuery", "MemoryAnswer", "ProblemBody"}


@pytest.fixture
def context(folder: Path) -> Iterator[Context]:
    """A real context with a scripted language model, for the examples that need one."""
    service = testing.context(folder, models=testing.ScriptedModels(chat=["At 9:40."] * 8))
    yield service
    service.close()


@pytest.mark.parametrize(("endpoint", "example"), EXAMPLES, ids=[e.path for e, _ in EXAMPLES])
def test_every_example_request_works(http: Http, endpoint: Any, example: Any) -> None:
    """The examples are valid requests (specification.md#status-openapi)."""
    make_mentioned(http.context)
    answer = http.ask(endpoint.method, path_of(endpoint), json=example)

    assert answer.status_code == 200, answer.text
    model: type[BaseModel] = endpoint.answer
    model.model_validate_json(answer.content)


def test_every_request_model_has_an_example() -> None:
    assert {endpoint.path for endpoint, _ in EXAMPLES} == {e.path for e in OPERATIONS if e.body}


def test_get_responses_match_their_models(http: Http) -> None:
    """Absent members are left out, and required ones are present."""
    saved = http.remember("When?", "Nine.", l1_summary="Nine.", l2_map="Nine.", user_id="ada")
    for endpoint in OPERATIONS:
        if endpoint.method == "GET" and endpoint.answer and "{" not in endpoint.path:
            headers = {"Accept": "application/json"}
            answer = http.get(endpoint.path, params={"user_id": "ada"}, headers=headers)
            endpoint.answer.model_validate_json(answer.content)
    answer = http.memory("nine", "ada")

    assert "focus_missing" not in answer
    assert answer["shared_cubes"] == []
    assert answer["hits"][0]["topic"] is None
    assert http.get(f"/api/v7/event/{saved['event_id']}").json()["topic"] is None
