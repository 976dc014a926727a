"""Cursor's events, translated to those of the other agents.

Cursor accepts context only when a session starts, so the agent itself calls `recall`.
"""

from __future__ import annotations

import hook_events
from hook_service import Service, Settings
from hook_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESULT_CHARACTERS_MAX = 100_000  # of tool results stored for one turn
EVENT_NAMES = {
    "sessionStart": "SessionStart",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "stop": "Stop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}


def answer(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Return the answer for Cursor. Raises the errors of `hook_events.answer`."""
    name = str(event.get("hook_event_name"))
    if name == "beforeSubmitPrompt":
        hook_events.save_prompt(event, settings, session)
        return {"continue": True}
    if name == "afterAgentResponse":
        if isinstance(event.get("text"), str) and event["text"].strip():
            session.update(answer=event["text"])
        return {}
    if name == "postToolUse":
        _save_result(event, session)
    roots = event.get("workspace_roots")
    if not event.get("cwd") and isinstance(roots, list) and roots:
        event = {**event, "cwd": roots[0]}
    if name == "stop" and event.get("status") not in (None, "completed"):
        name = "preCompact"  # an interrupted turn is saved as it is, without a second look
    event = {**event, "hook_event_name": EVENT_NAMES.get(name, name)}
    return hook_events.answer(event, settings, service, session)


def _save_result(event: dict[str, Any], session: Session) -> None:
    """Store a tool result until the turn ends: Cursor has no transcript to read it from."""
    from hook_transcript import result_texts

    texts = list(result_texts(event.get("tool_output")))

    def store(state: dict[str, Any]) -> None:
        left = RESULT_CHARACTERS_MAX
        fitting = []
        for text in [*texts, *state.get("results", ())]:
            left -= len(text)
            if left < 0:
                break
            fitting.append(text)
        state["results"] = fitting

    session.change(store)
