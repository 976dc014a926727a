"""Claude Code calls the MCP tools, and stays usable without the service."""

from __future__ import annotations

import json

import pytest
from agents.claude_code import PREFIX, ClaudeCode
from agents.endpoints import Reply, ToolCall
from service import Http

pytestmark = pytest.mark.agents

DEAD_URL = "http://127.0.0.1:9"
FACT = "The Cassini backup key is in drawer 17."


def test_tools_remember_and_recall(claude: ClaudeCode) -> None:
    """A recalled turn is fenced, and an invalid argument is an error for the model."""
    select = ",".join(f"{PREFIX}{name}" for name in ("remember", "recall"))
    replies: list[Reply] = [
        ToolCall("ToolSearch", {"query": f"select:{select}", "max_results": 9}),
        ToolCall(f"{PREFIX}remember", {"query": "Where is the key?", "response": FACT}),
        ToolCall(f"{PREFIX}recall", {"query_text": "Cassini backup key"}),
        ToolCall(f"{PREFIX}recall", {"query_text": "x", "top_k": "five"}),
        "Over.",
    ]
    _, *results = claude.run("Use the tools.", replies).tool_results()
    remembered, recalled, refused = map(json.dumps, results)

    assert [bool(result.get("is_error")) for result in results] == [False, False, True]
    assert "event_id" in remembered
    assert FACT in recalled
    assert "<<memory-data" in recalled
    assert "top_k" in refused


def test_queued_turn_is_sent_when_the_service_is_back(claude: ClaudeCode, owned: Http) -> None:
    prompt = "Who built the Galileo probe?"
    user_id = owned.get("/api/v7/key").json()["user_id"]

    claude.run(prompt, ["Hughes."], REMEMBRANCER_URL=DEAD_URL)
    meanwhile = owned.memory(prompt, user_id=user_id)["hits"]
    claude.run("And now?", ["Hello again."])
    afterwards = owned.memory(prompt, user_id=user_id)["hits"]

    assert [hit for hit in meanwhile if hit["query"] == prompt] == []
    assert [hit["response"] for hit in afterwards if hit["query"] == prompt] == ["Hughes."]


def test_invalid_key_does_not_stop_the_agent(claude: ClaudeCode) -> None:
    run = claude.run("Hello?", ["Hello."], REMEMBRANCER_KEY="sk_wrong")

    assert run.result["result"] == "Hello."
    assert run.servers["remembrancer"] in ("needs-auth", "failed")
