"""Read the labelled situations: what an agent sees in a turn, and the lessons that would help it.

bench/situations/README.md says how they were written and labelled.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from remembrancer.cubes.starter import load_starter

FOLDER = Path(__file__).with_name("situations")
LESSONS = FOLDER / "lessons.toml"
Split = Literal["tuned", "held out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLesson:
    """A lesson that a situation may fit."""

    name: str
    kind: str
    topic: str
    essence: str
    rules: str  # a Markdown list


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One turn of an agent.

    `tools` are the names of the tools in use, `files` the paths that the turn touches, and `error`
    is its error text; each may be empty. `fits` names the lessons of the pool that would change the
    answer of a good agent: none for a situation in which memory should stay silent.
    """

    query: str
    tools: tuple[str, ...]
    error: str
    files: tuple[str, ...]
    fits: tuple[str, ...]
    split: Split
    source: str  # name of its file, without the ending


def load_situations() -> tuple[list[PoolLesson], list[Situation]]:
    """Return the pool of lessons, those of the service first, and all situations.

    Nothing may be tuned on situations whose split is `held out`.
    """
    return _read_pool(), [
        _parse_situation(row, table["split"], path.stem)
        for path in sorted(FOLDER.glob("*.toml"))
        if path != LESSONS
        for table in [tomllib.loads(path.read_text("utf-8"))]
        for row in table["situations"]
    ]


def _read_pool() -> list[PoolLesson]:
    starter = [
        PoolLesson(
            name=one.name,
            kind=one.kind,
            topic=one.topic,
            essence=one.essence,
            rules=one.rules,
        )
        for one in load_starter()
    ]
    others = tomllib.loads(LESSONS.read_text("utf-8"))["lessons"]
    return starter + [PoolLesson(**{**row, "rules": row["rules"].strip()}) for row in others]


def _parse_situation(row: dict[str, Any], split: Split, source: str) -> Situation:
    return Situation(
        query=row["query"],
        tools=tuple(row.get("tools", ())),
        error=row.get("error", ""),
        files=tuple(row.get("files", ())),
        fits=tuple(row["fits"]),
        split=split,
        source=source,
    )
