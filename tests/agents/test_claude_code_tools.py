"""Claude Code calls the MCP tools, and stays usable without the service."""

from __future__ import annotations

import json

import pytest
from agents.claude_code import PREFIX, ClaudeCode, ClaudeRun
from agents.endpoints import Reply, ToolCall
from service import Http

pytestmark = pytest.mark.agents

DEAD_URL = "http://127.0.0.1:9"
FACT = "The Cassini backup key is in drawer 17."


@pytest.fixture(scope="module")
def calls(claude: ClaudeCode) -> ClaudeRun:
    """Calls of four tools, one of them invalid."""
    names = ("remember", "recall", "run_python", "second_look")
    select = ",".join(f"{PREFIX}{name}" for name in names)
    replies: list[Reply] = [
        ToolCall("ToolSearch", {"query": f"select:{select}", "max_results": 9}),
        ToolCall(f"{PREFIX}remember", {"query": "Where is the key?", "response": FACT}),
        ToolCall(f"{PREFIX}recall", {"query_text": "Cassini backup key"}),
        ToolCall(f"{PREFIX}run_python", {"code": "print(6 * 7)"}),
        ToolCall(f"{PREFIX}recall", {"query_text": "x", "top_k": "five"}),
        "Over.",
    ]
    return claude.run("Use the tools.", replies)


def results(calls: ClaudeRun) -> list[dict[str, object]]:
    """Return the results after that of ToolSearch."""
    return calls.tool_results()[1:]


def test_remember_tool_saves(calls: ClaudeRun) -> None:
    assert not results(calls)[0].get("is_error")
    assert "event_id" in json.dumps(results(calls)[0])


def test_recall_tool_returns_the_turn(calls: ClaudeRun) -> None:
    assert FACT in json.dumps(results(calls)[1])


def test_recalled_turn_is_fenced(calls: ClaudeRun) -> None:
    assert "<<memory-data" in json.dumps(results(calls)[1])


def test_sandbox_tool_runs_a_program(calls: ClaudeRun) -> None:
    assert "42" in json.dumps(results(calls)[2])


def test_invalid_argument_is_an_error_for_the_model(calls: ClaudeRun) -> None:
    assert results(calls)[3]["is_error"]
    assert "top_k" in json.dumps(results(calls)[3])


@pytest.fixture(scope="module")
def away(claude: ClaudeCode) -> ClaudeRun:
    """A turn while the service does not answer."""
    prompt = "Where did the Huygens probe land?"
    return claude.run(prompt, ["On Titan."], REMEMBRANCER_URL=DEAD_URL)


def test_without_the_service_a_prompt_is_answered(away: ClaudeRun) -> None:
    assert away.result["result"] == "On Titan."


def test_without_the_service_the_user_reads_why(away: ClaudeRun) -> None:
    assert "does not answer" in "".join(away.hook_outputs("SessionStart"))


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
