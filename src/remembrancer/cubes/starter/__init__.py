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

from ...protocol.trust import TextSource
from ..lessons import Lesson

EVIDENCE = "reproduced in the sandbox"
_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterLesson(Lesson):
    """A lesson, a program that fails without it, and one that follows it.

    `error` is a regular expression; it matches a part of the type and message of the failure, as in
    `ValueError: no such day`. Both programs end with the same assertion.
    """

    name: str
    fails: str
    error: str
    passes: str
    evidence: str = EVIDENCE
    publish: bool = True
    source: TextSource = "import"
    for_account: bool = True


@cache
def load_starter() -> tuple[StarterLesson, ...]:
    """Return the lessons of the service, sorted by name.

    The files are read once per process.
    """
    files = (file for file in resources.files(__package__).iterdir() if file.name.endswith(_SUFFIX))
    texts = {file.name.removesuffix(_SUFFIX): file.read_text("utf-8") for file in files}
    values: dict[str, dict[str, Any]] = {name: tomllib.loads(texts[name]) for name in sorted(texts)}
    return tuple(
        StarterLesson(name=name, **{key: value.strip() for key, value in fields.items()})
        for name, fields in values.items()
    )
