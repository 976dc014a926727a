"""The work of a turn: a failed tool call and the changed files choose lessons for the next prompt.

See specification.md#search-work.
"""

from __future__ import annotations

from typing import Any

import pytest
from hook_work import (
    ERROR_HEAD_CHARACTERS,
    ERROR_TAIL_CHARACTERS,
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


@pytest.mark.parametrize("position", [0, ERROR_HEAD_CHARACTERS - 30, STORED_CHARACTERS_MAX // 2])
def test_error_that_is_sent_is_short_and_has_no_part_of_a_key(position: int) -> None:
    key = "sk_" + 64 * "a"
    stored = error_text({"error": f"begin {'x' * position} {key} {'y' * 100_000} end"})

    error = work_to_send({"error": stored})["error"]

    assert len(stored) <= STORED_CHARACTERS_MAX
    assert len(error) <= ERROR_HEAD_CHARACTERS + ERROR_TAIL_CHARACTERS
    assert (error[:5], error[-3:]) == ("begin", "end")
    assert "sk_" not in error
