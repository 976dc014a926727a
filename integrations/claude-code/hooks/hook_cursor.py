"""Cursor's events in the words of the others. Its hooks can give context only when a session starts, so the agent itself calls `recall`."""

from __future__ import annotations

import hook_events as events
from hook_calls import Service, SetUp
from hook_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SAME = {
    "sessionStart": "SessionStart",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "stop": "Stop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}


def answer(event: dict[str, Any], set_up: SetUp, service: Service, session: Session) -> dict[str, Any]:
    """What to tell Cursor. Raises as the other."""
    name = str(event.get("hook_event_name"))
    if name == "beforeSubmitPrompt":
        events.note_prompt(event, session)
        return {"continue": True}
    if name == "afterAgentResponse":
        if isinstance(event.get("text"), str) and event["text"].strip():
            session.keep(answer=event["text"])
        return {}
    roots = event.get("workspace_roots")
    if not event.get("cwd") and isinstance(roots, list) and roots:
        event = {**event, "cwd": roots[0]}
    if name == "stop" and event.get("status") not in (None, "completed"):
        name = "preCompact"  # stopped half way: what there is is saved, nobody is asked to mend it
    return events.answer({**event, "hook_event_name": SAME.get(name, name)}, set_up, service, session)
