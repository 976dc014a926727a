"""What of a draft's service lines goes to the service: each part once a turn, within the client's bounds, nothing left out in silence."""

from __future__ import annotations

from typing import Any

from ..protocol import limits
from ..protocol.lines import Lines
from ..protocol.memory import Turn
from .runtime_standing import Standing

NO_ANSWER = "I have no answer to this."
REASON_NOT_SAID = "the agent did not say"


class Parts:
    """The parts that one turn sends."""

    def __init__(self, standing: Standing) -> None:
        self.all = standing
        self.sent: set[str] = set()  # what the service has got in this turn
        self.remarks: list[str] = []  # for whoever runs the agent
        self.asked_l1 = self.asked_l2 = False

    def turn(self, message: str, lines: Lines) -> Turn:
        """The body of `remember` for a draft; from now on the service is taken to have got what is in it."""
        said: dict[str, Any] = {"query": message, "response": lines.answer or NO_ANSWER, "task_done": lines.task_done}
        if lines.critical and self._is_new(f"critical {lines.critical}"):
            said["critical"] = self.cut("fact", lines.critical, limits.CRITICAL_CHARACTERS_MAX)
        if lines.l1 and self._wanted("L1", wanted=self.asked_l1):
            said["l1_summary"] = self.cut("L1", lines.l1, limits.L1_CHARACTERS_MAX)
        if lines.l2 and self._wanted("L2", wanted=self.asked_l2):
            said["l2_map"] = self.cut("L2", lines.l2, limits.MAP_CHARACTERS_MAX)
        said |= self._cube(lines)
        return Turn(user_id=self.all.habits.user_id, session_id=self.all.habits.session_id, **said)

    def _is_new(self, part: str) -> bool:
        """Whether the service has not got this in this turn yet; from now on it has."""
        is_new = part not in self.sent
        self.sent.add(part)
        return is_new

    def _wanted(self, part: str, *, wanted: bool) -> bool:
        if not wanted:
            self.tell(f"An {part} was written that nobody asked for; it was left out.")
        return wanted and self._is_new(part)

    def _cube(self, lines: Lines) -> dict[str, Any]:
        """The lesson that a draft proposes, or why there is none; nothing when the service has got either in this turn."""
        since = None if self.all.cube_turn is None else self.all.turns + 1 - self.all.cube_turn
        if lines.cube and since is not None and since < limits.TURNS_PER_CUBE_MIN:
            self.all.counts.cubes_refused += self._is_new("refused cube")
            self.tell(f"At most one cube in {limits.TURNS_PER_CUBE_MIN} turns: `{lines.cube.topic}` was left out; propose it again later.")
            reason = "a cube was made less than 3 turns ago"
        elif lines.cube:
            return self._proposed(lines) if self._is_new("cube") else {}
        else:
            reason = lines.cube_nothing or REASON_NOT_SAID
        if "cube" in self.sent or not self._is_new("cube_nothing"):
            return {}
        return {"duty": "cube_nothing", "duty_reason": self.cut("reason", reason, limits.DUTY_REASON_CHARACTERS_MAX)}

    def _proposed(self, lines: Lines) -> dict[str, Any]:
        cube = lines.cube
        assert cube is not None
        return {
            "cube_type": cube.kind,
            "cube_topic": self.cut("cube's topic", cube.topic, limits.PUBLISHED_TOPIC_CHARACTERS_MAX),
            "cube_essence": self.cut("cube's essence", cube.essence, limits.PUBLISHED_ESSENCE_CHARACTERS_MAX),
            "cube_rules": self.cut("cube's rule", f"- {cube.rule}", limits.PUBLISHED_RULES_CHARACTERS_MAX),
            "cube_publish": lines.publish,
        }

    def cut(self, part: str, text: str, most: int) -> str:
        """The text, cut at the end of a word where it is too long, which is told."""
        if len(text) <= most:
            return text
        self.tell(f"The {part} was cut to {most} characters.")
        return shortened(text, most)

    def tell(self, remark: str) -> None:
        """Tell whoever runs the agent now, and the agent in its next turn."""
        if remark not in self.remarks:
            self.remarks.append(remark)
            self.all.to_tell.append(remark)


def shortened(text: str, most: int) -> str:
    """At most so many characters of a text, cut at the end of a word when one ends in its second half."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    if not text[most - 1].isspace() and (space := max(kept.rfind(" "), kept.rfind("\n"))) > most // 2:
        kept = kept[:space]
    return f"{kept.rstrip()}\u2026"
