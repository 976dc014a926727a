"""Map Cursor's events to those of the other agents.

Cursor's hooks can add context only when a session starts, so the agent calls `recall` itself.
"""

from __future__ import annotations

import hook_events as events
from hook_calls import Service, Setup
from hook_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVENTS = {
    "sessionStart": "SessionStart",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "stop": "Stop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}


def respond(event: dict[str, Any], setup: Setup, service: Service, session: Session) -> dict[str, Any]:
    """Return the response to Cursor. Raises InvalidSetup and OSError."""
    name = str(event.get("hook_event_name"))
    if name == "beforeSubmitPrompt":
        events.note_prompt(event, session)
        return {"continue": True}
    if name == "afterAgentResponse":
        if isinstance(event.get("text"), str) and event["text"].strip():
            session.update(answer=event["text"])
        return {}
    roots = event.get("workspace_roots")
    if not event.get("cwd") and isinstance(roots, list) and roots:
        event = {**event, "cwd": roots[0]}
    if name == "stop" and event.get("status") not in (None, "completed"):
        name = "preCompact"  # interrupted: store the turn so far, without second look
    return events.respond({**event, "hook_event_name": EVENTS.get(name, name)}, setup, service, session)
