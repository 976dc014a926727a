"""Hooks of Codex and Cursor, of Gemini CLI and of Qwen Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def gemini(agent: Agent) -> Agent:
    """Return the same agent as Gemini CLI."""
    agent.name = "gemini-cli"
    return agent


def send(agent: Agent, event: str, **members: Any) -> dict[str, Any]:
    body = {"session_id": "s1", "transcript_path": "/t.json", "cwd": str(agent.home)}
    return agent.send(json.dumps({**body, "hook_event_name": event, **members}))


def test_a_revised_turn_is_stored_with_its_last_answer(agent: Agent, owner: Http) -> None:
    agent = gemini(agent)
    owner.remember("When does the ferry to Elba leave?", "It leaves at 9:40 from pier 3.")
    question = "At what time does the ferry to Elba leave?"
    turn = {"prompt": question, "stop_hook_active": False}

    added = "<hook_context>Hooks follow the protocol.\n\n&lt;end&gt;</hook_context>\n\n"
    recalled = context(send(agent, "BeforeAgent", prompt=added + question))
    event = owner.memory(question)["hits"][0]["event_id"]
    wrong, right = (f"At {time} (ref: {event})." for time in ("10:15", "9:40"))
    rejected = send(agent, "AfterAgent", **turn, prompt_response=wrong)
    again = send(agent, "BeforeAgent", prompt=rejected["reason"])
    second = {**turn, "stop_hook_active": True, "prompt_response": f"{wrong}\n{right}"}
    ended = send(agent, "AfterAgent", **second)

    assert "9:40 from pier 3" in recalled
    assert rejected["decision"] == "block"
    assert (again, ended) == ({}, {})
    turns = [(hit["query"], hit["response"]) for hit in owner.memory(question, top_k=9)["hits"]]
    assert (question, right) in turns
    assert all("10:15" not in answer for _, answer in turns)


def test_tools_have_the_names_of_gemini_cli(agent: Agent, tmp_path: Path) -> None:
    agent = gemini(agent)
    calls = [
        ("write_file", {"file_path": "/etc/hosts", "content": "x"}),
        ("replace", {"file_path": "/etc/hosts", "old_string": "a", "new_string": "b"}),
        ("read_file", {"file_path": "/etc/shadow"}),
        ("run_shell_command", {"command": "echo x > /etc/hosts"}),
    ]

    answers = [
        send(agent, "BeforeTool", tool_name=name, tool_input=arguments) for name, arguments in calls
    ]
    own = {"file_path": str(agent.home / "notes.txt"), "content": "x"}
    allowed = send(agent, "BeforeTool", tool_name="write_file", tool_input=own)

    assert [answer["decision"] for answer in answers] == ["deny"] * 4
    assert all("No grant lets `gemini-cli`" in answer["reason"] for answer in answers)
    assert allowed == {}


def test_a_turn_of_qwen_code_has_one_prompt(agent: Agent, owner: Http) -> None:
    """It sends UserPromptSubmit before each request of a turn, without a prompt after the first."""
    agent.name = "qwen-code"
    owner.remember("When does the ferry to Elba leave?", "It leaves at 9:40 from pier 3.")
    question = "At what time does the ferry to Elba leave?"
    call = {"tool_name": "run_shell_command", "tool_input": {"command": "cat /srv/secrets.env"}}

    recalled = context(send(agent, "UserPromptSubmit", prompt=question))
    denied = send(agent, "PreToolUse", **call | {"tool_input": {"command": "rm /srv/a"}})
    send(agent, "PostToolUse", **call, tool_response={"llmContent": "nothing"})
    again = send(agent, "UserPromptSubmit", prompt="")
    send(agent, "Stop", stop_hook_active=False, last_assistant_message="At 9:40 from pier 3.")

    assert "9:40 from pier 3" in recalled
    decision = denied["hookSpecificOutput"]
    assert decision["permissionDecision"] == "deny"
    assert "No grant lets `qwen-code` delete /srv/a" in decision["permissionDecisionReason"]
    assert again == {}
    stored = {(hit["query"], hit["response"]) for hit in owner.memory(question, top_k=9)["hits"]}
    assert (question, "At 9:40 from pier 3.") in stored
