"""The seal, the last line of a reply: `REM | #7 | READ | VERIFY | CORRECT | OUTPUT`."""

from __future__ import annotations

import re
from typing import NamedTuple

_WORDS = ("READ", "VERIFY", "CORRECT", "OUTPUT")
_SEAL = re.compile(
    r"[ \t]*(?P<name>[^\s|#]{1,32})[ \t]*\|[ \t]*#(?P<step>[0-9]{1,9})"
    + "".join(rf"[ \t]*\|[ \t]*{w}" for w in _WORDS)
    + r"\s*"
)


class Seal(NamedTuple):
    """A seal that was read: which service's, and which step's."""

    name: str
    step: int


def render(step: int, name: str = "REM") -> str:
    """The seal of a step."""
    return " | ".join((name, f"#{step}", *_WORDS))


def read_seal(text: str) -> Seal | None:
    """The seal that a line is; None when it is none.

    Blanks around the bars are free, the words are not.
    """
    match = _SEAL.fullmatch(text)
    return Seal(match["name"], int(match["step"])) if match else None
