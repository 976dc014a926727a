"""Dates by the calendar, as people write them in many languages:

2026-05-14, 14 May 2026, 14.–16. Mai, 5月14日.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from ..search.text.languages import LANGUAGES, normalize
from .number_words import CHINESE, chinese
from .values import Claim, Dates, When

_MONTHS = {
    name: month
    for language in LANGUAGES
    for name, month in language.months.items()
    if ord(name[0]) < 0x530 and len(name) > 2
}
_MONTH = "|".join(re.escape(name) for name in sorted(_MONTHS, key=len, reverse=True))
_NAME = rf"(?=[^\W\d_])(?P<mn>{_MONTH})"  # the first look spares most places the long list
_Y, _D = r"(?P<y>\d{4})", r"(?P<d>\d{1,2})"
_ORDINAL = r"(?:st|nd|rd|th|er|\.|º|ª|-?го)?"
_OF = r"(?:(?:of|de|del|du|d['’])[ ])?"
_SPAN = r"(?:(?P<d0>\d{1,2})(?:st|nd|rd|th|er|\.|-?го)?[ ]?(?:-|\u2013|\u2014|to|bis|und|and|et|au|al|y|по|и)[ ]?(?:le[ ])?)?"
_PATTERNS = [
    re.compile(
        rf"(?<![\w.-])(?P<y>\d{{4}})(?P<s>[-/.])(?P<m>\d{{1,2}})(?P=s){_D}(?![\d-]|[./]\d)",
        re.ASCII,
    ),
    re.compile(r"(?<![\w.-])(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\d-])", re.ASCII),
    re.compile(
        r"(?<![\w./-])(?P<dm>\d{1,2})(?P<s>[-/.])(?P<md>\d{1,2})(?P=s)(?P<y>\d{4}|\d\d)(?!\d|[./-]\d)",
        re.ASCII,
    ),
    re.compile(
        rf"(?<![\w.]){_SPAN}{_D}{_ORDINAL}[ ]?{_OF}{_NAME}(?![^\W\d_])\.?,?"
        rf"(?:[ ](?:(?:de|del|of)[ ])?{_Y}(?!\d|[.,]\d)(?:[ ]г(?:ода|\.))?)?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![^\W_]){_NAME}\.?[ ](?:the[ ])?{_D}(?:st|nd|rd|th)?(?:[ ]?(?:-|\u2013|to|and)[ ]?(?P<d0>\d{{1,2}})(?:st|nd|rd|th)?)?"
        rf"(?!\d|[.,:]\d|[^\W\d_])(?:,?[ ]{_Y}(?!\d|[.,]\d))?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![^\W_]){_NAME}\.?,?[ ]{_OF}{_Y}(?!\d|[.,]\d)(?:[ ]г(?:ода|\.))?", re.IGNORECASE
    ),
    re.compile(
        rf"(?:(?<![^\W_])(?:in|im|en|since|until|till|by|before|after|of|seit|anfang|mitte|ende|ab|bis|early|mid|late|last|next|this|fin|début|"
        rf"в|во|до|с|к|начале|конце|середине)[ ]){_NAME}(?![^\W\d_]|[ ]\d)",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![\w./-])(?P<d>0?[1-9]|[12]\d|3[01])\.(?P<m>0?[1-9]|1[0-2])\.(?!\d)", re.ASCII),
    re.compile(
        rf"(?:(?:(?P<y>\d{{4}}|[零〇一二三四五六七八九]{{4}})|(?P<near>去|今|明))年[ ]?)?"
        rf"(?P<m>\d{{1,2}}|{CHINESE})月(?:[ ]?(?P<d>\d{{1,2}}|{CHINESE})[日号號]?"
        rf"(?:[ ]?(?:至|到|-|\u2013|\u2014|~)[ ]?(?P<d0>\d{{1,2}})[日号號])?)?"
    ),
    re.compile(r"(?P<y>\d{4}|[零〇一二三四五六七八九]{4})年(?!\w?级)"),
]
_SLASHED = 2  # place in _PATTERNS of the one whose day and month may be either way round


def dates(text: str, day: date) -> Iterator[Claim]:
    """The dates of a text; they may overlap, the earlier pattern is the better one.

    `day` is when it was said.
    """
    for place, pattern in enumerate(_PATTERNS):
        for match in pattern.finditer(text):
            parts = match.groupdict()
            options = _either_way(parts) if place == _SLASHED else _options(parts, day)
            if not options:
                continue
            start = match.start("mn") if "d" not in parts and parts.get("mn") else match.start()
            end = match.end() - (match[0][-1] in ",.") * _is_loose(match)
            yield from _claims(match, start, end, options, day)


def _is_loose(match: re.Match[str]) -> bool:
    """Whether a mark at the end belongs to the sentence: after a month by its whole name."""
    return not match[0][-2:-1].isdigit()


def _claims(
    match: re.Match[str], start: int, end: int, options: list[When], day: date
) -> Iterator[Claim]:
    yield Claim("date", start, end, Dates(tuple(options), day.year))
    other = match.groupdict().get("d0")
    if other and 1 <= int(other) <= 31:
        first = Dates(tuple(option._replace(day=int(other)) for option in options), day.year)
        yield Claim("date", start, end, first)


def _number(written: str) -> int:
    return int(written) if written.isascii() and written.isdigit() else int(chinese(written))


def _options(parts: dict[str, str | None], day: date) -> list[When]:
    name, near = parts.get("mn"), parts.get("near")
    month = (
        _MONTHS.get(normalize(name), 0)
        if name
        else _number(digits)
        if (digits := parts.get("m"))
        else None
    )
    year = _number(written) if (written := parts.get("y")) else None
    if near:
        year = day.year + {"去": -1, "今": 0, "明": 1}[near]
    number = _number(written) if (written := parts.get("d")) else None
    return _possible(When(year, month, number))


def _either_way(parts: dict[str, str | None]) -> list[When]:
    first, second, written = int(parts["dm"] or 0), int(parts["md"] or 0), parts["y"] or ""
    year = int(written) + (2000 if len(written) == 2 else 0)
    ways = (
        [When(year, second, first)]
        if parts["s"] == "."
        else [When(year, second, first), When(year, first, second)]
    )
    return [way for one in dict.fromkeys(ways) for way in _possible(one)]


def _possible(when: When) -> list[When]:
    month, number = when.month, when.day
    if (month is not None and not 1 <= month <= 12) or (
        number is not None and not 1 <= number <= 31
    ):
        return []
    if when.year is not None and (
        not 1 <= when.year <= 9998 or (number is not None and when.exact is None)
    ):
        return []
    return [when]
