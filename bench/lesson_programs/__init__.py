"""Programming tasks with a hidden convention: an agent fails them until it has learned a lesson.

Each file is a family. Its idioms are ways to follow its convention: `naive` (the first attempt of
an agent that knows nothing), wrong ones and `right`. A program is the family's library, an idiom,
the code of a task and the task's assertions. `choose` models an agent: it takes the idiom whose
cues (regular expressions) occur most often in the rules that it has read. Written for this project.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
NAIVE, RIGHT = "naive", "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A lesson of a family as an agent publishes it."""

    topic: str
    essence: str
    rules: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Idiom:
    """A way to follow the convention, and the words of rules that lead to it."""

    name: str
    cues: tuple[str, ...]
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A request of a user, the code that fulfils it with the right idiom, and its assertions."""

    name: str
    task: str
    program: str
    tests: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Tasks with one hidden convention."""

    family: str
    guess: float  # probability that an agent without a lesson begins with the right idiom
    library: str  # the library or the data, the first part of each program
    lesson: Advice
    harmful: Advice
    idioms: tuple[Idiom, ...]  # the naive one first
    tasks: tuple[Task, ...]

    def program(self, task: Task, idiom: str) -> str:
        """Return a whole program; it ends without an error only if its assertions hold."""
        code = next(one.code for one in self.idioms if one.name == idiom)
        return "\n\n".join(part.strip() for part in (self.library, code, task.program, task.tests))

    def choose(self, rules: Sequence[str]) -> str | None:
        """Return the idiom to which these rules lead best; None if no cue occurs in them.

        The first idiom wins a tie.
        """
        text = " ".join(" ".join(rules).split())
        matches = {
            one.name: sum(bool(re.search(cue, text, re.IGNORECASE)) for cue in one.cues)
            for one in self.idioms
        }
        best = max(matches, key=lambda name: matches[name])
        return best if matches[best] else None


def families() -> list[Family]:
    """Return all families, by name."""
    return [_family(path) for path in sorted(FOLDER.glob("*.toml"))]


def _family(path: Path) -> Family:
    values = tomllib.loads(path.read_text("utf-8"))
    return Family(
        family=values["family"],
        guess=values["guess"],
        library=values["library"],
        lesson=_advice(values["lesson"]),
        harmful=_advice(values["harmful"]),
        idioms=tuple(
            Idiom(name=one["name"], cues=tuple(one["cues"]), code=one["code"])
            for one in values["idiom"]
        ),
        tasks=tuple(Task(**one) for one in values["task"]),
    )


def _advice(values: dict[str, str]) -> Advice:
    return Advice(**{name: text.strip() for name, text in values.items()})
