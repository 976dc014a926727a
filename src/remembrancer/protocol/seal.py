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
    """A parsed seal: service name and step."""

    name: str
    step: int


def render(step: int, name: str = "REM") -> str:
    """Return the seal of a step."""
    return " | ".join((name, f"#{step}", *_WORDS))


def read_seal(text: str) -> Seal | None:
    """Parse a line as a seal; return None if it is not one.

    Spaces around the bars are optional; the words are fixed.
    """
    match = _SEAL.fullmatch(text)
    return Seal(match["name"], int(match["step"])) if match else None
