"""Requests as clients really write them: null for absent fields, and integers such as 5.0."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from http_server.examples import EXAMPLES, kinds, make_mentioned, path_of, schema_of
from pydantic import BaseModel
from sandboxes import SharedSandbox
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.http.routes import ROUTES
from remembrancer.protocol.message import Body
from remembrancer.protocol.operation import AnyOperation
from remembrancer.protocol.operations import OPERATIONS
from remembrancer.server.app import make_app

# These differ from one search to the next.
VOLATILE = {"step", "reminders", "duty_error", "stages", "duration_ms"}
JSON = "application/json"


FIELDS = [
    (endpoint, example, name, part, name in schema_of(endpoint).get("required", ()))
    for endpoint, example in EXAMPLES
    for name, part in schema_of(endpoint)["properties"].items()
]
OPTIONAL = [(e, body, name) for e, body, name, _, required in FIELDS if not required]
INTEGERS = [
    (e, body, name, kind.get("minimum", 1), False)
    for e, body, name, part, _ in FIELDS
    for kind in kinds(part)
    if kind.get("type") == "integer"
] + [
    (e, body, name, 1, True)
    for e, body, name, part, _ in FIELDS
    for kind in kinds(part)
    if kind.get("items", {}).get("type") == "integer"
]


def names(rows: list[Any]) -> list[str]:
    """Return the name of each test case."""
    return [f"{row[0].path}-{row[2]}" for row in rows]


@contextmanager
def service(folder: Path) -> Iterator[Http]:
    """Serve an own store with what the examples refer to."""
    folder.mkdir(exist_ok=True)
    context = testing.context(folder, models=testing.ScriptedModels(chat=["At 9:40."] * 8))
    app = make_app(context, sandbox=SharedSandbox(context.settings))
    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        http = Http(client, context, new_key(context))
        make_mentioned(context)
        yield http
    context.close()


READS = {one.operation for one in ROUTES if one.read is not None}


def ask(http: Http, endpoint: AnyOperation, body: dict[str, Any]) -> Any:
    """Send the request; return its status and, of a read, its answer without volatile fields."""
    answer = http.ask(endpoint.method, path_of(endpoint), json=body)
    fields = {name: value for name, value in answer.json().items() if name not in VOLATILE}
    is_read = endpoint in READS and answer.status_code == 200
    return answer.status_code, fields if is_read else sorted(fields)


def answers(folder: Path, endpoint: AnyOperation, *bodies: dict[str, Any]) -> list[Any]:
    """Return what `ask` returns for each body: of reads on one store, else on one store each."""
    if endpoint in READS:
        with service(folder) as http:
            return [ask(http, endpoint, body) for body in bodies]
    outcomes = []
    for place, body in enumerate(bodies):
        with service(folder / str(place)) as http:
            outcomes.append(ask(http, endpoint, body))
    return outcomes


@pytest.mark.parametrize(("endpoint", "example", "name"), OPTIONAL, ids=names(OPTIONAL))
def test_null_for_an_optional_field_means_absent(
    folder: Path, endpoint: AnyOperation, example: dict[str, Any], name: str
) -> None:
    """`null` for an optional field is an absent field (specification.md#api-null-is-absent)."""
    absent = {key: value for key, value in example.items() if key != name}

    first, second = answers(folder, endpoint, absent, {**absent, name: None})

    assert first == second


def test_openapi_accepts_null_for_optional_fields_only() -> None:
    """The document says the same (specification.md#status-openapi)."""
    nullable = [
        (endpoint.path, name)
        for endpoint, _, name, part, _ in FIELDS
        if any(kind.get("type") == "null" for kind in kinds(part))
    ]

    assert nullable == [(endpoint.path, name) for endpoint, _, name in OPTIONAL]


def test_objects_within_bodies_follow_the_same_rules() -> None:
    """Nested fields are as tolerant as others (specification.md#api-null-is-absent)."""

    def models(model: type[BaseModel]) -> set[type[BaseModel]]:
        inner = {model}
        todo: list[Any] = [field.annotation for field in model.model_fields.values()]
        while todo:
            kind = todo.pop()
            todo += getattr(kind, "__args__", ())
            if isinstance(kind, type) and issubclass(kind, BaseModel) and kind.model_fields:
                inner |= models(kind)
        return inner

    bodies = {model for e in OPERATIONS if e.body for model in models(e.body)}

    assert [model for model in bodies if not issubclass(model, Body)] == []


@pytest.mark.parametrize(
    ("endpoint", "example", "name", "value", "in_list"), INTEGERS, ids=names(INTEGERS)
)
def test_whole_numbers_are_integers_however_they_are_written(
    folder: Path,
    endpoint: AnyOperation,
    example: dict[str, Any],
    name: str,
    value: int,
    in_list: bool,
) -> None:
    """3439.0 is an integer (specification.md#api-strict-types)."""

    def body(number: Any) -> dict[str, Any]:
        return {**example, name: [number, number] if in_list else number}

    first, second = answers(folder, endpoint, body(value), body(float(value)))

    assert first == second
    # The embedder has one number of dimensions (specification.md#embeddings-refused).
    assert first[0] in {200, 409} or name == "dimensions"


def test_a_large_whole_number_is_exact(http: Http) -> None:
    """3439.0 is 3439 (specification.md#api-strict-types)."""
    http.remember("When does the ferry leave?", "At 9:40.")
    body = b'{"user_id": "owner", "session_id": "default", "summary_text": "9:40.", '

    answer = http.post_bytes("/api/v7/memory/summarize", body + b'"message_count": 3439.0}')

    assert answer.status_code == 200
    stored = http.context.store.read(lambda tx: tx.all("select message_count from summaries"))
    assert [row.message_count for row in stored] == [3439]
