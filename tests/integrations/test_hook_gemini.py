"""Events of Gemini CLI and Qwen Code: other names, one answer for both tries, its own denial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from integrations.agent import Agent, context
from service import Http


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
