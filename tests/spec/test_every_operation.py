"""Rules that every operation keeps: who may call it, what is refused, what is applied once.

Fields and bounds are those of the OpenAPI document, which the contract pins. One service answers
nearly all of these requests: whatever it refuses must store nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from http_server.examples import (
    EXAMPLES,
    kinds,
    make_mentioned,
    path_of,
    pointers,
    schema_of,
    service_with_examples,
)
from service import Http

from remembrancer.http import openapi
from remembrancer.protocol.operation import AnyOperation
from remembrancer.protocol.operations import OPERATIONS

DOCUMENT = openapi.document(OPERATIONS)
OPEN = {"status_record", "receipt_keys", "home", "ready", "alive", "openapi_document", "llms_txt",
        "style_sheet", "docs_page", "docs_article"}  # fmt: skip
KEYED = [one for one in OPERATIONS if one.operation_id not in OPEN]
# A read-only key may call these; of files of the memory it may view.
READING = {"search_memory", "explain_search", "get_event", "list_events", "list_sessions",
           "list_users",
           "get_retention", "file_history", "draft_summary", "get_map", "get_start_pack",
           "get_agent_memory", "list_facts", "list_instructions", "list_teams", "show_team",
           "list_members", "list_invitations", "team_audit", "look_again", "agent_compliance",
           "embed", "list_models", "show_model", "get_prompt", "list_feedback", "download",
           "list_tools", "own_key", "prometheus_metrics"}  # fmt: skip
OF_OTHER_TYPES = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [7],
                  "object": {"a": 1}}  # fmt: skip
# a blank, a NUL, half a character, a relative path, a pattern of paths, hidden and turned text
TEXTS = ["", " \n", "\t", "a\0b", "\ud800", "\udfff", "1_", "etc", "./etc", "~/x", "/etc/*", "/a" * 129,
         *(f"/a{hiding}b" for hiding in "\n\t\r\x1b\x7f\x85\u202e\u2067\u200f\u2028")]  # fmt: skip
JSON = {"Content-Type": "application/json"}
MARK = "zanzibar-ocelot"  # sent in requests; must not appear in errors
TOLERANT = {"kind", "cube_type", "language"}  # their words: test_tolerant_values.py
TIMES = ["yesterday", "1700000000", "2026-02-30T00:00:00Z", "0001-01-01T00:00:00+14:00",
         "9999-12-31T23:59:59-14:00"]  # fmt: skip
EACH_BODY = pytest.mark.parametrize(
    ("endpoint", "example"), EXAMPLES, ids=[one.operation_id for one, _ in EXAMPLES]
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Http]:
    """Return a client of a service with what the examples mention."""
    with service_with_examples(tmp_path_factory.mktemp("service")) as http:
        yield http


def patterns_of(kind: dict[str, Any]) -> list[str]:
    """Return the patterns that a text must match."""
    return [one["pattern"] for one in (kind, *kind.get("allOf", ())) if "pattern" in one]


def texts_beyond(kind: dict[str, Any]) -> Iterator[str]:
    """Yield texts that the schema of a text refuses."""
    patterns = patterns_of(kind)
    for text in TEXTS:
        is_short = len(text) < kind.get("minLength", 0)
        if (
            is_short
            or "\ud800" <= text <= "\udfff"
            or not all(re.search(p, text) for p in patterns)
        ):
            yield text
    if "maxLength" in kind:
        yield "x" * (kind["maxLength"] + 1)
    if "enum" in kind or "const" in kind:
        yield from ("no such", "", *(f"{word} " for word in kind.get("enum", ())[:1]))
        yield from (word.title() for word in kind.get("enum", ())[:1])
    if kind.get("format") == "date-time":
        yield from TIMES


def values_beyond(kind: dict[str, Any]) -> Iterator[Any]:
    """Yield values of the right type that its schema refuses."""
    if kind.get("type") == "string":
        yield from texts_beyond(kind)
    elif kind.get("type") in {"integer", "number"}:
        yield from ("1", True, float("inf"), *([1.5] if kind["type"] == "integer" else []))
        yield from (kind[bound] - 1 for bound in ("minimum", "exclusiveMinimum") if bound in kind)
        yield from (
            value for bound in ("maximum",) if bound in kind for value in (kind[bound] + 1, 10**30)
        )
        yield from (
            value for value in (0, 2, -2, 10**30) if value not in kind.get("enum", (value,))
        )
    elif kind.get("type") == "boolean":
        yield from (0, 1, "true")
    elif kind.get("type") == "array":
        few, many, item = kind.get("minItems", 0), kind.get("maxItems", 0), kind.get("items", {})
        yield from ([] for _ in range(few > 0))
        yield from (["x"] * (many + 1) for _ in range(many > 0))
        if "type" in item:
            yield from ([value] * max(few, 1) for value in wrong_values(item, is_required=True))


def wrong_values(part: dict[str, Any], *, is_required: bool) -> Iterator[Any]:
    """Yield values that a field must refuse."""
    alternatives = kinds(part)
    types = {one.get("type", "object") for one in alternatives}
    types |= {"integer"} if "number" in types else set()
    yield from (value for name, value in OF_OTHER_TYPES.items() if name not in types)
    if len(types - {"null"}) == 1:
        yield from (value for kind in alternatives for value in values_beyond(kind))
    if is_required:
        yield None


@EACH_BODY
def test_invalid_fields_are_refused_and_named(
    service: Http, endpoint: AnyOperation, example: dict[str, Any]
) -> None:
    """Types are strict and bounds hold; nothing is stored and nothing echoed.

    See specification.md#error-pointer, specification.md#api-strict-types,
    specification.md#limit-bounds, specification.md#api-text, specification.md#error-no-echo.
    """
    schema, before, accepted = schema_of(endpoint), service.rows(), []
    required = schema.get("required", [])
    bodies = [(name, {key: example[key] for key in example if key != name}) for name in required]
    bodies += [
        (name, {**example, name: value})
        for name, part in schema["properties"].items()
        for value in wrong_values(part, is_required=name in required)
        if not (name in TOLERANT and isinstance(value, str))
    ]
    for name, body in bodies:
        answer = service.ask(
            endpoint.method,
            path_of(endpoint),
            content=json.dumps(body).replace("Infinity", "1e400"),
            headers=JSON,
        )
        is_named = answer.status_code == 422 and any(
            re.match(rf"/{name}\b", pointer) for pointer in pointers(answer)
        )
        if not is_named or len(answer.content) > 4_000:
            accepted.append((name, ascii(body.get(name))[:80], answer.status_code))

    assert accepted == []
    assert service.rows() == before


def longest_values(part: dict[str, Any]) -> Iterator[Any]:
    """Yield the values at the bounds of a field."""
    for kind in kinds(part):
        item = kind.get("items", {})
        yield from (kind[bound] for bound in ("minimum", "maximum") if bound in kind)
        longest = "ü" * kind.get("maxLength", 0)
        if longest and all(re.search(pattern, longest) for pattern in patterns_of(kind)):
            yield longest
        if item.get("type") == "string" and "maxItems" in kind and not {"enum", "const"} & {*item}:
            yield ["ü" * item.get("maxLength", 1)] * kind["maxItems"]


@EACH_BODY
def test_bounds_are_inclusive(
    service: Http, endpoint: AnyOperation, example: dict[str, Any]
) -> None:
    """The bound itself is accepted (specification.md#limit-bounds)."""
    for name, part in schema_of(endpoint)["properties"].items():
        for value in longest_values(part):
            answer = service.ask(endpoint.method, path_of(endpoint), json={**example, name: value})
            assert not (answer.status_code == 422 and "should" in answer.text), (name, answer.text)


QUERIES = [
    (one, parameter)
    for one in OPERATIONS
    for parameter in DOCUMENT["paths"][one.path][one.method.lower()].get("parameters", ())
    if parameter["in"] == "query" and one.operation_id != "download"
]


def wrong_words(parameter: dict[str, Any]) -> Iterator[str]:
    """Yield values of a query parameter that its schema refuses."""
    schema = openapi.schema_of(parameter)
    if schema["type"] == "object":
        yield from ("", "x", "[]", "{}", "%7B%22a%22%3A1e999%7D")
        yield f"%7B%22a%22%3A1%7D&{parameter['name']}=%7B%22a%22%3A1%7D"
        return
    if schema["type"] == "string":
        yield from (quote(text, errors="surrogatepass") for text in texts_beyond(schema))
        yield from ("%FF", "%C0%AF", "50%25%FF", f"{MARK}%00")
    else:
        yield from ("", "x", "5.0", "%2B5", "%205", "5_0", "%D9%A5", "9" * 5_000, MARK)
        yield from (str(schema["minimum"] - 1) for _ in range("minimum" in schema))
        yield from (str(schema["maximum"] + 1) for _ in range("maximum" in schema))
    good = schema.get("enum", ["1"])[0]
    yield f"{good}&{parameter['name']}={good}"


@pytest.mark.parametrize(
    ("endpoint", "parameter"),
    QUERIES,
    ids=[f"{one.operation_id}-{parameter['name']}" for one, parameter in QUERIES],
)
def test_invalid_parameters_are_refused_and_named(
    service: Http, endpoint: AnyOperation, parameter: dict[str, Any]
) -> None:
    """A wrong, doubled or missing one is a 422 (specification.md#api-query-parameters).

    See specification.md#error-no-echo.
    """
    name, path, before = parameter["name"], path_of(endpoint), service.rows()
    queries = [f"{name}={word}" for word in wrong_words(parameter)]
    accepted = [
        query
        for query in (*queries, *([""] if parameter["required"] else []))
        if (answer := service.ask(endpoint.method, f"{path}?{query}")).status_code != 422
        or f"/{name}" not in pointers(answer)
        or MARK in answer.text
        or len(answer.content) > 1_000
    ]

    assert accepted == []
    assert service.rows() == before


def request_of(endpoint: AnyOperation) -> dict[str, Any]:
    """Return the example body, or the required parameters, of an operation as client options."""
    required = {
        parameter["name"]: "none"
        for one, parameter in QUERIES
        if one is endpoint and parameter["required"]
    }
    return next(({"json": body} for one, body in EXAMPLES if one is endpoint), {"params": required})


@pytest.mark.parametrize("endpoint", KEYED, ids=[one.operation_id for one in KEYED])
def test_every_operation_needs_a_key(service: Http, endpoint: AnyOperation) -> None:
    """A complete 401, before the body is read (specification.md#auth-bearer)."""
    before = service.rows()
    for options in (request_of(endpoint), {"content": b"not json"}):
        answer = service.with_key(None).ask(endpoint.method, path_of(endpoint), **options)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")

    assert service.rows() == before


def test_a_read_only_key_reads_and_writes_nothing(service: Http) -> None:
    """Its writes are a 403 (specification.md#auth-read-only); it names users of sessions."""
    reader, before = service.as_account("owner", read_only=True), service.rows()

    refused = {
        one.operation_id
        for one in KEYED
        if reader.ask(one.method, path_of(one), **request_of(one)).status_code == 403
    }

    assert refused == {one.operation_id for one in KEYED} - READING
    assert service.rows() == {**before, "session_users": before["session_users"] + 1}


def test_a_pinned_key_names_no_other_user(service: Http) -> None:
    """Another `user_id` than the pin is a 403, in bodies and queries (specification.md#auth-pinned)."""
    pinned, before = service.as_account("owner", user_id="pinned"), service.rows()
    bodies = [(one, {"json": {**body, "user_id": "other"}}) for one, body in EXAMPLES
              if "user_id" in schema_of(one)["properties"]]  # fmt: skip
    queries = [(one, {"params": {"user_id": "other"}}) for one, parameter in QUERIES
               if parameter["name"] == "user_id"]  # fmt: skip

    allowed = [
        one.operation_id
        for one, options in (*bodies, *queries)
        if pinned.ask(one.method, path_of(one), **options).status_code != 403
    ]

    assert allowed == []
    assert len(bodies) > 15
    assert service.rows() == before


def another(value: Any) -> Any:
    """Return another value of the same kind."""
    return value + "x" if isinstance(value, str) else not value


ONCE = [(one, body) for one, body in EXAMPLES if one.takes_idempotency_key]


@pytest.mark.parametrize(("endpoint", "example"), ONCE, ids=[one.operation_id for one, _ in ONCE])
def test_a_repeated_request_is_applied_once(
    http: Http, endpoint: AnyOperation, example: dict[str, Any]
) -> None:
    """The first answer comes again; another body is a 409.

    See specification.md#idempotency-replay, specification.md#idempotency-conflict.
    """
    make_mentioned(http.context)
    [team] = http.get("/api/v7/teams").json()["teams"]
    path = path_of(endpoint).replace("Elba", team["team_id"])
    body = {name: value for name, value in example.items() if name != "dry_run"}
    properties = schema_of(endpoint)["properties"]
    name = next(
        name
        for name, value in body.items()
        if isinstance(value, (str, bool))
        and not any("enum" in one for one in kinds(properties[name]))
    )

    def ask(**changed: Any) -> Any:
        headers = {"Idempotency-Key": "once"}
        return http.ask(endpoint.method, path, json={**body, **changed}, headers=headers)

    first, before = ask(), http.rows()
    again, other = ask(), ask(**{name: another(body[name])})

    assert (first.status_code, first.json()) == (200, again.json())
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert other.status_code == 409
    assert http.rows() == before
