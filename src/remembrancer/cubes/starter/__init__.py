"""Lessons of the service: failures that agents often cause in Python programs for the sandbox.

Each file `NAME.toml` holds one lesson with its evidence: a program that fails, and the same program
after its rules were followed. tests/cubes/test_starter_lessons.py runs both in the sandbox.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ...protocol.line import CubeKind

EVIDENCE = "reproduced in the sandbox"
_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterLesson:
    """A lesson, a program that fails without it, and one that follows it.

    `error` is a regular expression; it matches a part of the type and message of the failure, as in
    `ValueError: no such day`. Both programs end with the same assertion.
    """

    name: str
    kind: CubeKind
    topic: str
    essence: str
    rules: str  # a Markdown list
    evidence: str
    fails: str
    error: str
    passes: str


def load_starter() -> list[StarterLesson]:
    """Return the lessons of the service, sorted by name.

    The files are read once per process.
    """
    return list(_read_lessons())


@cache
def _read_lessons() -> tuple[StarterLesson, ...]:
    files = sorted(
        (file for file in resources.files(__package__).iterdir() if file.name.endswith(_SUFFIX)),
        key=lambda file: file.name,
    )
    return tuple(
        _parse_lesson(file.name.removesuffix(_SUFFIX), file.read_text("utf-8")) for file in files
    )


def _parse_lesson(name: str, text: str) -> StarterLesson:
    values = {key: value.strip() for key, value in tomllib.loads(text).items()}
    return StarterLesson(
        name=name,
        kind=values["kind"],
        topic=values["topic"],
        essence=values["essence"],
        rules=values["rules"],
        evidence=EVIDENCE,
        fails=values["fails"],
        error=values["error"],
        passes=values["passes"],
    )
