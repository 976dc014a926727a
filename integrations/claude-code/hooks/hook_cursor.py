"""Events of Cursor.

Cursor accepts context only when a session starts, so the agent itself calls `recall`.
"""

from __future__ import annotations

import hook_events
from hook_service import Service, Settings
from hook_state import Session, add_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def answer(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Return the answer for Cursor. Raises the errors of `hook_events.answer`."""
    name = str(event.get("hook_event_name"))
    if name == hook_events.PROMPT:
        hook_events.save_prompt(event, settings, session)
        return {"continue": True}
    if name == "afterAgentResponse":
        if isinstance(event.get("text"), str) and event["text"].strip():
            session.update(answer=event["text"])
        return {}
    if name == "PostToolUse":
        add_results(session, event.get("tool_output"))
    roots = event.get("workspace_roots")
    if not event.get("cwd") and isinstance(roots, list) and roots:
        event = {**event, "cwd": roots[0]}
    if name == "Stop" and event.get("status") not in (None, "completed"):
        # an interrupted turn is saved as it is, without a second look
        event = {**event, "hook_event_name": "PreCompact"}
    return hook_events.answer(event, settings, service, session)
