"""Optional arguments of tools: null means absent."""

from __future__ import annotations

from typing import Any

from http_server.examples import make_mentioned
from service import new_key
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer.client.tools import TOOLS, Tool
from remembrancer.context import Context

EXAMPLES: dict[str, dict[str, Any]] = {  # of tools whose models have none
    "get_event": {"event_id": "e_7k2m9x0v4t8qz"},
    "correct_fact": {"fact_id": "f_7k2m9x0v4t8qz"},
    "forget": {"session_id": "trip"},
    "search": {"query": "ferry"},
    "fetch": {"id": "e_7k2m9x0v4t8qz"},
}
NEEDED = {
    ("forget", "session_id"),
    ("remember", "query"),
    ("remember", "response"),
}  # by the example
VOLATILE = {"duty_error", "reminders"}  # they differ from one search to the next
OPTIONAL = [(tool, name) for tool in TOOLS for name in tool.arguments if name not in tool.required]


def example(tool: Tool) -> dict[str, Any]:
    """Return arguments that the tool accepts."""
    extra: Any = tool.request_model.model_config.get("json_schema_extra") or {}
    body = EXAMPLES.get(tool.name) or next(iter(extra.get("examples", [{}])))
    return {name: value for name, value in body.items() if name in tool.arguments}


def call(client: TestClient, key: str, tool: Tool, arguments: dict[str, Any]) -> Any:
    """Call a tool at /mcp; return whether it failed and the fields of its answer."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool.name, "arguments": arguments},
    }
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    result = client.post("/mcp", json=body, headers=headers).json()["result"]
    failed = result.get("isError", False)
    fields = sorted({*result.get("structuredContent", ())} - VOLATILE)
    return failed, result["content"] if failed else fields


def test_null_for_an_optional_argument_means_absent(context: Context, app: Starlette) -> None:
    """The schema of the tool says so too (specification.md#api-null-is-absent)."""
    key = new_key(context)
    make_mentioned(context)

    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        for tool, name in OPTIONAL:
            said = (tool.name, name)
            absent = {one: value for one, value in example(tool).items() if one != name}
            null = call(client, key, tool, {**absent, name: None})
            assert null == call(client, key, tool, absent), said
            assert null[0] is (said in NEEDED), said
            assert {"type": "null"} in tool.input_schema["properties"][name]["anyOf"], said
