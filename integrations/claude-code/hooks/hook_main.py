"""Dispatcher of the hook program: one event in, one answer out, whatever fails in between."""

from __future__ import annotations

import json
import os
import sys

from hook_agents import AGENTS, translated
from hook_service import InvalidSetupError, Service, Settings
from hook_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVENT_BYTES_MAX = 64 << 20


def main(arguments: list[str]) -> None:
    """Answer one event. The exit status is 0; the answer tells the agent what to do."""
    agent = arguments[0] if arguments else "claude-code"
    if agent not in AGENTS:
        sys.exit(f"remembrancer: the agent must be one of {', '.join(AGENTS)}, not {agent!r}")
    # Written by `remembrancer install`: the address, and what the gate asks about.
    environment = dict(os.environ)
    for option in arguments:
        if option.startswith("--gate="):
            environment.setdefault("REMEMBRANCER_HOOK_GATE", option.partition("=")[2])
    url = next((one for one in arguments[1:] if not one.startswith("--")), None)
    event = sys.stdin.buffer.read(EVENT_BYTES_MAX + 1)
    answer = answer_event(event, agent, environment, url)
    if answer:
        sys.stdout.write(json.dumps(answer))


def answer_event(
    raw_event: bytes, agent: str, environment: dict[str, str], url: str | None = None
) -> dict[str, Any]:
    """Return the answer for the agent; empty for none.

    A failure never blocks the agent, with one exception: a tool call is denied if its permission
    could not be checked.
    """
    event: dict[str, Any] = {}
    try:
        event = translated(_parse(raw_event), agent)
        settings = Settings(environment, agent, url)
        session_id = _string(event, "session_id") or _string(event, "conversation_id") or "default"
        session = Session(settings.state_folder, agent, session_id)
        service = Service(settings)
        if off := _off_file(event, settings):
            settings.is_off = True
            if _is_memory(event):
                return _answer_off(event, agent, session, off)
        hooks = __import__(AGENTS[agent]["module"])  # only now, because an agent waits
        answer: dict[str, Any] = hooks.answer(event, settings, service, session)
        return answer if agent == "cursor" else _with_message(answer, event, service, session)
    except Exception as error:  # noqa: BLE001 - the agent must continue, whatever is wrong here
        return _answer_failure(event, agent, error, environment)


def _off_file(event: dict[str, Any], settings: Settings) -> str:
    """Return the file that switches memory off, empty if none does."""
    from hook_project import off_file

    if os.path.exists(settings.pause_file):
        return settings.pause_file
    roots = event.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else ""
    return off_file(_string(event, "cwd"), settings.project or str(root))


def _is_memory(event: dict[str, Any]) -> bool:
    """Return False for tool calls: permissions are checked and logged also without memory."""
    return not _string(event, "hook_event_name").endswith("ToolUse")


def _answer_off(event: dict[str, Any], agent: str, session: Session, off: str) -> dict[str, Any]:
    """Return the answer to an event while memory is off; what the turn has is forgotten."""
    name = _string(event, "hook_event_name")
    if name == "UserPromptSubmit":
        session.update(prompt=None, is_private=True, is_notice=False, answer=None, draft=None)
    if agent == "cursor":
        return {"continue": True} if name == "UserPromptSubmit" else {}
    return {"systemMessage": f"Remembrancer is off: {off}"} if name == "SessionStart" else {}


def _with_message(
    answer: dict[str, Any], event: dict[str, Any], service: Service, session: Session
) -> dict[str, Any]:
    """Return an answer with one line for the user, if there is something to tell."""
    message = ""
    if service.has_timed_out:
        message = (
            f"Remembrancer: {service.settings.url} did not answer in time. For a minute there is "
            "no memory; turns are queued on disk."
        )
    elif event.get("hook_event_name") == "UserPromptSubmit" and session.read().get("message"):
        message = session.change(lambda state: state.pop("message", ""))
    return {"systemMessage": message, **answer} if message else answer


def _parse(raw_event: bytes) -> dict[str, Any]:
    if len(raw_event) > EVENT_BYTES_MAX:
        raise InvalidSetupError(f"the event exceeds {EVENT_BYTES_MAX} bytes")
    event = json.loads(raw_event.decode("utf-8", "replace"))
    if not isinstance(event, dict):
        raise InvalidSetupError("the event must be a JSON object")
    return event


def _answer_failure(
    event: dict[str, Any], agent: str, error: Exception, environment: dict[str, str]
) -> dict[str, Any]:
    is_expected = isinstance(error, InvalidSetupError | OSError)
    reason = str(error) if is_expected else f"internal error: {type(error).__name__}"
    is_open = environment.get("REMEMBRANCER_HOOK_PERMISSIONS") == "open"
    is_open = is_open or environment.get("REMEMBRANCER_HOOK_GATE") == "off"
    if not is_open and event.get("hook_event_name") == "PreToolUse":
        from hook_output import denial

        return denial(
            agent,
            f"Remembrancer could not check whether this accesses system files ({reason}), so the "
            "call is denied.",
        )
    sys.stderr.write(f"remembrancer: {reason}\n")
    return {}


def _string(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
