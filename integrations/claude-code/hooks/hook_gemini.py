"""Events of Gemini CLI and of its fork Qwen Code."""

from __future__ import annotations

import re

import hook_events
from hook_service import Service, Settings
from hook_state import Session, add_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Gemini CLI puts what a hook added at the start of the session before the first prompt.
_ADDED = re.compile(r"<hook_context>.*?</hook_context>\s*", re.DOTALL)


def answer(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Return the answer to an event. Raises the errors of `hook_events.answer`."""
    name = event.get("hook_event_name")
    event = {**event, "transcript_path": None}  # of another format
    if name == hook_events.PROMPT:
        event["prompt"] = _ADDED.sub("", str(event.get("prompt") or ""))
        if not event["prompt"] and session.read().get("prompt"):
            return {}  # Qwen Code sends one before each request of a turn
    if name == "PostToolUse":
        response = event.get("tool_response")
        add_results(session, response.get("llmContent") if isinstance(response, dict) else None)
    if name != "Stop":
        return hook_events.answer(event, settings, service, session)
    text = str(event.get("prompt_response") or event.get("last_assistant_message") or "")
    event["last_assistant_message"] = _last_answer(event, text, session)
    answer = hook_events.answer(event, settings, service, session)
    if answer.get("decision"):
        session.update(first_answer=text)
    return answer


def _last_answer(event: dict[str, Any], text: str, session: Session) -> str:
    """Return the last answer of a turn: after a revision, the first is before it in the text."""
    first = event.get("stop_hook_active") and session.read().get("first_answer")
    return text[len(first) :].strip() if first and text.startswith(first) else text
