"""Query parameters: strict parsing, errors that name them, and their documentation."""

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
from remembrancer.protocol.message import Id, Message, example
from remembrancer.protocol.operation import QueryOperation
from remembrancer.protocol.text import Moment, Text
from remembrancer.server.app import make_app

MARK = "zanzibar-ocelot"  # sent in requests; must not appear in errors


class Parameters(Message):
    """One parameter of every type."""

    model_config = example({"who": "ada & bo"})

    who: Annotated[Id, Field(description="Whose.")]
    about: Annotated[Text | None, Field(max_length=40, description="What about.")] = None
    most: Annotated[int, Field(ge=1, le=100, description="How many.")] = 5
    whole: Annotated[bool, Field(description="Whether whole.")] = False
    kind: Annotated[Literal["fact", "code"] | None, Field(description="Which kind.")] = None
    since: Annotated[Moment | None, Field(description="From when on.")] = None


def ask_back(call: Call[Parameters]) -> Parameters:
    """Return the parsed parameters."""
    return call.input


ASK_BACK = QueryOperation(
    "GET", "/asked", "Echo the parameters", Parameters, Parameters, operation_id="ask_back"
)
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


RIGHT = [
    ("who=ada", "who", "ada"),
    ("who=a%20b+c", "who", "a b c"),
    ("who=%F0%9F%A6%94", "who", "🦔"),
    ("who=a%3Db%26c%25", "who", "a=b&c%"),
    ("who=a=b", "who", "a=b"),
    ("w%68o=ada", "who", "ada"),
    ("who=ada&most=7", "most", 7),
    ("who=ada", "most", 5),
    ("who=ada&whole=true", "whole", True),
    ("who=ada&whole=false", "whole", False),
    ("who=ada&kind=code", "kind", "code"),
    ("who=ada&about=", "about", ""),
    ("who=ada&about=" + "x" * 40, "about", "x" * 40),
    ("who=ada&since=2026-03-01T09:30:00Z", "since", "2026-03-01T09:30:00Z"),
    ("&&who=ada&", "who", "ada"),
]


def test_parameter_is_parsed_as_its_type(http: Http) -> None:
    """Unknown parameters are ignored (specification.md#api-unknown-fields)."""
    for query, name, value in RIGHT:
        assert parsed(http, query)[name] == value, query
    for unknown in ("new=5", "new=1&new=2", "new=%FF", "%FF=1", "who[]=x", "=x", "who%00=x"):
        assert parsed(http, f"who=ada&{unknown}")["who"] == "ada", unknown


WRONG = [
    ("", "who"),
    ("who", "who"),
    ("who=", "who"),
    ("WHO=ada", "who"),
    ("who=" + "u" * 257, "who"),
    ("who=a%00b", "who"),
    ("who=%FF%FE", "who"),
    ("who=%ED%A0%80", "who"),  # a lone surrogate
    ("who=%C0%AF", "who"),  # an overlong encoding of a slash
    ("who=50%", "who"),
    ("who=%zz", "who"),
    ("who=ada&who=bo", "who"),
    ("who=ada&w%68o=bo", "who"),
    ("who=ada&most=0", "most"),
    ("who=ada&most=101", "most"),
    ("who=ada&most=5.0", "most"),
    ("who=ada&most=%205", "most"),
    ("who=ada&most=+5", "most"),
    ("who=ada&most=5_0", "most"),
    ("who=ada&most=%D9%A5", "most"),  # an Arabic five
    ("who=ada&most=" + "9" * 5_000, "most"),
    ("who=ada&most=", "most"),
    ("who=ada&most=5&most=5", "most"),
    ("who=ada&whole=1", "whole"),
    ("who=ada&whole=", "whole"),
    ("who=ada&kind=Code", "kind"),
    ("who=ada&about=" + "x" * 41, "about"),
    ("who=ada&since=1700000000", "since"),
    ("who=ada&since=2026-03-01T09:30:00+01:00", "since"),  # an unescaped plus is a space
    ("who=ada&since=2026-02-30T00:00:00Z", "since"),
]


def test_invalid_parameter_is_422_and_named(http: Http) -> None:
    """Parameters are strict, valid UTF-8 without NUL; errors never repeat the input.

    See specification.md#api-query-parameters, specification.md#api-strict-types,
    specification.md#error-no-echo.
    """
    for query, name in WRONG:
        answer = http.get(f"/asked?{query}")
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request"), query
        assert [fault["pointer"] for fault in answer.json()["errors"]] == [f"/{name}"], query
        assert len(answer.content) < 1_000
    faults = http.get("/asked?most=0&whole=1").json()["errors"]
    assert {fault["pointer"] for fault in faults} == {"/who", "/most", "/whole"}
    for query in (
        f"who={MARK}%00",
        f"who={MARK}&most={MARK}",
        f"who={MARK}%FF",
        f"who={MARK}&who={MARK}",
        f"{MARK}=1",
    ):
        answer = http.get(f"/asked?{query}")
        assert (answer.status_code, MARK in answer.text) == (422, False), query


def test_key_is_checked_before_the_parameters(http: Http) -> None:
    """401 precedes 422 (specification.md#error-order)."""
    assert http.with_key(None).get("/asked?most=0").status_code == 401


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
