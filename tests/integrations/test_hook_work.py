"""The work of a turn: a failed tool call and the changed files choose lessons for the next prompt.

See specification.md#search-work.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hook_work import (
    ERROR_HEAD_CHARACTERS,
    ERROR_TAIL_CHARACTERS,
    FILES_MAX,
    STORED_CHARACTERS_MAX,
    error_text,
    work_to_send,
)
from integrations.agent import Agent
from integrations.agent import context as context_of
from service import Http

ERROR = "TypeError: keys must be str, int, float, bool or None, not tuple"
LESSON = {
    "topic": "json keys",
    "essence": "json.dumps raises TypeError: keys must be str, int, float, bool or None.",
    "rules_markdown": "- MUST convert tuple keys to text before json.dumps.",
    "evidence": "docs",
}


def state_of(agent: Agent) -> Any:
    """Return the state of the agent's only session."""
    [path] = (agent.home / ".local/state/remembrancer/hooks").glob("*.json")
    return json.loads(path.read_text("utf-8"))


def fail(agent: Agent, error: str = ERROR, **members: Any) -> None:
    """Run the hooks for a failed command."""
    agent.trigger(
        "PostToolUse",
        hook_event_name="PostToolUseFailure",
        error=f"Exit code 1\n{error}",
        **members,
    )


def test_error_of_a_turn_brings_its_lesson_with_the_next_prompt(agent: Agent, owner: Http) -> None:
    cube_id = owner.post("/api/v7/experience/create", LESSON).json()["cube_id"]
    agent.turn("Export the table.", "I tried.")
    before = context_of(agent.trigger("UserPromptSubmit", prompt="It does not work."))
    fail(agent)

    after = context_of(agent.trigger("UserPromptSubmit", prompt="It does not work."))

    assert cube_id not in before
    assert f"[cube {cube_id}]" in after


def test_error_is_sent_with_one_search_only(agent: Agent) -> None:
    agent.trigger("UserPromptSubmit", prompt="Export the table.")
    fail(agent)
    work = state_of(agent)["work"]

    agent.trigger("UserPromptSubmit", prompt="Go on.")

    assert (work["error"], work["tools"]) == (f"Exit code 1\n{ERROR}", ["Bash"])
    assert state_of(agent)["work"] is None


def test_latest_error_and_latest_files_are_sent(agent: Agent) -> None:
    for n in range(FILES_MAX + 2):
        arguments = {"file_path": f"/garden/{n}.py", "content": ""}
        agent.trigger("PostToolUse-Write", tool_input=arguments)
    fail(agent, "first")
    fail(agent, "second")

    work = state_of(agent)["work"]

    assert work["files"] == [f"/garden/{n}.py" for n in range(2, FILES_MAX + 2)]
    assert work["error"] == "Exit code 1\nsecond"


def test_search_without_the_service_drops_the_error(agent: Agent, dead_url: str) -> None:
    fail(agent)
    agent.environment["REMEMBRANCER_URL"] = dead_url

    assert agent.trigger("UserPromptSubmit", prompt="Go on.") == {}
    assert state_of(agent)["work"] is None


def test_successful_interrupted_and_reading_calls_write_no_state(agent: Agent) -> None:
    """They are most calls, so they cost nothing more."""
    agent.trigger("UserPromptSubmit", prompt="Export the table.")
    before = state_of(agent)

    agent.trigger("PostToolUse")
    agent.trigger("PostToolUse", tool_name="Read", tool_input={"file_path": "/garden/a.py"})
    after = state_of(agent)
    fail(agent, is_interrupt=True)

    assert after == before
    assert not state_of(agent).get("work")


def test_error_text_is_read_from_every_shape() -> None:
    shapes: list[tuple[dict[str, Any], str]] = [
        ({"error": " no such file \n"}, "no such file"),
        ({"tool_response": {"interrupted": True, "stderr": "killed"}}, "killed"),
        ({"tool_response": {"is_error": True, "content": "denied"}}, "denied"),
        ({"tool_response": {"is_error": True, "content": [1]}}, ""),
        ({"tool_response": "text"}, ""),
        ({"error": "a\0b"}, "a\ufffdb"),
    ]

    for event, expected in shapes:
        assert error_text(event) == expected


@pytest.mark.parametrize("position", [0, ERROR_HEAD_CHARACTERS - 30, STORED_CHARACTERS_MAX // 2])
def test_error_that_is_sent_is_short_and_has_no_part_of_a_key(position: int) -> None:
    key = "sk_" + 64 * "a"
    stored = error_text({"error": f"begin {'x' * position} {key} {'y' * 100_000} end"})

    error = work_to_send({"error": stored})["error"]

    assert len(stored) <= STORED_CHARACTERS_MAX
    assert len(error) <= ERROR_HEAD_CHARACTERS + ERROR_TAIL_CHARACTERS
    assert (error[:5], error[-3:]) == ("begin", "end")
    assert "sk_" not in error
