"""Query parameters: their values and their documentation. What is refused: spec/test_every_operation.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer.context import Context
from remembrancer.http import openapi
from remembrancer.http.bodies import parse_query
from remembrancer.http.dispatch import Call, handles
from remembrancer.protocol.errors import InvalidRequest
from remembrancer.protocol.message import Id, Message
from remembrancer.protocol.operation import QueryOperation
from remembrancer.protocol.text import Moment, Text
from remembrancer.server.app import make_app


class Parameters(Message):
    """One parameter of every type.

    Example: {"who": "ada & bo"}
    """

    who: Annotated[Id, Field(description="Whose.")]
    about: Annotated[Text | None, Field(max_length=40, description="What about.")] = None
    most: Annotated[int, Field(ge=1, le=100, description="How many.")] = 5
    whole: Annotated[bool, Field(description="Whether whole.")] = False
    kind: Annotated[Literal["fact", "code"] | None, Field(description="Which kind.")] = None
    since: Annotated[Moment | None, Field(description="From when on.")] = None


def ask_back(call: Call[Parameters]) -> Parameters:
    """Return the parsed parameters."""
    return call.input


ASK_BACK = QueryOperation("GET", "/asked", Parameters, Parameters, operation_id="ask_back")
ENDPOINTS = (handles(ASK_BACK, ask_back),)


@pytest.fixture
def http(context: Context) -> Iterator[Http]:
    """A client of an application with one endpoint, which echoes its parsed parameters."""
    with TestClient(make_app(context, ENDPOINTS), base_url="http://127.0.0.1:8460") as client:
        yield Http(client, context, new_key(context))


def parsed(http: Http, query: str) -> dict[str, Any]:
    """Return the parameters that the endpoint received."""
    answer = http.get(f"/asked?{query}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@given(st.binary())
def test_any_query_bytes_are_parsed_or_rejected(query: bytes) -> None:
    for raw in (query, b"who=a&about=" + query.replace(b"&", b""), b"who=a&most=" + query):
        try:
            read = parse_query(Parameters, raw)
        except InvalidRequest as refused:
            assert {fault["pointer"] for fault in refused.extra["errors"]} <= {
                f"/{name}" for name in Parameters.model_fields
            }
        else:
            assert "\0" not in (read.about or "")


def test_openapi_describes_each_parameter(http: Http) -> None:
    operation = openapi.document(http.client.app.state.operations)["paths"]["/asked"]["get"]  # type: ignore[attr-defined]
    rows = {row["name"]: row for row in operation["parameters"]}

    assert all(row["in"] == "query" and row["description"] for row in rows.values())
    assert [name for name, row in rows.items() if row["required"]] == ["who"]
    assert rows["who"]["example"] == "ada & bo"
    assert rows["who"]["schema"] == {
        "type": "string",
        "minLength": 1,
        "maxLength": 256,
        "pattern": r"^[^\x00]*$",
    }
    assert rows["most"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 5}
    assert rows["kind"]["schema"] == {"type": "string", "enum": ["fact", "code"]}
    assert "422" in operation["responses"]
