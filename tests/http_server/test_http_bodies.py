"""Invalid bodies: a clear error, never a 500, nothing stored and nothing echoed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service import Http

from remembrancer.http import bodies
from remembrancer.protocol.errors import InvalidJson, InvalidRequest, Problem
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery

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
NOT_AN_OBJECT = {
    "null": b"null",
    "a list": b"[]",
    "a text": b'"a"',
    "a number": b"1",
    "true": b"true",
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_invalid_json_is_400(http: Http, path: str, body: bytes) -> None:
    before = http.rows()
    answer = http.post_bytes(path, body)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_json")
    assert len(answer.content) < 1000
    assert http.rows() == before


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", NOT_AN_OBJECT.values(), ids=NOT_AN_OBJECT.keys())
def test_non_object_json_is_400_with_a_hint(http: Http, path: str, body: bytes) -> None:
    answer = http.post_bytes(path, body)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_json")
    assert "must be a JSON object" in answer.json()["detail"]


INVALID: list[tuple[str, dict[str, Any], str]] = [
    ("/api/v7/memory", {"focus_words": ["ok", 5]}, "/focus_words/1"),
    ("/api/v7/memory", {"focus_words": ["ok", "a\x00"]}, "/focus_words/1"),
    ("/api/v7/memory", {"top_k": 1e9}, "/top_k"),
    ("/api/v7/memory", {"after": 1_700_000_000}, "/after"),
    ("/api/v7/remember", {"query": "", "response": " \n"}, ""),
    ("/api/v7/remember", {"occurred_at": "9999-12-31T23:59:59-14:00"}, "/occurred_at"),
]


@pytest.mark.parametrize(("path", "wrong", "pointer"), INVALID)
def test_invalid_value_is_422_with_a_pointer(
    http: Http, path: str, wrong: dict[str, Any], pointer: str
) -> None:
    """`errors` lists pointers and details (specification.md#error-pointer)."""
    before = http.rows()
    answer = http.post(path, {**GOOD[path], **wrong})

    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert pointer in [fault["pointer"] for fault in answer.json()["errors"]]
    assert len(answer.content) < 4000
    assert http.rows() == before


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"query_text": "\\ud800", "user_id": "owner"}', "/query_text"),
        (b'{"query_text": "a \\udfff b", "user_id": "owner"}', "/query_text"),
        (
            b'{"query_text": "a", "user_id": "owner", "focus_words": ["b", "\\ud83d\\ud83d"]}',
            "/focus_words/1",
        ),
        (b'{"query_text": "a", "user_id": "owner", "unknown": "\\ud800"}', "/unknown"),
        (b'{"query_text": "a", "user_id": "owner", "\\ud800": 1}', ""),
    ],
)
def test_lone_surrogate_is_422_with_a_pointer(http: Http, body: bytes, pointer: str) -> None:
    """A lone surrogate is a 422 (specification.md#api-text)."""
    answer = http.post_bytes("/api/v7/memory", body)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_surrogate_pair_is_decoded(http: Http) -> None:
    answer = http.post_bytes(
        "/api/v7/remember", b'{"query": "\\ud83e\\udd94?", "response": "a hedgehog"}'
    )

    assert http.get(f"/api/v7/event/{answer.json()['event_id']}").json()["query"] == "🦔?"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "kind",
    [
        None,
        "",
        "text/plain",
        "application/xml",
        "application/jsonx",
        "application/json; charset=utf-16",
        "text/json",
    ],
)
def test_other_or_missing_content_type_is_415(http: Http, path: str, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = http.ask("POST", path, content=json.dumps(GOOD[path]).encode(), headers=headers)

    assert (answer.status_code, answer.json()["error"]) == (415, "unsupported_media_type")


def test_compressed_body_is_415(http: Http) -> None:
    """Compressed bodies are a 415 (specification.md#api-no-compression)."""
    assert (
        http.post_bytes("/api/v7/memory", b"\x1f\x8b", **{"content-encoding": "gzip"}).status_code
        == 415
    )


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=UTF-8",
        'application/json;charset="utf-8"',
    ],
)
def test_json_content_type_variants_are_accepted(http: Http, kind: str) -> None:
    body = json.dumps(GOOD["/api/v7/memory"]).encode()

    assert (
        http.ask("POST", "/api/v7/memory", content=body, headers={"Content-Type": kind}).status_code
        == 200
    )


@pytest.mark.parametrize("path", PATHS)
def test_unknown_members_are_ignored_and_the_last_duplicate_wins(http: Http, path: str) -> None:
    """Unknown fields are ignored.

    See specification.md#api-unknown-fields, specification.md#api-duplicate-keys.
    """
    body = json.dumps({**GOOD[path], "new_in_8.9": 5, "new_in_9.0": {"a": [None]}})
    doubled = body[:-1] + ', "session_id": 5, "session_id": "s"}'

    assert http.post(path, json.loads(body)).status_code == 200
    assert http.post_bytes(path, doubled.encode()).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(
            {
                "query_text": 5,
                "user_id": MARK,
                MARK: 1,
                "top_k": MARK,
                "after": MARK,
                "focus_words": [{MARK: MARK}],
            }
        ).encode(),
        json.dumps({"query_text": MARK + "\x00", "user_id": [MARK]}).encode(),
        b'{"query_text": "\\ud800 ' + MARK.encode() + b'", "user_id": "a"}',
        b'{"' + MARK.encode() + b'": "\\ud800"}',
        b'{"query_text": ' + MARK.encode(),
    ],
)
def test_errors_do_not_echo_the_input(http: Http, body: bytes) -> None:
    """Errors never repeat the input (specification.md#error-no-echo)."""
    answer = http.post_bytes("/api/v7/memory", body)

    assert answer.status_code in (400, 422)
    assert MARK not in answer.text


@pytest.mark.parametrize("path", PATHS)
def test_body_of_exactly_the_size_limit_is_accepted(http: Http, path: str) -> None:
    """A body may have 1 MiB (specification.md#limit-body)."""
    largest = json.dumps({**GOOD[path], "ignored": ""}).encode()
    largest = largest[:-2] + b"x" * ((1 << 20) - len(largest)) + largest[-2:]

    assert len(largest) == 1 << 20
    assert http.post_bytes(path, largest).status_code == 200
    assert http.post_bytes(path, largest + b" ").status_code == 413


@pytest.mark.parametrize("value", ["", "k" * 256, "two words", "é".encode()])
def test_invalid_idempotency_key_is_422(http: Http, value: str | bytes) -> None:
    """Printable ASCII, 1 to 255 characters (specification.md#idempotency-key)."""
    before = http.rows()

    assert (
        http.post(
            "/api/v7/remember", GOOD["/api/v7/remember"], headers={"Idempotency-Key": value}
        ).status_code
        == 422
    )
    assert http.rows() == before


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NAMES = st.sampled_from(sorted({*MemoryQuery.model_fields, *Turn.model_fields, "x/y", "~"}))


@given(
    st.binary()
    | st.dictionaries(NAMES | st.text(), ANY_JSON).map(lambda body: json.dumps(body).encode())
)
def test_any_bytes_are_parsed_or_rejected_with_a_problem(raw: bytes) -> None:
    for model in (MemoryQuery, Turn):
        try:
            bodies.parse(model, raw)
        except Problem as problem:
            assert isinstance(problem, InvalidJson | InvalidRequest)
            json.dumps(problem.body("r")).encode("ascii")


@given(st.text(), st.text())
def test_json_pointers_are_escaped_per_rfc_6901(first: str, second: str) -> None:
    pointer = bodies.pointer((first, 3, second))

    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]
    assert parts == ["", first, "3", second]
