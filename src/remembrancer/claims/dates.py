"""Find calendar dates in many languages: 2026-05-14, 14 May 2026, 14.–16. Mai, 5月14日."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from ..search.text.languages import LANGUAGES, normalize
from .number_words import CHINESE, parse_chinese
from .values import Claim, Dates, PartialDate

_MONTHS = {
    name: month
    for language in LANGUAGES
    for name, month in language.months.items()
    if ord(name[0]) < 0x530 and len(name) > 2
}
_MONTH = "|".join(re.escape(name) for name in sorted(_MONTHS, key=len, reverse=True))
_NAME = rf"(?=[^\W\d_])(?P<mn>{_MONTH})"  # the lookahead skips most positions quickly
_Y, _D = r"(?P<y>\d{4})", r"(?P<d>\d{1,2})"
_ORDINAL = r"(?:st|nd|rd|th|er|\.|º|ª|-?го)?"
_OF = r"(?:(?:of|de|del|du|d['’])[ ])?"
_SPAN = (
    r"(?:(?P<d0>\d{1,2})(?:st|nd|rd|th|er|\.|-?го)?[ ]?"
    r"(?:-|\u2013|\u2014|to|bis|und|and|et|au|al|y|по|и)[ ]?(?:le[ ])?)?"
)
_PATTERNS = [
    re.compile(
        rf"(?<![\w.-])(?P<y>\d{{4}})(?P<s>[-/.])(?P<m>\d{{1,2}})(?P=s){_D}(?![\d-]|[./]\d)",
        re.ASCII,
    ),
    re.compile(r"(?<![\w.-])(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\d-])", re.ASCII),
    re.compile(
        r"(?<![\w./-])(?P<dm>\d{1,2})(?P<s>[-/.])(?P<md>\d{1,2})(?P=s)"
        r"(?P<y>\d{4}|\d\d)(?!\d|[./-]\d)",
        re.ASCII,
    ),
    re.compile(
        rf"(?<![\w.]){_SPAN}{_D}{_ORDINAL}[ ]?{_OF}{_NAME}(?![^\W\d_])\.?,?"
        rf"(?:[ ](?:(?:de|del|of)[ ])?{_Y}(?!\d|[.,]\d)(?:[ ]г(?:ода|\.))?)?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![^\W_]){_NAME}\.?[ ](?:the[ ])?{_D}(?:st|nd|rd|th)?"
        rf"(?:[ ]?(?:-|\u2013|to|and)[ ]?(?P<d0>\d{{1,2}})(?:st|nd|rd|th)?)?"
        rf"(?!\d|[.,:]\d|[^\W\d_])(?:,?[ ]{_Y}(?!\d|[.,]\d))?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![^\W_]){_NAME}\.?,?[ ]{_OF}{_Y}(?!\d|[.,]\d)(?:[ ]г(?:ода|\.))?", re.IGNORECASE
    ),
    re.compile(
        rf"(?:(?<![^\W_])(?:in|im|en|since|until|till|by|before|after|of|seit|anfang|mitte|ende|ab"
        rf"|bis|early|mid|late|last|next|this|fin|début"
        rf"|в|во|до|с|к|начале|конце|середине)[ ]){_NAME}(?![^\W\d_]|[ ]\d)",
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
_AMBIGUOUS_PATTERN = 2  # index of the pattern in which day and month may be in either order


def dates(text: str, day: date) -> Iterator[Claim]:
    """Yield the dates of a text, which may overlap: those of earlier patterns are more reliable.

    `day` is the day of the text.
    """
    for index, pattern in enumerate(_PATTERNS):
        for match in pattern.finditer(text):
            parts = match.groupdict()
            options = (
                _both_orders(parts) if index == _AMBIGUOUS_PATTERN else _parse_parts(parts, day)
            )
            if not options:
                continue
            start = match.start("mn") if "d" not in parts and parts.get("mn") else match.start()
            end = match.end() - (match[0][-1] in ",.") * _ends_sentence(match)
            yield from _claims(match, start, end, options, day)


def _ends_sentence(match: re.Match[str]) -> bool:
    """Return True if a final punctuation mark belongs to the sentence, as after a month's name."""
    return not match[0][-2:-1].isdigit()


def _claims(
    match: re.Match[str], start: int, end: int, options: list[PartialDate], day: date
) -> Iterator[Claim]:
    yield Claim("date", start, end, Dates(tuple(options), day.year))
    other = match.groupdict().get("d0")
    if other and 1 <= int(other) <= 31:
        first = Dates(tuple(option._replace(day=int(other)) for option in options), day.year)
        yield Claim("date", start, end, first)


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdigit() else int(parse_chinese(digits))


def _parse_parts(parts: dict[str, str | None], day: date) -> list[PartialDate]:
    name, near = parts.get("mn"), parts.get("near")
    month = (
        _MONTHS.get(normalize(name), 0)
        if name
        else _number(digits)
        if (digits := parts.get("m"))
        else None
    )
    year = _number(digits) if (digits := parts.get("y")) else None
    if near:
        year = day.year + {"去": -1, "今": 0, "明": 1}[near]
    day_number = _number(digits) if (digits := parts.get("d")) else None
    return _valid(PartialDate(year, month, day_number))


def _both_orders(parts: dict[str, str | None]) -> list[PartialDate]:
    first, second, year_digits = int(parts["dm"] or 0), int(parts["md"] or 0), parts["y"] or ""
    year = int(year_digits) + (2000 if len(year_digits) == 2 else 0)
    orders = (
        [PartialDate(year, second, first)]
        if parts["s"] == "."
        else [PartialDate(year, second, first), PartialDate(year, first, second)]
    )
    return [option for order in dict.fromkeys(orders) for option in _valid(order)]


def _valid(when: PartialDate) -> list[PartialDate]:
    month, day = when.month, when.day
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return []
    if when.year is not None and (
        not 1 <= when.year <= 9998 or (day is not None and when.exact is None)
    ):
        return []
    return [when]
