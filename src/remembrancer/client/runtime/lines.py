"""Conversion of a draft's service lines into a `remember` request.

Each part is sent once per turn and cut to the limits of the service. Everything cut or omitted is
reported.
"""

from __future__ import annotations

from typing import Any

from ...protocol import limits
from ...protocol.line import CubeText
from ...protocol.lines import Lines
from ...protocol.memory import Turn
from ...protocol.recalled import imitated_line
from .state import TurnState

NO_ANSWER = "I have no answer to this."
NO_REASON = "the agent did not say"


def remember_body(turn: TurnState, lines: Lines) -> Turn:
    """Return the body that saves a draft, and record its parts as sent."""
    fields: dict[str, Any] = {
        "query": turn.message,
        "response": lines.answer or NO_ANSWER,
        "task_done": True if lines.task_done else None,
    }
    if lines.critical and _is_first(turn, f"critical {lines.critical}"):
        fields["critical"] = cut(turn, "fact", lines.critical, limits.CRITICAL_CHARACTERS_MAX)
    if lines.l1 and _is_due(turn, "L1", is_wanted=turn.wants_l1):
        fields["l1_summary"] = cut(turn, "L1", lines.l1, limits.L1_CHARACTERS_MAX)
    if lines.l2 and _is_due(turn, "L2", is_wanted=turn.l2_source is not None):
        fields["l2_map"] = cut(turn, "L2", lines.l2, limits.MAP_CHARACTERS_MAX)
    fields |= _cube_fields(turn, lines)
    return Turn(user_id=turn.options.user_id, session_id=turn.options.session_id, **fields)


def _is_first(turn: TurnState, part: str) -> bool:
    """Return True the first time a turn sends this part; record it."""
    is_first = part not in turn.sent_parts
    turn.sent_parts.add(part)
    return is_first


def _is_due(turn: TurnState, part: str, *, is_wanted: bool) -> bool:
    if not is_wanted:
        turn.report(f"The {part} was omitted: none is due in this turn.")
    return is_wanted and _is_first(turn, part)


def _imitates(cube: CubeText) -> bool:
    """Return True if the service would refuse the cube, and the turn with it."""
    return any(imitated_line(text) for text in (cube.topic, cube.essence, cube.rule))


def _cube_fields(turn: TurnState, lines: Lines) -> dict[str, Any]:
    """Return the proposed cube, or the duty that says why there is none.

    Empty if the service received either in this turn.
    """
    if lines.cube and _is_cube_too_soon(turn):
        turn.counts.cubes_refused += _is_first(turn, "refused cube")
        turn.report(
            f"At most one cube in {limits.TURNS_PER_CUBE_MIN} turns: `{lines.cube.topic}` was left "
            "out; propose it again later."
        )
        reason = "a cube was made less than 3 turns ago"
    elif lines.cube and _imitates(lines.cube):
        reason = "the cube has a line that begins like one of the service"
        turn.report(f"The cube was left out: {reason}.")
    elif lines.cube:
        is_first = _is_first(turn, "cube")
        return _proposed_cube(turn, lines.cube, publish=lines.publish) if is_first else {}
    else:
        reason = lines.cube_nothing or NO_REASON
    if "cube" in turn.sent_parts or not _is_first(turn, "cube_nothing"):
        return {}
    reason = cut(turn, "reason", reason, limits.DUTY_REASON_CHARACTERS_MAX)
    return {"duty": "cube_nothing", "duty_reason": reason}


def _is_cube_too_soon(turn: TurnState) -> bool:
    session = turn.session
    if session.last_cube_turn is None:
        return False
    return session.turns_saved + 1 - session.last_cube_turn < limits.TURNS_PER_CUBE_MIN


def _proposed_cube(turn: TurnState, cube: CubeText, *, publish: bool) -> dict[str, Any]:
    topic_max, essence_max = (
        limits.PUBLISHED_TOPIC_CHARACTERS_MAX,
        limits.PUBLISHED_ESSENCE_CHARACTERS_MAX,
    )
    rules_max = limits.PUBLISHED_RULES_CHARACTERS_MAX
    return {
        "cube_type": cube.kind,
        "cube_topic": cut(turn, "cube's topic", cube.topic, topic_max),
        "cube_essence": cut(turn, "cube's essence", cube.essence, essence_max),
        "cube_rules": cut(turn, "cube's rule", f"- {cube.rule}", rules_max),
        "cube_publish": publish,
    }


def cut(turn: TurnState, part: str, text: str, characters_max: int) -> str:
    """Shorten a text to the limit and report it."""
    if len(text) <= characters_max:
        return text
    turn.report(f"The {part} was cut to {characters_max} characters.")
    return shorten(text, characters_max)


def shorten(text: str, characters_max: int) -> str:
    """Return at most `characters_max` characters, cut after a word in the second half if any."""
    if len(text) <= characters_max:
        return text
    head = text[: characters_max - 1]
    space = max(head.rfind(" "), head.rfind("\n"))
    if not text[characters_max - 1].isspace() and space > characters_max // 2:
        head = head[:space]
    return f"{head.rstrip()}\u2026"
