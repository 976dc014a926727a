"""Hook responses in the format of each agent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def denied(agent: str, reason: str) -> dict[str, Any]:
    """Return the denial of a tool call."""
    if agent == "cursor":
        return {"permission": "deny", "user_message": reason, "agent_message": reason}
    return {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason},
    }


def context(agent: str, event: str, text: str, message: str = "") -> dict[str, Any]:
    """Return text for the model and a message for the user. Empty ones are omitted."""
    if agent == "cursor":
        return {"additional_context": text} if text else {}
    response: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else {}
    return {**response, "systemMessage": message} if message else response


def stopped(agent: str, *, corrections: str = "", message: str = "") -> dict[str, Any]:
    """Return the response to the end of a turn.

    `corrections` makes the agent continue and revise its response.
    """
    if agent == "cursor":
        return {"followup_message": corrections} if corrections else {}
    response: dict[str, Any] = {"decision": "block", "reason": corrections} if corrections else {}
    return {**response, "systemMessage": message} if message else response
