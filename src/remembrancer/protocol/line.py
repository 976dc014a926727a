"""The shape of one hidden service line. `lines.py` decides which lines of a reply act."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, cast, get_args

from .seal import Seal, read_seal

# Kinds of cube (specification.md#cube-kinds).
CubeKind = Literal["moment", "fact", "culture", "lifehack", "warning", "code"]
KINDS: tuple[str, ...] = get_args(CubeKind)
NONE_WORDS = frozenset(
    {
        *("", "none", "no", "n/a", "na", "nil", "null", "nothing", "empty", "not applicable"),
        *("keine", "keiner", "kein", "nichts", "entfällt", "aucun", "aucune", "rien", "néant"),
        *("ninguno", "ninguna", "nada", "nenhum", "nenhuma", "nessuno", "nessuna", "niente"),
        *("nulla", "geen", "niets", "ingen", "inget", "brak", "yok", "нет", "ничего", "н/д"),
        *("нет данных", "немає", "无", "無", "没有", "沒有", "なし", "無し", "없음"),
    }
)
_NONE_CHARACTERS_MAX = 40
# around such a word, or alone
_EMPTY_CHARACTERS = "".join(map(chr, filter(lambda n: chr(n).isspace(), range(0x3001)))) + (
    ".\u2026!\"'`()[]<>\u2013\u2014_*-"
)
VOTES = {
    **dict.fromkeys(("+1", "1", "\uff0b1"), 1),
    **dict.fromkeys(("-1", "\u22121", "\u20131"), -1),
    **dict.fromkeys(("0", "+0", "-0"), 0),
}

_MARKS = r"(?P<mark>\*\*|__|`)?"  # Markdown that may surround a line or its keyword
_KEYED = re.compile(
    rf"(?:[-*\u2022][ \t]+)?{_MARKS}(?P<word>L1|L2|CRITICAL|CUBE_NOTHING|CUBE|RATE"
    r"|l1|l2|critical|cube_nothing|cube|rate)"
    r"(?P<before>(?P=mark))?[ \t]{0,2}[:\uff1a](?P<after>(?P=mark))?(?P<value>.*)",
    re.DOTALL,
)
_ALONE = re.compile(
    rf"(?:[-*\u2022][ \t]+)?{_MARKS}(?P<word>TASK_DONE|PUBLISH|task_done|publish)"
    r"(?P<before>(?P=mark))?[.!]?(?P<after>(?P=mark))?"
)
_NOT_USED = re.compile(
    rf"(?:[-*\u2022][ \t]+)?{_MARKS}memory[ \t]{{0,2}}[:\uff1a][ \t]{{0,4}}"
    r"not used\.?(?P<after>(?P=mark))?",
    re.IGNORECASE,
)
_INDENTED = re.compile(r" {4}| {0,3}\t")
_BAR = re.compile(r"(?<!\\)[|\uff5c]")
_ESCAPED_BAR = re.compile(r"\\([|\uff5c])")
_BARE_BAR = re.compile(r"[|\uff5c]")
_SEAL_CHARACTERS_MAX = 200  # longer lines are content
_CUBE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

MEMORY, SEAL = "MEMORY", "SEAL"  # names of lines without a keyword


class ServiceLine(NamedTuple):
    """A line shaped like a service line. `value` is the text after the colon."""

    word: str
    value: str = ""
    seal: Seal | None = None


class CubeText(NamedTuple):
    """A cube as its line gives it."""

    kind: CubeKind
    topic: str
    essence: str
    rule: str


class Rate(NamedTuple):
    """A rating: `vote` is 1, 0 or -1."""

    cube_id: str
    vote: int
    reason: str


def read_line(line: str) -> ServiceLine | None:
    """Parse a line; return None for content: quoted, indented as code, or not a service line."""
    text = line.strip()
    if not text or text.startswith(">") or _INDENTED.match(line):
        return None
    if len(text) <= _SEAL_CHARACTERS_MAX and (seal := _seal(text)):
        return ServiceLine(SEAL, seal=seal)
    if match := _KEYED.match(text):
        value = _undressed(match, match["value"].strip())
        return None if value is None else _keyed(match["word"], value)
    if (match := _ALONE.fullmatch(text)) and bool(match["mark"]) == bool(
        match["before"] or match["after"]
    ):
        return ServiceLine(match["word"].upper())
    if (match := _NOT_USED.fullmatch(text)) and bool(match["mark"]) == bool(match["after"]):
        return ServiceLine(MEMORY)
    return None


def _keyed(word: str, value: str) -> ServiceLine | None:
    """Return a line with a keyword. In lower case the value must fit: "rate: 5 %" is content."""
    is_prose = (word == "cube" and isinstance(read_cube(value), str)) or (
        word == "rate" and read_rate(value) == "rate_syntax"
    )
    return None if is_prose else ServiceLine(word.upper(), value)


def _seal(text: str) -> Seal | None:
    for mark in ("**", "__", "`"):
        if text.startswith(mark) and text.endswith(mark):
            text = text.removeprefix(mark).removesuffix(mark)
    return read_seal(text.replace("\uff5c", "|"))


def _undressed(match: re.Match[str], value: str) -> str | None:
    """Return the value without the mark opened before the keyword; None if the mark is never
    closed.
    """
    mark = match["mark"]
    if not mark or match["before"] or match["after"]:
        return value
    return value.removesuffix(mark).rstrip() if value.endswith(mark) else None


def says_none(value: str) -> bool:
    """Return True if a value means none."""
    word = value.strip(_EMPTY_CHARACTERS)
    return len(word) <= _NONE_CHARACTERS_MAX and word.casefold() in NONE_WORDS


def read_cube(value: str) -> CubeText | str:
    """Return the cube of a CUBE line, or the code of its error.

    Bars in the rule need no escape; elsewhere write `\\|`.
    """
    parts = [_ESCAPED_BAR.sub(r"\1", part).strip() for part in _BAR.split(value, maxsplit=3)]
    if len(parts) != 4 or not all(parts):
        return "cube_fields"
    kind = parts[0].lower()
    return CubeText(cast(CubeKind, kind), *parts[1:]) if kind in KINDS else "cube_kind"


def write_cube(cube: CubeText) -> str:
    """Return the value of a cube's CUBE line."""
    return " | ".join(_BARE_BAR.sub(r"\\\g<0>", part) for part in cube)


def read_rate(value: str) -> Rate | str:
    """Return the rating of a RATE line, or the code of its error."""
    cube_id, vote, reason = (*value.split(None, 2), "", "", "")[:3]
    cube_id, counted = cube_id.strip("`"), VOTES.get(vote.rstrip(":,;"))
    if counted is None or not _CUBE_ID.fullmatch(cube_id):
        return "rate_syntax"
    text = reason.lstrip(" \t:,;-\u2013\u2014").strip()
    return "rate_reason" if counted < 0 and not text else Rate(cube_id, counted, text)
