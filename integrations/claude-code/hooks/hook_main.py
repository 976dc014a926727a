"""Read one event, answer it, and handle every failure."""

from __future__ import annotations

import json
import os
import sys

from hook_calls import InvalidSetup, Service, Setup
from hook_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENTS = ("claude-code", "codex", "cursor")
EVENT_BYTES_MAX = 64 << 20  # size of one event


def main(arguments: list[str]) -> None:
    """Answer the event on stdin.

    The exit status is always 0: the response tells the agent how to proceed.
    """
    agent = arguments[0] if arguments else AGENTS[0]
    if agent not in AGENTS:
        sys.exit(f"remembrancer: the agent must be one of {', '.join(AGENTS)}, not {agent!r}")
    event = sys.stdin.buffer.read(EVENT_BYTES_MAX + 1)
    response = respond(event, agent, dict(os.environ), arguments[1] if len(arguments) > 1 else None)
    if response:
        sys.stdout.write(json.dumps(response))


def respond(content: bytes, agent: str, environment: dict[str, str], url: str | None = None) -> dict[str, Any]:
    """Return the response to the agent, which is empty if there is nothing to say.

    Failures do not block the agent, except that a permission check without a result is a denial.
    """
    event: dict[str, Any] = {}
    try:
        event = _parse(content)
        setup = Setup(environment, agent, url)
        session = Session(setup.state, agent, _text(event, "session_id") or _text(event, "conversation_id") or "default")
        if agent == "cursor":
            import hook_cursor

            return hook_cursor.respond(event, setup, Service(setup), session)
        import hook_events

        return hook_events.respond(event, setup, Service(setup), session)
    except Exception as error:  # noqa: BLE001 - an agent must go on after any failure
        return _failure(event, agent, error, environment)


def _parse(content: bytes) -> dict[str, Any]:
    if len(content) > EVENT_BYTES_MAX:
        raise InvalidSetup(f"the event has more than {EVENT_BYTES_MAX} bytes")
    event = json.loads(content.decode("utf-8", "replace"))
    if not isinstance(event, dict):
        raise InvalidSetup("the event must be a JSON object")
    return event


def _failure(event: dict[str, Any], agent: str, error: Exception, environment: dict[str, str]) -> dict[str, Any]:
    message = str(error) if isinstance(error, InvalidSetup | OSError) else f"internal error: {type(error).__name__}"
    is_closed = environment.get("REMEMBRANCER_HOOK_PERMISSIONS") not in ("open", "off")
    if is_closed and event.get("hook_event_name") in ("PreToolUse", "preToolUse"):
        from hook_answers import denied

        return denied(agent, f"Remembrancer could not check whether this call touches system files ({message}), so it is denied.")
    sys.stderr.write(f"remembrancer: {message}\n")
    return {}


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
