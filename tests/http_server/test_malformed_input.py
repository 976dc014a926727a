"""Malformed input is the client's error, never an Internal (specification.md#error-never-500)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from console.reader import Reader
from service import Http

from remembrancer.console import layout
from remembrancer.context import Context
from remembrancer.protocol.operation import AnyOperation
from remembrancer.protocol.operations import OPERATIONS

# Python refuses to convert integers of more than 4,300 digits.
LONG_INTEGER = "1" * 5_000
JSON = {"content-type": "application/json"}
WITH_BODIES = [endpoint for endpoint in OPERATIONS if endpoint.body is not None]


def bodies_of(endpoint: AnyOperation) -> Iterator[str]:
    """Yield the examples of an endpoint with a long integer in each field, and in an unknown one.

    The examples are complete, so that nothing else is wrong with the body.
    """
    assert endpoint.body is not None
    schema = endpoint.body.model_json_schema()
    for example in [*schema.get("examples", []), {}]:
        for name in [*schema["properties"], "unknown"]:
            for value in ("HERE", ["HERE"], {"a": "HERE"}, [{"role": "HERE"}]):
                for number in (f"-{LONG_INTEGER}", f"{LONG_INTEGER}.0"):
                    yield json.dumps({**example, name: value}).replace('"HERE"', number)


@pytest.mark.parametrize("endpoint", WITH_BODIES, ids=[e.operation_id for e in WITH_BODIES])
def test_long_integers_in_bodies(shared: Http, endpoint: AnyOperation) -> None:
    """In any field, also in one that is ignored (specification.md#error-never-500)."""
    path = endpoint.path.replace("{", "").replace("}", "")
    for body in bodies_of(endpoint):
        answer = shared.ask(endpoint.method, path, content=body, headers=JSON)

        assert answer.status_code < 500, body.replace(LONG_INTEGER, "1...1")


def test_long_integers_in_programs(shared: Http) -> None:
    """Repairs read them too (specification.md#error-never-500)."""
    message = f"f() takes {LONG_INTEGER} positional arguments but 2 were given"
    programs = [f"raise TypeError({message!r})"]
    for number in (LONG_INTEGER, f"0x{LONG_INTEGER}", f"1_{LONG_INTEGER}"):
        programs += [f"{number}-{number}", f"{number}: x\n{number}: y", f"print {number}"]
    for code in programs:
        for mode in ("fix", "all"):
            answer = shared.post("/api/execute/code", {"code": code, "mode": mode})
            assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("number", ["9" * 4_301, "9" * 30, "-" + "9" * 12])
def test_long_numbers_in_claims(http: Http, number: str) -> None:
    """Stored and compared like any text (specification.md#error-never-500)."""
    for text in (
        "It costs ${n}, {n} km and {n} % at {n}:{n}.",
        "On {n} March {n}, {n}-{n}-{n}, {n}/{n}/{n}.",
        "In {n} days, {n} years ago, {n} weeks from now, in {n} months.",
        "{n}.{n}e{n} and {n},{n},{n}.{n}; {n}th; {n} {n} {n}.",
    ):
        answer = text.format(n=number)
        event_id = http.remember("How much?", answer)["event_id"]
        body = {"draft": f"{answer} (ref: {event_id})", "event_id": event_id, "span": 1}
        http.remember("How much?", body["draft"])

        assert http.post("/api/v7/agent/second-look", body).status_code == 200
        assert http.memory(answer[:4_000])["hits"]


def test_long_integers_in_messages_of_mcp(shared: Http) -> None:
    """See specification.md#error-never-500."""
    headers = {**JSON, "accept": "application/json, text/event-stream"}
    call = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": '
    recall = call + '{"name": "recall", "arguments": {"query": "a", %s}}}'
    for message in (
        '{"jsonrpc": "2.0", "id": HERE, "method": "tools/list"}',
        call + '{"name": HERE}}',
        recall % '"top_k": HERE',
        recall % '"unknown": [HERE]',
        '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"a": HERE}}}',
        "HERE",
    ):
        body = message.replace("HERE", LONG_INTEGER)
        assert shared.ask("POST", "/mcp", content=body, headers=headers).status_code < 500, message


@pytest.mark.parametrize("path", ["/mcp", "/console/sign-in", "/api/v7/memory"])
def test_invalid_origins(shared: Http, path: str) -> None:
    """See specification.md#error-never-500."""
    origins = ["http://[::1", "http://]", "http://[", "//[", "http://a]b", "null",
               "http://a:99999999", "\x7f"]  # fmt: skip
    for origin in origins:
        answer = shared.post(path, {}, headers={"Origin": origin})
        assert 400 <= answer.status_code < 500, origin


@pytest.mark.parametrize("name", ["notice", "session", "theme"])
def test_invalid_cookies(http: Http, context: Context, name: str) -> None:
    """Also with a signature that belongs to the browser (specification.md#error-never-500)."""
    reader = Reader(http.client, context)
    session = reader.cookies["session"]
    for value in ("a", "abcde", "%%%", "====", "a=b=c", "A" * 5_000, "_w", "gA"):
        for token in ("any", session):
            reader.cookies = {"session": token, name: value}
            if name == "notice":
                reader.cookies[name] += f".{layout.signature(value, token)}"
            for path in ("/console", "/console/sign-in"):
                assert reader.get(path).status_code in (200, 303), value
