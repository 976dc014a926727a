"""Hooks of Codex and Cursor."""

from __future__ import annotations

from pathlib import Path

import pytest
from integrations.agent import PROMPT, Agent, context, denial
from service import Http, new_key

from remembrancer.context import Context


@pytest.fixture
def codex(home: Path, service_url: str, context: Context) -> Agent:
    return Agent(home, service_url, new_key(context), "codex")


@pytest.fixture
def cursor(home: Path, service_url: str, context: Context) -> Agent:
    return Agent(home, service_url, new_key(context), "cursor")


def test_codex_session(codex: Agent, owner: Http) -> None:
    """Codex gets the same start text, recall and second look as Claude Code."""
    owner.remember("When does the Elba ferry leave?", "At 9:40 from Piombino, pier 3.")

    session_start = context(codex.trigger("SessionStart"))
    prompt_context = context(codex.trigger("UserPromptSubmit"))
    first_stop = codex.trigger("Stop", last_assistant_message="At 11:15.")
    second_stop = codex.trigger(
        "Stop", last_assistant_message="I do not know when.", stop_hook_active=True
    )

    assert "constitution" in session_start
    assert "pier 3" in prompt_context
    assert first_stop["decision"] == "block"
    assert second_stop == {}
    assert [hit["response"] for hit in owner.memory(PROMPT)["hits"] if hit["query"] == PROMPT] == [
        "I do not know when."
    ]


def test_codex_needs_a_grant_for_system_files(codex: Agent, owner: Http) -> None:
    grant = {"scope": "/etc/shadow", "ttl_minutes": 5, "actions": ["read"], "agent": "codex"}

    assert "read /etc/shadow" in denial(codex.trigger("PreToolUse"))
    assert "write /etc/hosts" in denial(codex.trigger("PreToolUse-patch"))
    owner.post("/api/v7/sysperm/grant", grant)
    assert codex.trigger("PreToolUse") == {}
    assert codex.trigger("PostToolUse") == {}
    trail = owner.get("/api/v7/sysperm/audit").json()["entries"]
    assert [entry["result"] for entry in trail if entry["kind"] == "log"] == ["Bash: done"]


def test_cursor_session(cursor: Agent, owner: Http) -> None:
    event_id = owner.remember(
        "When does the ferry to Elba leave?", "At 9:40 from Piombino.", session_id="x"
    )["event_id"]

    session_start = cursor.trigger("sessionStart")
    prompt_answer = cursor.trigger("beforeSubmitPrompt")
    owner.memory(PROMPT, session_id="s1")  # the agent calls the tool `recall`
    cursor.trigger("afterAgentResponse", text=f"At 11:15 (ref: {event_id}).")
    first_stop = cursor.trigger("stop")
    cursor.trigger(
        "beforeSubmitPrompt", prompt=first_stop["followup_message"]
    )  # Cursor sends it as a prompt
    cursor.trigger("afterAgentResponse", text=f"At 9:40 (ref: {event_id}).")
    second_stop = cursor.trigger("stop", loop_count=1)

    assert "call `recall`" in session_start["additional_context"]
    assert prompt_answer == {"continue": True}
    assert "11:15" in first_stop["followup_message"]
    assert second_stop == {}
    hits = [hit for hit in owner.memory(PROMPT, top_k=10)["hits"] if hit["session_id"] == "s1"]
    assert [(hit["query"], hit["response"]) for hit in hits] == [
        (PROMPT, f"At 9:40 (ref: {event_id}).")
    ]


def test_cursor_needs_a_grant_for_system_files(cursor: Agent, owner: Http) -> None:
    before_grant = cursor.trigger("preToolUse")
    owner.post(
        "/api/v7/sysperm/grant",
        {"scope": "/etc/nginx", "ttl_minutes": 5, "actions": ["delete"], "agent": "cursor"},
    )
    after_grant = cursor.trigger("preToolUse")
    cursor.trigger("postToolUse")

    assert before_grant["permission"] == "deny"
    assert "delete /etc/nginx" in before_grant["agent_message"]
    assert after_grant == {}
    trail = owner.get("/api/v7/sysperm/audit").json()["entries"]
    assert [entry["result"] for entry in trail if entry["kind"] == "log"] == ["Shell: done"]
