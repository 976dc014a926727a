"""The TypeScript client: its types are current, its package is small, and Node runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from architecture.tree import ROOT
from client.scripted_server import ScriptedServer, answer

CLIENT = ROOT / "clients" / "typescript"
PACKED_BYTES_MAX = 20_000
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")


def test_types_are_those_of_the_openapi_document() -> None:
    """`python clients/typescript/generate.py` writes them again."""
    process = subprocess.run(
        [sys.executable, str(CLIENT / "generate.py"), "--check"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_npm_packs_the_client(tmp_path: Path) -> None:
    """Code and types only."""
    printed = subprocess.run(
        ["npm", "pack", "--json", "--pack-destination", str(tmp_path), str(CLIENT)],
        env={**os.environ, "HOME": str(tmp_path), "npm_config_cache": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    [package] = json.loads(printed)

    assert package["size"] <= PACKED_BYTES_MAX
    assert sorted(file["path"] for file in package["files"]) == [
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
    return subprocess.run(
        ["node", str(program)], capture_output=True, text=True, check=True, timeout=60
    ).stdout


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
def test_work_is_sent_and_the_effect_is_read(tmp_path: Path) -> None:
    with ScriptedServer(
        [
            answer(200, {"shared_cubes": []}, Content_Type="application/json"),
            answer(200, {"cubes": [], "next": 7}, Content_Type="application/json"),
        ]
    ) as server:
        body = (
            'const work = { error: "KeyError", tools: ["Bash"], files: ["a.py"] };\n'
            'await memory.search({ user_id: "a", query_text: "q", work });\n'
            "console.log((await memory.effect({ limit: 5 })).next);"
        )
        printed = run(tmp_path, server.url, body)

    assert printed == "7\n"
    work = {"error": "KeyError", "tools": ["Bash"], "files": ["a.py"]}
    assert json.loads(server.requests[0].body)["work"] == work
    assert server.requests[1].line == "GET /api/v7/experience/effect?limit=5 HTTP/1.1"


@needs_node
def test_path_and_query_are_escaped(tmp_path: Path) -> None:
    with ScriptedServer([answer(200, {})]) as server:
        body = (
            'await memory.call("GET /api/v7/event/{event_id}",'
            ' { path: { event_id: "a/b c" }, query: { user_id: "a&b", limit: undefined } });'
        )
        run(tmp_path, server.url, body)

    assert server.requests[0].line == "GET /api/v7/event/a%2Fb%20c?user_id=a%26b HTTP/1.1"
