"""One hidden service line:

what it is and what it says. `lines.py` decides which lines of a reply act.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, cast, get_args

from .seal import Seal, read_seal

CubeKind = Literal[
    "moment", "fact", "culture", "lifehack", "warning", "code"
]  # specification, Experience cube
KINDS: tuple[str, ...] = get_args(CubeKind)
NONE_WORDS = frozenset({"", "none", "no", "n/a", "-", "\u2014", "null", "nothing"})
VOTES = {
    "+1": 1,
    "1": 1,
    "\uff0b1": 1,
    "-1": -1,
    "\u22121": -1,
    "\u20131": -1,
    "0": 0,
    "+0": 0,
    "-0": 0,
}

_MARKS = r"(?P<mark>\*\*|__|`)?"  # what a line or its keyword may be dressed in
_KEYED = re.compile(
    rf"(?:[-*\u2022][ \t]+)?{_MARKS}(?P<word>L1|L2|CRITICAL|CUBE_NOTHING|CUBE|RATE)"
    r"(?P<before>(?P=mark))?[ \t]{0,2}[:\uff1a](?P<after>(?P=mark))?(?P<value>.*)",
    re.DOTALL,
)
_ALONE = re.compile(
    rf"(?:[-*\u2022][ \t]+)?{_MARKS}(?P<word>TASK_DONE|PUBLISH)(?P<before>(?P=mark))?[.!]?(?P<after>(?P=mark))?"
)
_NOT_USED = re.compile(
    rf"(?:[-*\u2022][ \t]+)?{_MARKS}memory[ \t]{{0,2}}[:\uff1a][ \t]{{0,4}}not used\.?(?P<after>(?P=mark))?",
    re.IGNORECASE,
)
_INDENTED = re.compile(r" {4}| {0,3}\t")
_BAR = re.compile(r"(?<!\\)[|\uff5c]")
_ESCAPED_BAR = re.compile(r"\\([|\uff5c])")
_BARE_BAR = re.compile(r"[|\uff5c]")
_SEAL_CHARACTERS_MAX = 200  # longer ones are not looked at
_CUBE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

MEMORY, SEAL = "MEMORY", "SEAL"  # the words of lines that have no keyword of their own


class ServiceLine(NamedTuple):
    """A line that has the look of a service line. `value` is what stands behind the colon, bare."""

    word: str
    value: str = ""
    seal: Seal | None = None


class CubeText(NamedTuple):
    """A lesson as its line gives it."""

    kind: CubeKind
    topic: str
    essence: str
    rule: str


class Rate(NamedTuple):
    """A rating: vote is 1, 0 or -1."""

    cube_id: str
    vote: int
    reason: str


def read_line(line: str) -> ServiceLine | None:
    """What a line would say if it acts; None for what can only be content:

    quoted, indented as code, or nothing of ours.
    """
    text = line.strip()
    if not text or text.startswith(">") or _INDENTED.match(line):
        return None
    if len(text) <= _SEAL_CHARACTERS_MAX and (seal := _seal(text)):
        return ServiceLine(SEAL, seal=seal)
    if match := _KEYED.match(text):
        value = _undressed(match, match["value"].strip())
        return None if value is None else ServiceLine(match["word"], value)
    if (match := _ALONE.fullmatch(text)) and bool(match["mark"]) == bool(
        match["before"] or match["after"]
    ):
        return ServiceLine(match["word"])
    if (match := _NOT_USED.fullmatch(text)) and bool(match["mark"]) == bool(match["after"]):
        return ServiceLine(MEMORY)
    return None


def _seal(text: str) -> Seal | None:
    for mark in ("**", "__", "`"):
        if text.startswith(mark) and text.endswith(mark):
            text = text.removeprefix(mark).removesuffix(mark)
    return read_seal(text.replace("\uff5c", "|"))


def _undressed(match: re.Match[str], value: str) -> str | None:
    """The value without the mark that opened before the keyword; None where that is never closed."""
    mark = match["mark"]
    if not mark or match["before"] or match["after"]:
        return value
    return value.removesuffix(mark).rstrip() if value.endswith(mark) else None


def says_none(value: str) -> bool:
    """Whether a value is a word for nothing."""
    return len(value) < 12 and value.strip(" .").casefold() in NONE_WORDS


def read_cube(value: str) -> CubeText | str:
    """The lesson of a CUBE line, else the code of what is wrong.

    The rule may hold bars; elsewhere they are written `\\|`.
    """
    parts = [_ESCAPED_BAR.sub(r"\1", part).strip() for part in _BAR.split(value, maxsplit=3)]
    if len(parts) != 4 or not all(parts):
        return "cube_fields"
    kind = parts[0].lower()
    return CubeText(cast(CubeKind, kind), *parts[1:]) if kind in KINDS else "cube_kind"


def write_cube(cube: CubeText) -> str:
    """The value of its CUBE line."""
    return " | ".join(_BARE_BAR.sub(r"\\\g<0>", part) for part in cube)


def read_rate(value: str) -> Rate | str:
    """The rating of a RATE line, else the code of what is wrong."""
    cube_id, vote, reason = (*value.split(None, 2), "", "", "")[:3]
    cube_id, counted = cube_id.strip("`"), VOTES.get(vote.rstrip(":,;"))
    if counted is None or not _CUBE_ID.fullmatch(cube_id):
        return "rate_syntax"
    said = reason.lstrip(" \t:,;-\u2013\u2014").strip()
    return "rate_reason" if counted < 0 and not said else Rate(cube_id, counted, said)
