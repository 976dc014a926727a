"""Gemini CLI's events, translated to those of the other agents.

Source: docs/hooks/reference.md of github.com/google-gemini/gemini-cli.
"""

from __future__ import annotations

import hook_events
from hook_service import Service, Settings
from hook_state import Session, add_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVENT_NAMES = {
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "PreCompress": "PreCompact",
}
TOOL_NAMES = {
    "write_file": "Write",
    "replace": "Edit",
    "read_file": "Read",
    "run_shell_command": "Bash",
}


def translated(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event with the names of the other agents."""
    name, tool = str(event.get("hook_event_name")), str(event.get("tool_name"))
    changed = {
        **event,
        "hook_event_name": EVENT_NAMES.get(name, name),
        "transcript_path": None,  # of another format
        "last_assistant_message": event.get("prompt_response"),
    }
    return {**changed, "tool_name": TOOL_NAMES.get(tool, tool)} if "tool_name" in event else changed


def answer(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Return the answer to a translated event. Raises the errors of `hook_events.answer`."""
    name = event.get("hook_event_name")
    if name == "PostToolUse":
        response = event.get("tool_response")
        add_results(session, response.get("llmContent") if isinstance(response, dict) else None)
    if name != "Stop":
        return hook_events.answer(event, settings, service, session)
    both = str(event.get("last_assistant_message") or "")
    event = {**event, "last_assistant_message": _last_answer(event, both, session)}
    answer = hook_events.answer(event, settings, service, session)
    if answer.get("decision"):
        session.update(first_answer=both)
    return answer


def _last_answer(event: dict[str, Any], text: str, session: Session) -> str:
    """Return the last answer of a turn: after a revision, the first is before it in the text."""
    first = event.get("stop_hook_active") and session.read().get("first_answer")
    return text[len(first) :].strip() if first and text.startswith(first) else text
