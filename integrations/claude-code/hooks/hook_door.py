"""The door: one event in, one answer out, whatever goes wrong between."""

from __future__ import annotations

import json
import os
import sys

from hook_calls import Service, SetUp, Unfit
from hook_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENTS = ("claude-code", "codex", "cursor")
EVENT_BYTES_MAX = 64 << 20  # of what an agent may say about one event


def main(words: list[str]) -> None:
    """Answer one event. The exit status is 0: what an agent is to do stands in the answer."""
    agent = words[0] if words else AGENTS[0]
    if agent not in AGENTS:
        sys.exit(f"remembrancer: the agent is one of {', '.join(AGENTS)}, not {agent!r}")
    answer = answered(sys.stdin.buffer.read(EVENT_BYTES_MAX + 1), agent, dict(os.environ), words[1] if len(words) > 1 else None)
    if answer:
        sys.stdout.write(json.dumps(answer))


def answered(said: bytes, agent: str, environment: dict[str, str], url: str | None = None) -> dict[str, Any]:
    """What to tell the agent; empty: nothing. What fails holds nothing up, but a permission that could not be looked up is none."""
    event: dict[str, Any] = {}
    try:
        event = _read(said)
        set_up = SetUp(environment, agent, url)
        session = Session(set_up.state, agent, _text(event, "session_id") or _text(event, "conversation_id") or "default")
        if agent == "cursor":
            import hook_cursor

            return hook_cursor.answer(event, set_up, Service(set_up), session)
        import hook_events

        return hook_events.answer(event, set_up, Service(set_up), session)
    except Exception as error:  # noqa: BLE001 - the outer wall: an agent must go on, whatever is wrong here
        return _failed(event, agent, error, environment)


def _read(said: bytes) -> dict[str, Any]:
    if len(said) > EVENT_BYTES_MAX:
        raise Unfit(f"an event of more than {EVENT_BYTES_MAX} bytes")
    event = json.loads(said.decode("utf-8", "replace"))
    if not isinstance(event, dict):
        raise Unfit("an event is a JSON object")
    return event


def _failed(event: dict[str, Any], agent: str, error: Exception, environment: dict[str, str]) -> dict[str, Any]:
    told = str(error) if isinstance(error, Unfit | OSError) else f"internal error: {type(error).__name__}"
    is_judged = environment.get("REMEMBRANCER_HOOK_PERMISSIONS") not in ("open", "off")
    if is_judged and event.get("hook_event_name") in ("PreToolUse", "preToolUse"):
        from hook_answers import denied

        return denied(agent, f"Remembrancer could not judge whether this touches system files ({told}), so it is not done.")
    sys.stderr.write(f"remembrancer: {told}\n")
    return {}


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
