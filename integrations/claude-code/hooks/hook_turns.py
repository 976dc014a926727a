"""The end of a turn: remember it, run second look and send ratings."""

from __future__ import annotations

import re

import hook_answers as answers
from hook_calls import InvalidSetup, Refused, Service, Setup, Unreachable
from hook_events import OWN_PROMPT, now, readable, turn
from hook_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CORRECTIONS = "Second look failed. Correct the following and write the whole answer again:\n"
UNSURE = "Remembrancer: this answer may not fully meet the checks of second look."
_REF = re.compile(r"\(ref: ?([^(),\s]{1,256})")
_MAY_BE_LINES = re.compile(
    r"(?:L1|L2|CRITICAL|CUBE|CUBE_NOTHING|RATE)\W{0,6}[:\uff1a]|TASK_DONE|PUBLISH|\|[ \t]*READ|(?i:memory)\W{0,4}[:\uff1a][ \t]*not"
)


def last_answer(event: dict[str, Any], state: dict[str, Any]) -> str:
    """Return the agent's last text in this turn."""
    answer = event.get("last_assistant_message")
    if isinstance(answer, str) and answer.strip():
        return answer
    from hook_transcript import answer_to

    return answer_to(event.get("transcript_path"), state["prompt"])


def end_turn(event: dict[str, Any], setup: Setup, service: Service, session: Session) -> dict[str, Any]:
    """Remember the turn, run second look, and return the response to the agent."""
    state = session.read()
    if not state.get("prompt"):
        state = _from_transcript(event, session)
    if not state.get("prompt"):
        session.send(service)
        return {}
    text = state.get("answer") or last_answer(event, state)
    if not str(text).strip():
        return {}
    is_saved, lines, message = remember(setup, service, session, text)
    corrections = ""
    if is_saved and _needs_second_look(setup, state, lines.answer):
        failures = _second_look(service, lines.answer, state)
        if failures and not (state.get("blocked") or event.get("stop_hook_active") or event.get("loop_count")):
            corrections = CORRECTIONS + "\n".join(f"- {failure}" for failure in failures)
        elif failures:
            message = message or UNSURE
    if corrections:  # the corrected answer replaces this one
        session.update(blocked=True, answer=None, **{OWN_PROMPT: corrections})
    else:
        session.update(prompt=None, draft=None, answer=None, blocked=False)
    return answers.stopped(setup.agent, corrections=corrections, message=message)


def _from_transcript(event: dict[str, Any], session: Session) -> dict[str, Any]:
    """Return the state for a turn that began before the hooks were installed."""
    from hook_transcript import last_turn

    prompt, _ = last_turn(event.get("transcript_path"))
    if prompt:
        session.update(prompt=prompt, at=now())
    return session.read() if prompt and not event.get("stop_hook_active") else {}


def remember(setup: Setup, service: Service, session: Session, text: str) -> tuple[bool, Any, str]:
    """Remember the turn of the stored prompt with this answer.

    Return True if it was stored, the service lines of the answer, and a message for the user.
    """
    state = session.read()
    lines = read_lines(text, state)
    body = {**turn(session, state, lines.answer), **_extras(lines)}
    if state.get("draft"):
        body["replaces"] = state["draft"]
    result, message = _send(service, session, body, turn(session, state, lines.answer))
    if isinstance(result, dict):
        from remembrancer_protocol.seal import render

        session.update(draft=result.get("event_id"), seal=render(result["step"], setup.seal_name))
    _rate(session, state, lines)
    session.send(service)
    return isinstance(result, dict), lines, message


def _send(service: Service, session: Session, body: dict[str, Any], bare: dict[str, Any]) -> tuple[dict[str, Any] | Refused | None, str]:
    """Queue and send a turn; if it is rejected, send it again without its fact, cube and summary.

    Return the response and a message for the user.
    """
    key = session.enqueue("/api/v7/remember", body)
    result = session.send(service).get(key)
    if not isinstance(result, Refused) or body == bare:
        return result, _message(result, service)
    message = (
        ""
        if result.status in (404, 409) and set(body) - set(bare) == {"replaces"}
        else f"Remembrancer stored this turn without its fact, cube or summary: {result}"
    )
    key = session.enqueue("/api/v7/remember", bare)
    result = session.send(service).get(key)
    return result, _message(result, service) or message


def _message(result: dict[str, Any] | Refused | None, service: Service) -> str:
    """Return the message for a turn that was not stored.

    An unreachable service was reported at the start of the session.
    """
    if isinstance(result, Refused):
        return f"Remembrancer did not store this turn: {result}"
    return f"Remembrancer queued this turn on disk: {service.refusal}" if result is None and service.refusal else ""


class Plain:
    """An answer without service lines."""

    def __init__(self, text: str) -> None:
        self.answer = text
        self.critical = self.cube = self.cube_nothing = self.l1 = self.l2 = None
        self.task_done = self.publish = False
        self.rates: tuple[Any, ...] = ()


def read_lines(text: str, state: dict[str, Any]) -> Any:
    """Parse the service lines of an answer with a copy of the service's own parser."""
    if not _MAY_BE_LINES.search(text):
        return Plain(text.strip())
    from remembrancer_protocol.lines import parse

    lines = parse(text, step=state.get("step"))
    return lines if lines.answer else Plain(text.strip())


def _extras(lines: Any) -> dict[str, Any]:
    extras: dict[str, Any] = {"critical": lines.critical, "l1_summary": lines.l1, "l2_map": lines.l2}
    if lines.cube:
        cube = lines.cube
        extras |= {"cube_topic": cube.topic, "cube_essence": cube.essence, "cube_rules": cube.rule, "cube_type": cube.kind}
        extras["cube_publish"] = lines.publish or None
    elif lines.cube_nothing:
        extras |= {"duty": "cube_nothing", "duty_reason": lines.cube_nothing[:2000]}
    extras["task_done"] = lines.task_done or None
    return {name: value for name, value in extras.items() if value is not None}


def _rate(session: Session, state: dict[str, Any], lines: Any) -> None:
    """Send the votes of the answer, and close the rating duty for unrated cubes."""
    cube_ids = {rate.cube_id for rate in lines.rates if rate.vote}
    for rate in lines.rates:
        if rate.vote and state.get("user_id"):
            vote = {
                "cube_id": rate.cube_id,
                "user_id": state["user_id"],
                "vote": rate.vote,
                "reason": rate.reason[:1000] or "no reason given",
            }
            session.enqueue("/api/v7/experience/vote", vote)
    unrated = [cube for cube in state.get("cubes") or () if cube not in cube_ids]
    if unrated:
        reason = f"the agent did not rate {', '.join(unrated)}"[:2000]
        session.enqueue("/api/v7/remember", {"session_id": session.id, "duty": "vote_nothing", "duty_reason": reason, **_user(state)})
    session.update(cubes=[])


def _user(state: dict[str, Any]) -> dict[str, Any]:
    return {"user_id": state["user_id"]} if state.get("user_id") else {}


def _needs_second_look(setup: Setup, state: dict[str, Any], draft: str) -> bool:
    if setup.second_look == "recalled":
        return bool(state.get("recalled") or _REF.search(draft))
    return setup.second_look == "always"


def _second_look(service: Service, draft: str, state: dict[str, Any]) -> list[str]:
    """Return the failed checks, empty if second look passes or is unavailable."""
    from remembrancer_protocol.pasted import without_keys

    ref = _REF.search(draft)
    request = {"draft": without_keys(readable(draft)), "event_id": ref[1] if ref else "", "span": state.get("span") or 0}
    try:
        result = service.post("/api/v7/agent/second-look", request)
    except (InvalidSetup, Unreachable, Refused):
        return []
    failures = [check for check in result["checks"] if check["status"] != "pass"]
    messages = [f"{check['check']}: {check['detail']}{' (' + check['claim'] + ')' if check.get('claim') else ''}" for check in failures]
    return list(dict.fromkeys(messages))[:20] if result["status"] != "pass" else []
