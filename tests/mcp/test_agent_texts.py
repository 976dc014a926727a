"""Texts for agents about the tools, in every format.

They are generated from the tools and the constitution.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from http_server.examples import make_mentioned
from service import Http, body_of, new_key, serving
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer.accounts import caller_for
from remembrancer.client import Client
from remembrancer.client.runtime.session import recalled_text
from remembrancer.client.tools import (
    TOOLS,
    Tool,
    ToolArgumentsError,
    call_tool,
    chosen_tools,
    described,
)
from remembrancer.context import Context
from remembrancer.http.agent_instructions import files
from remembrancer.permissions.teams import create_team
from remembrancer.protocol.search import MemoryAnswer
from remembrancer.protocol.teams import TeamCreate

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("form", ["openai", "anthropic", "mcp"])
def test_tools_are_listed_in_three_api_formats(http: Http, form: str) -> None:
    """`GET /api/v7/tools` has three formats (specification.md#tools-list)."""
    body = http.get("/api/v7/tools", params={"format": form}).json()

    described = [tool["function"] if form == "openai" else tool for tool in body["tools"]]
    member = {"openai": "parameters", "anthropic": "input_schema", "mcp": "inputSchema"}[form]
    assert body["format"] == form
    assert [tool["name"] for tool in described] == [tool.name for tool in TOOLS]
    for tool in described:
        assert (tool[member]["type"], tool[member]["additionalProperties"]) == ("object", False)
        assert tool["description"]
    if form == "openai":
        assert {tool["type"] for tool in body["tools"]} == {"function"}


def test_llms_txt_names_every_tool_and_links_to_openapi(http: Http) -> None:
    """`/llms.txt` names every tool (specification.md#status-llms-txt)."""
    answer = http.with_key(None).get("/llms.txt")

    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("# Remembrancer\n\n> ")
    assert all(f"`{tool.name}`" in answer.text for tool in TOOLS)
    assert "(http://127.0.0.1:8460/openapi.json)" in answer.text


@pytest.mark.parametrize("name", sorted(files()))
def test_generated_files_are_up_to_date(name: str) -> None:
    """Regenerate them with `python -m remembrancer.http.agent_instructions`."""
    assert (ROOT / name).read_text("utf-8") == files()[name]


def test_few_tools_are_short_and_their_arguments_are_those_of_all() -> None:
    """The default of coding agents has at most 1,200 tokens (specification.md#mcp-tools)."""
    for beside_hooks in (False, True):
        few = chosen_tools("memory", beside_hooks=beside_hooks)
        tools = {tool.name: tool for tool in TOOLS}
        texts = json.dumps([described(tool, "mcp") for tool in few])

        assert [tool.name for tool in few] == ["recall", "remember", "get_event", "forget"]
        assert len(texts) / 4 <= 1200
        assert all(set(tool.arguments) <= set(tools[tool.name].arguments) for tool in few)
    assert [tool.name for tool in chosen_tools("vote, recall", beside_hooks=False)] == [
        "recall",
        "vote",
    ]
    with pytest.raises(ToolArgumentsError, match="there is no tool 'votes'"):
        chosen_tools("votes", beside_hooks=False)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", [tool.name for tool in TOOLS]),
        ("?tools=memory", ["recall", "remember", "get_event", "forget"]),
        ("?client=hooks", ["recall", "remember", "get_event", "forget"]),
        ("?client=hooks&tools=all", [t.name for t in TOOLS if t.beside_hooks is not None]),
        ("?tools=vote,recall", ["recall", "vote"]),
    ],
)
def test_mcp_lists_the_tools_that_the_address_names(
    http: Http, app: Starlette, query: str, names: list[str]
) -> None:
    """Others stay callable (specification.md#mcp-choice)."""

    def ask(method: str, **parameters: object) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
        }
        return dict(body_of(http.post(f"/mcp{query}", message, headers=headers))["result"])

    assert [tool["name"] for tool in ask("tools/list")["tools"]] == names
    assert not ask("tools/call", name="list_facts", arguments={})["isError"]


def test_unknown_tool_in_the_address_is_refused(http: Http) -> None:
    answer = http.post("/mcp?tools=votes", {})

    assert answer.status_code == 422
    assert "there is no tool 'votes'" in answer.json()["detail"]


def test_agents_work_in_teams(http: Http, app: Starlette) -> None:
    """`team` and `teams` are arguments of tools (specification.md#team-request)."""
    create_team(http.context, caller_for(http.context), TeamCreate(name="Garden"))
    turn = {"query": "Where is the rake?", "response": "Behind the shed.", "team": "Garden"}

    with serving(app) as port, Client(f"http://127.0.0.1:{port}", str(http.key)) as client:
        call_tool(client, "remember", turn)
        own, together = (
            call_tool(client, "recall", {"query_text": "rake", **more})
            for more in ({}, {"teams": "all"})
        )

    assert isinstance(own, MemoryAnswer)
    assert isinstance(together, MemoryAnswer)
    assert own.hits == []
    assert [hit.memory and hit.memory.team for hit in together.hits] == ["Garden"]
    assert ", team Garden" in recalled_text(together)


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
