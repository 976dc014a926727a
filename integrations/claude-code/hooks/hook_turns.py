"""The end of a turn: remember it, check it with a second look, and send its ratings."""

from __future__ import annotations

import re

import hook_output
from hook_background import run_in_background
from hook_service import (
    InvalidSetupError,
    Service,
    ServiceError,
    ServiceUnreachableError,
    Settings,
)
from hook_state import REVISION_REQUEST, Session, now, readable, turn_body

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REVISE = (
    "The second look at your answer failed. Fix the following and write the whole answer again:\n"
)
FAILURES_MAX = 20  # lines of a request to revise an answer
QUOTE_CHARACTERS_MAX = 300  # of a recalled sentence in such a line
UNSURE = "Remembrancer: after a second look this answer may not fully meet the checks."
TURN_ENDED = {"prompt": None, "is_notice": False, "draft": None, "answer": None, "blocked": False}
_REF = re.compile(r"\(ref: ?([^(),\s]{1,256})")
# Cheap test that avoids importing the parser for most answers.
_MAYBE_SERVICE_LINES = re.compile(
    r"(?:L1|L2|CRITICAL|CUBE|CUBE_NOTHING|RATE)\W{0,6}[:\uff1a]|TASK_DONE|PUBLISH|\|[ \t]*READ|"
    r"(?i:memory)\W{0,4}[:\uff1a][ \t]*not"
)


def last_text(event: dict[str, Any], state: dict[str, Any]) -> str:
    """Return the agent's last text in the current turn."""
    text = event.get("last_assistant_message")
    if isinstance(text, str) and text.strip():
        from remembrancer_protocol.pasted import PRIVATE

        return PRIVATE.sub("", text)
    if not state.get("prompt"):
        return ""
    from hook_transcript import answer_to

    return answer_to(event.get("transcript_path"), state["prompt"])


def end_turn(
    event: dict[str, Any], settings: Settings, service: Service, session: Session
) -> dict[str, Any]:
    """Return the answer for the agent at the end of a turn."""
    state = session.read()
    if state.get("is_private"):
        session.send(service)
        return {}
    if not (state.get("prompt") or state.get("is_notice")):
        state = _state_from_transcript(event, session)
    if not (state.get("prompt") or state.get("is_notice")):
        session.send(service)
        return {}
    text = state.get("answer") or last_text(event, state)
    if not str(text).strip():
        return {}
    look = SecondLook(event, settings, state, parse_lines(text, state).answer)
    if not look.is_due:
        key = enqueue_turn(session, text)
        session.update(**TURN_ENDED)
        run_in_background(session.folder, lambda: _send_later(service, session, key))
        return {}
    is_saved, message = remember(service, session, text)
    revision = ""
    if is_saved:
        failures = look.failures(service)
        is_revised = bool(
            state.get("blocked") or event.get("stop_hook_active") or event.get("loop_count")
        )
        if failures and not is_revised:
            revision = REVISE + "\n".join(f"- {failure}" for failure in failures)
        elif failures:
            message = message or UNSURE
    if revision:  # the revised answer will replace this one
        session.update(blocked=True, answer=None, **{REVISION_REQUEST: revision})
    else:
        session.update(**TURN_ENDED)
    return hook_output.turn_end(settings.agent, revision=revision, message=message)


def _state_from_transcript(event: dict[str, Any], session: Session) -> dict[str, Any]:
    """Return the state of a turn that began before the hooks were installed."""
    from hook_transcript import last_turn

    prompt, _ = last_turn(event.get("transcript_path"))
    if prompt:
        session.update(prompt=prompt, at=now())
    return session.read() if prompt and not event.get("stop_hook_active") else {}


def remember(service: Service, session: Session, text: str) -> tuple[bool, str]:
    """Remember the turn of the current prompt with this answer.

    Returns whether it was saved, and a message for the user.
    """
    key = enqueue_turn(session, text)
    result = session.send(service).get(key)
    if isinstance(result, dict):
        session.update(draft=result.get("event_id"))
    return isinstance(result, dict), _message_about(result, service)


def enqueue_turn(session: Session, text: str) -> str:
    """Queue the turn of the current prompt with this answer, and its ratings; return its key."""
    state = session.read()
    lines = parse_lines(text, state)
    plain_body = turn_body(session, state, lines.answer)
    body = {**plain_body, **_line_fields(lines, state)}
    if state.get("draft"):
        body["replaces"] = state["draft"]
    key = session.enqueue("/api/v7/remember", body, plain_body)
    _enqueue_ratings(session, state, lines)
    return key


def _send_later(service: Service, session: Session, key: str) -> None:
    """Send what is queued; the next hook tells the user what went wrong."""
    service.wait_in_background()
    result = session.send(service).get(key)
    if message := _message_about(result, service):
        session.update(message=message)


def _message_about(result: dict[str, Any] | ServiceError | None, service: Service) -> str:
    """Return a message for the user about a turn that was not saved as it is; empty for none.

    An unreachable service was already reported at the start of the session.
    """
    if isinstance(result, ServiceError):
        return f"Remembrancer did not store this turn: {result}"
    if result is None and service.last_transient_error:
        return f"Remembrancer queued this turn on disk: {service.last_transient_error}"
    refused = result.get("refused") if result else None
    if refused is None or refused.status in (404, 409):  # a draft to replace that is gone
        return ""
    return f"Remembrancer stored this turn without its fact, cube or summary: {refused}"


class PlainAnswer:
    """An answer without service lines."""

    def __init__(self, text: str) -> None:
        self.answer = text
        self.critical = self.cube = self.cube_nothing = self.l1 = self.l2 = None
        self.critical_replaces = None
        self.task_done = self.publish = False
        self.rates: tuple[Any, ...] = ()


def parse_lines(text: str, state: dict[str, Any]) -> Any:
    """Parse an answer with the service's own parser, a copy of which is next to this file."""
    if not _MAYBE_SERVICE_LINES.search(text):
        return PlainAnswer(text.strip())
    from remembrancer_protocol.lines import parse

    lines = parse(text, step=state.get("step"))
    return lines if lines.answer else PlainAnswer(text.strip())


def _line_fields(lines: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `remember` request that the service lines set.

    A fact replaces only one that the turn was shown: the service would refuse another one, and the
    turn with it.
    """
    shown = state.get("facts") or ()
    is_shown = bool(lines.critical) and lines.critical_replaces in shown
    fields: dict[str, Any] = {
        "critical": lines.critical,
        "critical_replaces": lines.critical_replaces if is_shown else None,
        "l1_summary": lines.l1,
        "l2_map": lines.l2,
    }
    if lines.cube:
        cube = lines.cube
        fields |= {
            "cube_topic": cube.topic,
            "cube_essence": cube.essence,
            "cube_rules": cube.rule,
            "cube_type": cube.kind,
            "cube_publish": lines.publish or None,
        }
    elif lines.cube_nothing:
        fields |= {"duty": "cube_nothing", "duty_reason": lines.cube_nothing[:2000]}
    fields["task_done"] = lines.task_done or None
    return {name: value for name, value in fields.items() if value is not None}


def _enqueue_ratings(session: Session, state: dict[str, Any], lines: Any) -> None:
    """Queue the votes of an answer, and close the duty of new cubes that it did not rate."""
    rated = {rate.cube_id for rate in lines.rates if rate.vote}
    for rate in lines.rates:
        if rate.vote and state.get("user_id"):
            vote = {
                "cube_id": rate.cube_id,
                "user_id": state["user_id"],
                "vote": rate.vote,
                "reason": rate.reason[:1000] or "no reason was given",
            }
            session.enqueue("/api/v7/experience/vote", vote)
    unrated = [cube_id for cube_id in state.get("cubes") or () if cube_id not in rated]
    if unrated:
        duty = {
            "session_id": session.id,
            "duty": "vote_nothing",
            "duty_reason": f"the agent did not rate {', '.join(unrated)}"[:2000],
        }
        if state.get("user_id"):
            duty["user_id"] = state["user_id"]
        session.enqueue("/api/v7/remember", duty)
    session.update(cubes=[])


def _memory_claims(event: dict[str, Any], state: dict[str, Any], draft: str) -> Any:
    """Return the claims of a draft that come from memory; None if the turn did not use memory."""
    from hook_transcript import tool_results

    recalled, results = state.get("recalled"), state.get("results")
    memory = recalled if isinstance(recalled, list) else []
    own = [*tool_results(event.get("transcript_path")), *(results or ())]
    if not (memory or _REF.search(draft) or any("<<memory-data" in result for result in own)):
        return None  # most turns: the module below takes 20 ms to import

    from remembrancer_protocol.memory_claims import MemoryClaims, turn_texts

    return MemoryClaims(draft, turn_texts(memory, str(state.get("prompt") or ""), own))


class SecondLook:
    """A check of an answer at the end of its turn.

    By default what contradicts memory is to be corrected; with the setting `always`, what fails any
    check. A revised answer is always checked, so that the last check of its turn is not that of the
    draft.
    """

    def __init__(
        self, event: dict[str, Any], settings: Settings, state: dict[str, Any], answer: str
    ) -> None:
        from remembrancer_protocol.pasted import without_secrets

        self._answer, self._span = answer, state.get("span") or 0
        self._checks_all = self.is_due = settings.second_look == "always"
        self._draft = without_secrets(readable(answer))
        self._claims: Any = None
        self._contradicted: list[str] = []
        self._asks = self._checks_all
        if settings.second_look != "recalled":
            return
        self._claims = _memory_claims(event, state, self._draft)
        self._contradicted = _contradicted(event, self._claims) if self._claims else []
        self._asks = bool(state.get("blocked") or (self._claims and self._claims.cites))
        self.is_due = bool(self._asks or self._contradicted)

    def failures(self, service: Service) -> list[str]:
        """Return what must be fixed, a line each; without the service, what the hook knows."""
        if not self._asks:
            return self._contradicted
        citation = _REF.search(self._answer)
        look = {
            "draft": self._draft,
            "event_id": citation[1] if citation else "",
            "span": self._span,
        }
        try:
            result = service.post("/api/v7/agent/second-look", look)
        except (InvalidSetupError, ServiceUnreachableError, ServiceError):
            return self._contradicted
        failed = [
            check
            for check in result["checks"]
            if check["status"] != "pass"
            and (
                self._checks_all
                or (self._claims and self._claims.contradicts(check["check"], check.get("end")))
            )
        ]
        return [*self._contradicted, *_listed(failed)][:FAILURES_MAX]


def _contradicted(event: dict[str, Any], claims: Any) -> list[str]:
    """Return a line for each value that contradicts memory and is new to this session."""
    if not claims.contradictions:
        return []
    from hook_transcript import session_texts

    return [
        f"`{one.value.text}` contradicts memory, which says: {one.memory[:QUOTE_CHARACTERS_MAX]} "
        "Correct it, or say that it has changed since."
        for one in claims.contradictions_new_to(session_texts(event.get("transcript_path")))
    ]


def _listed(checks: list[dict[str, Any]]) -> list[str]:
    """Return a line for each way to fail, with its claims; each claim is in one line only."""
    claims: dict[str, list[str]] = {}
    named_claims: set[str] = set()
    for check in checks:
        claim = check.get("claim") or ""
        if claim and claim in named_claims:
            continue
        named_claims.add(claim)
        claims.setdefault(f"{check['check']}: {check['detail']}", []).append(claim)
    lines = []
    for problem, values in claims.items():
        named = ", ".join(value for value in values if value)
        lines.append(f"{problem} ({named})" if named else problem)
    return lines
