"""The TypeScript client: its types are current, its package is small, and Node runs it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from client.scripted_server import ScriptedServer, answer
from command import captured
from typescript import CLIENT, client_with_types

from remembrancer.protocol.operations import OPERATIONS

PACKED_BYTES_MAX = 20_000
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client with its types, as `make typescript` packs it."""
    return client_with_types(tmp_path_factory.mktemp("typescript") / "client")


def test_types_have_every_operation(package: Path) -> None:
    types = (package / "endpoints.d.ts").read_text("utf-8")

    assert [one.path for one in OPERATIONS if f'  "{one.method} {one.path}": {{' not in types] == []


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_npm_packs_the_client(package: Path, tmp_path: Path) -> None:
    """Code and types only."""
    printed = captured(
        ["npm", "pack", "--json", "--pack-destination", str(tmp_path), str(package)],
        env={**os.environ, "HOME": str(tmp_path), "npm_config_cache": str(tmp_path / "cache")},
        check=True,
    ).stdout
    [packed] = json.loads(printed)

    assert packed["size"] <= PACKED_BYTES_MAX
    assert sorted(file["path"] for file in packed["files"]) == [
        "README.md",
        "endpoints.d.ts",
        "index.d.ts",
        "index.js",
        "package.json",
    ]


def run(tmp_path: Path, url: str, body: str) -> str:
    """Return the output of a program with a client `memory` of this address."""
    program = tmp_path / "program.mjs"
    head = (
        f'import {{ Remembrancer }} from "{CLIENT / "index.js"}";\n'
        f'const memory = new Remembrancer({{ url: "{url}/", key: "sk_1" }});\n'
    )
    program.write_text(head + body, "utf-8")
    return captured(["node", str(program)], check=True, timeout=60).stdout


@needs_node
def test_busy_service_is_asked_again_with_the_same_idempotency_key(tmp_path: Path) -> None:
    busy = answer(503, {"error": "unavailable", "detail": "later"}, Retry_After="0")
    with ScriptedServer(
        [busy, answer(200, {"saved": True}, Content_Type="application/json")]
    ) as server:
        body = 'console.log((await memory.remember({ query: "q", response: "r" })).saved);'
        printed = run(tmp_path, server.url, body)

    assert printed == "true\n"
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert server.requests[0].headers["authorization"] == "Bearer sk_1"
    assert json.loads(server.requests[1].body) == {"query": "q", "response": "r"}


@needs_node
def test_error_of_the_service_has_its_code_and_is_not_repeated(tmp_path: Path) -> None:
    error = answer(422, {"error": "invalid_request", "detail": "top_k: too large."})
    with ScriptedServer([error]) as server:
        body = (
            'try { await memory.search({ user_id: "a", query_text: "q" }); }\n'
            "catch (error) { console.log(error.name, error.status, error.error, error.message); }"
        )
        printed = run(tmp_path, server.url, body)

    assert printed == "ServiceError 422 invalid_request top_k: too large.\n"
    assert len(server.requests) == 1


@needs_node
def test_work_of_the_turn_is_sent(tmp_path: Path) -> None:
    with ScriptedServer(
        [answer(200, {"shared_cubes": []}, Content_Type="application/json")]
    ) as server:
        body = (
            'const work = { error: "KeyError", tools: ["Bash"], files: ["a.py"] };\n'
            'await memory.search({ user_id: "a", query_text: "q", work });\n'
        )
        run(tmp_path, server.url, body)

    work = {"error": "KeyError", "tools": ["Bash"], "files": ["a.py"]}
    assert json.loads(server.requests[0].body)["work"] == work


@needs_node
def test_path_and_query_are_escaped(tmp_path: Path) -> None:
    with ScriptedServer([answer(200, {})]) as server:
        body = (
            'await memory.call("GET /api/v7/event/{event_id}",'
            ' { path: { event_id: "a/b c" }, query: { user_id: "a&b", limit: undefined } });'
        )
        run(tmp_path, server.url, body)

    assert server.requests[0].line == "GET /api/v7/event/a%2Fb%20c?user_id=a%26b HTTP/1.1"
