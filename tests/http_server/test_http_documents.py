"""The OpenAPI document matches the routes, and its examples work."""

from __future__ import annotations

import json
from dataclasses import replace
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


@pytest.fixture
def context(context: Context) -> Context:
    """A real context with a scripted language model, for the examples that need one."""
    return replace(context, models=testing.ScriptedModels(chat=["At 9:40."] * 8))


@pytest.mark.parametrize(("endpoint", "example"), EXAMPLES, ids=[e.path for e, _ in EXAMPLES])
def test_every_example_request_works(http: Http, endpoint: Any, example: Any) -> None:
    """The examples are valid requests (specification.md#status-openapi)."""
    make_mentioned(http.context)
    answer = http.ask(endpoint.method, path_of(endpoint), json=example)

    assert answer.status_code == 200, answer.text
    model: type[BaseModel] = endpoint.answer
    model.model_validate_json(answer.content)
