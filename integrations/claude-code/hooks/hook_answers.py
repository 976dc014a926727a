"""Answers in the words of each agent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def denied(agent: str, reason: str) -> dict[str, Any]:
    """A tool call that is not to be made."""
    if agent == "cursor":
        return {"permission": "deny", "user_message": reason, "agent_message": reason}
    return {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason},
    }


def context(agent: str, event: str, text: str, message: str = "") -> dict[str, Any]:
    """Text for the model to read, and a line for the person; what is empty is left out."""
    if agent == "cursor":
        return {"additional_context": text} if text else {}
    answer: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else {}
    return {**answer, "systemMessage": message} if message else answer


def stopped(agent: str, *, mend: str = "", message: str = "") -> dict[str, Any]:
    """The end of a turn; `mend`: it is not the end yet, and what is to be mended first."""
    if agent == "cursor":
        return {"followup_message": mend} if mend else {}
    answer: dict[str, Any] = {"decision": "block", "reason": mend} if mend else {}
    return {**answer, "systemMessage": message} if message else answer
