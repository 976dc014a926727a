"""Lessons of the service: failures that agents often cause in Python programs for the sandbox.

Each file `NAME.toml` holds one lesson with its evidence: a program that fails, and the same program
after its rules were followed. tests/cubes/test_starter_lessons.py runs both in the sandbox.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

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
    fails: str
    error: str
    passes: str
    evidence: str = EVIDENCE


@cache
def load_starter() -> tuple[StarterLesson, ...]:
    """Return the lessons of the service, sorted by name.

    The files are read once per process.
    """
    files = (file for file in resources.files(__package__).iterdir() if file.name.endswith(_SUFFIX))
    texts = {file.name.removesuffix(_SUFFIX): file.read_text("utf-8") for file in files}
    return tuple(_lesson(name, text) for name, text in sorted(texts.items()))


def _lesson(name: str, text: str) -> StarterLesson:
    values: dict[str, Any] = {key: value.strip() for key, value in tomllib.loads(text).items()}
    return StarterLesson(name=name, **values)
