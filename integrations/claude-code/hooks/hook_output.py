"""Answers in the format of each agent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def denial(agent: str, reason: str) -> dict[str, Any]:
    """Return an answer that denies a tool call."""
    if agent == "cursor":
        return {"permission": "deny", "user_message": reason, "agent_message": reason}
    if agent == "gemini-cli":
        return {"decision": "deny", "reason": reason}
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
    }


def context(agent: str, event: str, text: str, message: str = "") -> dict[str, Any]:
    """Return an answer with text for the model and a message for the user, each if not empty."""
    if agent == "cursor":
        return {"additional_context": text} if text else {}
    answer: dict[str, Any] = {}
    if text:
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    return {**answer, "systemMessage": message} if message else answer


def turn_end(agent: str, *, revision: str = "", message: str = "") -> dict[str, Any]:
    """Return the answer at the end of a turn.

    `revision` asks the agent to continue and revise its answer; `message` is for the user.
    """
    if agent == "cursor":
        return {"followup_message": revision} if revision else {}
    answer: dict[str, Any] = {"decision": "block", "reason": revision} if revision else {}
    return {**answer, "systemMessage": message} if message else answer
