"""The end of a turn: it is remembered, looked at a second time, and its ratings are sent."""

from __future__ import annotations

import re

import hook_answers as answers
from hook_calls import Refused, Service, SetUp, Unfit, Unreached
from hook_events import ASKED, now, readable, turn
from hook_state import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MEND = "The second look at your answer failed. Mend this and give the whole answer again:\n"
UNSURE = "Remembrancer: after a second look this answer may not fully meet the checks."
_REF = re.compile(r"\(ref: ?([^(),\s]{1,256})")
_MAY_BE_LINES = re.compile(
    r"(?:L1|L2|CRITICAL|CUBE|CUBE_NOTHING|RATE)\W{0,6}[:\uff1a]|TASK_DONE|PUBLISH|\|[ \t]*READ|(?i:memory)\W{0,4}[:\uff1a][ \t]*not"
)


def said_last(event: dict[str, Any], kept: dict[str, Any]) -> str:
    """The agent's last text in this turn."""
    said = event.get("last_assistant_message")
    if isinstance(said, str) and said.strip():
        return said
    from hook_transcript import answer_to

    return answer_to(event.get("transcript_path"), kept["prompt"])


def ended(event: dict[str, Any], set_up: SetUp, service: Service, session: Session) -> dict[str, Any]:
    """What to tell the agent at the end of a turn."""
    kept = session.read()
    if not kept.get("prompt"):
        kept = _from_transcript(event, session)
    if not kept.get("prompt"):
        session.send(service)
        return {}
    text = kept.get("answer") or said_last(event, kept)
    if not str(text).strip():
        return {}
    saved, lines, message = remember(set_up, service, session, text)
    mend = ""
    if saved and _is_looked_at(set_up, kept, lines.answer):
        failed = _second_look(service, lines.answer, kept)
        if failed and not (kept.get("blocked") or event.get("stop_hook_active") or event.get("loop_count")):
            mend = MEND + "\n".join(f"- {one}" for one in failed)
        elif failed:
            message = message or UNSURE
    if mend:  # the mended answer takes this one's place
        session.keep(blocked=True, answer=None, **{ASKED: mend})
    else:
        session.keep(prompt=None, draft=None, answer=None, blocked=False)
    return answers.stopped(set_up.agent, mend=mend, message=message)


def _from_transcript(event: dict[str, Any], session: Session) -> dict[str, Any]:
    """The turn of a session that began before the hooks did."""
    from hook_transcript import last_turn

    prompt, _ = last_turn(event.get("transcript_path"))
    if prompt:
        session.keep(prompt=prompt, at=now())
    return session.read() if prompt and not event.get("stop_hook_active") else {}


def remember(set_up: SetUp, service: Service, session: Session, text: str) -> tuple[bool, Any, str]:
    """Remember the turn of the kept prompt with this answer: whether it was saved, its service lines, what to tell the person."""
    kept = session.read()
    lines = read_lines(text, kept)
    body = {**turn(session, kept, lines.answer), **_learned(lines)}
    if kept.get("draft"):
        body["replaces"] = kept["draft"]
    came, message = _sent(service, session, body, turn(session, kept, lines.answer))
    if isinstance(came, dict):
        from remembrancer_protocol.seal import render

        session.keep(draft=came.get("event_id"), seal=render(came["step"], set_up.seal_name))
    _rate(session, kept, lines)
    session.send(service)
    return isinstance(came, dict), lines, message


def _sent(service: Service, session: Session, body: dict[str, Any], bare: dict[str, Any]) -> tuple[dict[str, Any] | Refused | None, str]:
    """What came of a turn, put into the queue first so that nothing loses it. What is refused as it is goes without what was learned."""
    once = session.send_later("/api/v7/remember", body)
    came = session.send(service).get(once)
    if not isinstance(came, Refused) or body == bare:
        return came, _outcome(came, service)
    said = (
        ""
        if came.status in (404, 409) and set(body) - set(bare) == {"replaces"}
        else f"Remembrancer kept this turn without what was learned: {came}"
    )
    once = session.send_later("/api/v7/remember", bare)
    came = session.send(service).get(once)
    return came, _outcome(came, service) or said


def _outcome(came: dict[str, Any] | Refused | None, service: Service) -> str:
    """What to tell the person of a turn that was not saved. That the service is away was told when the session began."""
    if isinstance(came, Refused):
        return f"Remembrancer did not keep this turn: {came}"
    return f"Remembrancer keeps this turn on disk for now: {service.refusal}" if came is None and service.refusal else ""


class Plain:
    """An answer without service lines."""

    def __init__(self, text: str) -> None:
        self.answer = text
        self.critical = self.cube = self.cube_nothing = self.l1 = self.l2 = None
        self.task_done = self.publish = False
        self.rates: tuple[Any, ...] = ()


def read_lines(text: str, kept: dict[str, Any]) -> Any:
    """An answer taken apart by the rules of the service itself, a copy of which lies beside this file."""
    if not _MAY_BE_LINES.search(text):
        return Plain(text.strip())
    from remembrancer_protocol.lines import parse

    lines = parse(text, step=kept.get("step"))
    return lines if lines.answer else Plain(text.strip())


def _learned(lines: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"critical": lines.critical, "l1_summary": lines.l1, "l2_map": lines.l2}
    if lines.cube:
        cube = lines.cube
        said |= {"cube_topic": cube.topic, "cube_essence": cube.essence, "cube_rules": cube.rule, "cube_type": cube.kind}
        said["cube_publish"] = lines.publish or None
    elif lines.cube_nothing:
        said |= {"duty": "cube_nothing", "duty_reason": lines.cube_nothing[:2000]}
    said["task_done"] = lines.task_done or None
    return {name: value for name, value in said.items() if value is not None}


def _rate(session: Session, kept: dict[str, Any], lines: Any) -> None:
    """Votes for what the answer rates; what it leaves unrated is closed as such, so that it does not come up at each turn."""
    rated = {rate.cube_id for rate in lines.rates if rate.vote}
    for rate in lines.rates:
        if rate.vote and kept.get("user_id"):
            vote = {
                "cube_id": rate.cube_id,
                "user_id": kept["user_id"],
                "vote": rate.vote,
                "reason": rate.reason[:1000] or "no reason was said",
            }
            session.send_later("/api/v7/experience/vote", vote)
    left = [cube for cube in kept.get("cubes") or () if cube not in rated]
    if left:
        reason = f"the agent did not rate {', '.join(left)}"[:2000]
        session.send_later("/api/v7/remember", {"session_id": session.id, "duty": "vote_nothing", "duty_reason": reason, **_whose(kept)})
    session.keep(cubes=[])


def _whose(kept: dict[str, Any]) -> dict[str, Any]:
    return {"user_id": kept["user_id"]} if kept.get("user_id") else {}


def _is_looked_at(set_up: SetUp, kept: dict[str, Any], draft: str) -> bool:
    if set_up.second_look == "recalled":
        return bool(kept.get("recalled") or _REF.search(draft))
    return set_up.second_look == "always"


def _second_look(service: Service, draft: str, kept: dict[str, Any]) -> list[str]:
    """What is to be mended; nothing where the look passes, or cannot be had."""
    from remembrancer_protocol.pasted import without_keys

    cited = _REF.search(draft)
    look = {"draft": without_keys(readable(draft)), "event_id": cited[1] if cited else "", "span": kept.get("span") or 0}
    try:
        looked = service.post("/api/v7/agent/second-look", look)
    except (Unfit, Unreached, Refused):
        return []
    failed = [check for check in looked["checks"] if check["status"] != "pass"]
    said = [f"{check['check']}: {check['detail']}{' (' + check['claim'] + ')' if check.get('claim') else ''}" for check in failed]
    return list(dict.fromkeys(said))[:20] if looked["status"] != "pass" else []
