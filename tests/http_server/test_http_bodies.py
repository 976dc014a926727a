"""Bodies and queries: what is invalid has a clear error and stores nothing, what clients write is read."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from http_server.examples import EXAMPLES, kinds, schema_of
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from service import Http

from remembrancer.http.bodies import parse, parse_query
from remembrancer.protocol.errors import InvalidRequest
from remembrancer.protocol.message import Id, Message
from remembrancer.protocol.operation import AnyOperation
from remembrancer.protocol.text import Moment, Text

GOOD: dict[str, dict[str, Any]] = {
    "/api/v7/memory": {"query_text": "ferry", "user_id": "owner"},
    "/api/v7/remember": {"query": "When?", "response": "At 9:40."},
    "/api/v7/event/write": {"query": "When?", "response": "At 9:40.", "user_id": "owner"},
}
PATHS = list(GOOD)
MARK = "zanzibar-ocelot"  # sent in requests; must not appear in errors

NOT_JSON = {
    "empty": b"",
    "white space": b" \n ",
    "a word": b"hello",
    "cut off": b'{"query": "a',
    "trailing comma": b'{"query": "a",}',
    "something after": b'{"query": "a"} {"b": 1}',
    "single quotes": b"{'query': 'a'}",
    "NaN": b'{"top_k": NaN}',
    "Infinity": b'{"top_k": Infinity}',
    "minus Infinity": b'{"top_k": -Infinity}',
    "NaN beside a lone surrogate": b'{"a": "\\ud800", "top_k": NaN}',
    "raw control character": b'{"query": "a\x01b"}',
    "not UTF-8": b'{"query": "\xff\xfe"}',
    "a surrogate in UTF-8": b'{"query": "\xed\xa0\x80"}',
    "UTF-16": '{"query": "a"}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "100,000 deep": b"[" * 100_000,
    "100,000 deep and closed": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "100,000 deep beside a lone surrogate": b'["\\ud800",' + b"[" * 100_000,
    "a number of 5,000 digits": b'{"top_k": ' + b"9" * 5_000 + b"}",
}


def test_invalid_json_is_400(shared: Http) -> None:
    """Deep nesting, too (specification.md#limit-nested-json)."""
    before = shared.rows()
    for name, body in NOT_JSON.items():
        for path in PATHS:
            answer = shared.post_bytes(path, body)
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_json"), name
            assert len(answer.content) < 1000
    assert shared.rows() == before


def test_lone_surrogate_is_422_with_a_pointer(shared: Http) -> None:
    """A lone surrogate is a 422 (specification.md#api-text)."""
    for member, pointer in (
        (b'"focus_words": ["b", "a \\udfff", "c"]', "/focus_words/1"),
        (b'"focus_words": ["b", "\\ud83d\\ud83d"]', "/focus_words/1"),
        (b'"unknown": "\\ud800"', "/unknown"),
        (b'"\\ud800": 1', ""),
    ):
        body = b'{"query_text": "a", "user_id": "owner", ' + member + b"}"
        answer = shared.post_bytes("/api/v7/memory", body)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


def test_content_type_is_json_in_utf_8(shared: Http) -> None:
    """Others, none and compressed bodies are a 415 (specification.md#api-no-compression)."""
    accepted = ["application/json", "Application/JSON", "application/json; charset=UTF-8",
                'application/json;charset="utf-8"']  # fmt: skip
    refused = [None, "", "text/plain", "application/xml", "application/jsonx",
               "application/json; charset=utf-16", "text/json"]  # fmt: skip
    for path in PATHS:
        content = json.dumps(GOOD[path]).encode()
        for kind in (*accepted, *refused):
            headers = {} if kind is None else {"Content-Type": kind}
            answer = shared.ask("POST", path, content=content, headers=headers)
            assert answer.status_code == (200 if kind in accepted else 415), kind
    gzip = shared.post_bytes("/api/v7/memory", b"\x1f\x8b", **{"content-encoding": "gzip"})
    assert (gzip.status_code, gzip.json()["error"]) == (415, "unsupported_media_type")


def test_unknown_members_are_ignored_and_the_last_duplicate_wins(shared: Http) -> None:
    """Unknown fields are ignored.

    See specification.md#api-unknown-fields, specification.md#api-duplicate-keys.
    """
    for path in PATHS:
        body = json.dumps({**GOOD[path], "new_in_8.9": 5, "new_in_9.0": {"a": [None]}})
        doubled = body[:-1] + ', "session_id": 5, "session_id": "s"}'
        assert shared.post(path, json.loads(body)).status_code == 200
        assert shared.post_bytes(path, doubled.encode()).status_code == 200


def test_errors_do_not_echo_the_input(shared: Http) -> None:
    """Errors never repeat the input (specification.md#error-no-echo)."""
    wrong = {"query_text": 5, "user_id": MARK, MARK: 1, "top_k": MARK, "after": MARK}
    bodies = [
        json.dumps({**wrong, "focus_words": [{MARK: MARK}]}).encode(),
        json.dumps({"query_text": MARK + "\x00", "user_id": [MARK]}).encode(),
        b'{"query_text": "\\ud800 ' + MARK.encode() + b'", "user_id": "a"}',
        b'{"' + MARK.encode() + b'": "\\ud800"}',
        b'{"query_text": ' + MARK.encode(),
    ]
    for body in bodies:
        answer = shared.post_bytes("/api/v7/memory", body)
        assert (answer.status_code in (400, 422), MARK in answer.text) == (True, False)


def test_invalid_idempotency_key_is_422(shared: Http) -> None:
    """Printable ASCII, 1 to 255 characters (specification.md#idempotency-key)."""
    before, path = shared.rows(), "/api/v7/remember"

    for value in ("", "k" * 256, "two words", "é".encode()):
        answer = shared.post(path, GOOD[path], headers={"Idempotency-Key": value})
        assert answer.status_code == 422
    assert shared.rows() == before


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
