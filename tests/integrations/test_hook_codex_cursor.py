"""The same program behind the hooks of Codex and Cursor, as far as they go."""

from __future__ import annotations

from pathlib import Path

import pytest
from integrations.agent import PROMPT, RECORDED, Agent, context, denial
from service import Http, new_key

from remembrancer.context import Context


@pytest.fixture
def codex(home: Path, service_url: str, context: Context) -> Agent:
    return Agent(home, service_url, new_key(context), "codex")


@pytest.fixture
def cursor(home: Path, service_url: str, context: Context) -> Agent:
    return Agent(home, service_url, new_key(context), "cursor")


def test_a_session_of_codex(codex: Agent, owner: Http) -> None:
    """Codex and Cursor get the same, as far as their hooks allow."""
    owner.remember("Where does the ferry to Elba leave?", "From Piombino, pier 3.")

    began = context(codex.at("SessionStart"))
    recalled = context(codex.at("UserPromptSubmit"))
    blocked = codex.at("Stop", last_assistant_message="At 11:15.")
    passed = codex.at("Stop", last_assistant_message="I do not know when.", stop_hook_active=True)

    assert "constitution" in began
    assert "pier 3" in recalled
    assert blocked["decision"] == "block"
    assert passed == {}
    assert [hit["response"] for hit in owner.memory(PROMPT)["hits"] if hit["query"] == PROMPT] == ["I do not know when."]


def test_codex_asks_before_system_files_too(codex: Agent, owner: Http) -> None:
    grant = {"scope": "/etc/shadow", "ttl_minutes": 5, "actions": ["read"], "agent": "codex"}

    assert "read /etc/shadow" in denial(codex.at("PreToolUse"))
    assert "write /etc/hosts" in denial(codex.at("PreToolUse-patch"))
    owner.post("/api/v7/sysperm/grant", grant)
    assert codex.at("PreToolUse") == {}
    assert codex.at("PostToolUse") == {}
    trail = owner.get("/api/v7/sysperm/audit").json()["entries"]
    assert [entry["result"] for entry in trail if entry["kind"] == "log"] == ["Bash: done"]


def test_the_transcript_of_codex_is_read(codex: Agent, owner: Http) -> None:
    codex.at("UserPromptSubmit")
    codex.at("PreCompact", transcript_path=str(RECORDED / "codex" / "transcript.jsonl"))

    assert [hit["response"] for hit in owner.memory(PROMPT)["hits"]] == ["It leaves at noon."]


def test_a_session_of_cursor(cursor: Agent, owner: Http) -> None:
    event_id = owner.remember("When does the ferry to Elba leave?", "At 9:40 from Piombino.", session_id="x")["event_id"]

    began = cursor.at("sessionStart")
    prompted = cursor.at("beforeSubmitPrompt")
    owner.memory(PROMPT, session_id="s1")  # what the agent does with the tool `recall`
    cursor.at("afterAgentResponse", text=f"At 11:15 (ref: {event_id}).")
    followed = cursor.at("stop")
    cursor.at("beforeSubmitPrompt", prompt=followed["followup_message"])  # Cursor sends it in the user's place
    cursor.at("afterAgentResponse", text=f"At 9:40 (ref: {event_id}).")
    ended = cursor.at("stop", loop_count=1)

    assert "call `recall`" in began["additional_context"]
    assert prompted == {"continue": True}
    assert "11:15" in followed["followup_message"]
    assert ended == {}
    kept = [hit for hit in owner.memory(PROMPT, top_k=10)["hits"] if hit["session_id"] == "s1"]
    assert [(hit["query"], hit["response"]) for hit in kept] == [(PROMPT, f"At 9:40 (ref: {event_id}).")]


def test_cursor_asks_before_system_files_too(cursor: Agent, owner: Http) -> None:
    denied = cursor.at("preToolUse")
    owner.post("/api/v7/sysperm/grant", {"scope": "/etc/nginx", "ttl_minutes": 5, "actions": ["delete"], "agent": "cursor"})
    allowed = cursor.at("preToolUse")
    cursor.at("postToolUse")

    assert denied["permission"] == "deny"
    assert "delete /etc/nginx" in denied["agent_message"]
    assert allowed == {}
    trail = owner.get("/api/v7/sysperm/audit").json()["entries"]
    assert [entry["result"] for entry in trail if entry["kind"] == "log"] == ["Shell: done"]


@pytest.mark.parametrize("status", ["aborted", "error"])
def test_what_cursor_broke_off_is_saved_as_far_as_it_went(cursor: Agent, owner: Http, status: str) -> None:
    cursor.at("beforeSubmitPrompt")
    cursor.at("afterAgentResponse", text="It leaves 5 km from here")

    assert cursor.at("stop", status=status) == {}
    assert owner.memory(PROMPT)["hits"][0]["response"] == "It leaves 5 km from here"
