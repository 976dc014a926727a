"""The texts about the tools that agents read, in every form.

They are made of the tools and the constitution, so that every form agrees with them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from service import Http

from remembrancer.client import Client
from remembrancer.client.tools import TOOLS, ToolArgumentsError, call_tool
from remembrancer.http.agent_instructions import files
from remembrancer.protocol.constitution import RULES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("form", ["openai", "anthropic", "mcp"])
def test_the_tools_are_described_as_each_api_wants_them(http: Http, form: str) -> None:
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


def test_a_format_that_nobody_has_is_refused(http: Http) -> None:
    assert http.get("/api/v7/tools", params={"format": "yaml"}).status_code == 422


def test_llms_txt_names_every_tool_and_where_to_read_on(http: Http) -> None:
    """`/llms.txt` names every tool (specification.md#status-llms-txt)."""
    answer = http.with_key(None).get("/llms.txt")

    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("# Remembrancer\n\n> ")
    assert all(f"`{tool.name}`" in answer.text for tool in TOOLS)
    assert "(http://127.0.0.1:8460/openapi.json)" in answer.text


@pytest.mark.parametrize("name", sorted(files()))
def test_the_files_of_the_repository_are_as_they_are_made(name: str) -> None:
    """Write them with `python -m remembrancer.entrypoints.agent_texts`."""
    assert (ROOT / name).read_text("utf-8") == files()[name]


def test_the_skill_has_every_rule_and_every_tool() -> None:
    skill = files()["integrations/claude-code/skills/memory/SKILL.md"]

    assert skill.startswith("---\nname: memory\ndescription: ")
    assert all(rule in skill for rule in RULES)
    assert all(f"`{tool.name}`: {tool.description}" in skill for tool in TOOLS)


def test_a_tool_that_is_not_there_is_an_error_before_anything_is_sent() -> None:
    with (
        Client("http://127.0.0.1:9", "sk_0") as client,
        pytest.raises(ToolArgumentsError, match="there is no tool 'drop'"),
    ):
        call_tool(client, "drop", {})
