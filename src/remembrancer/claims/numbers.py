"""Numbers in digits and words with their units, money and shares:

1,250 EUR, 1.250 €, zwölf Prozent, 百分之三十, 1 h 30 min.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from .number_words import CHINESE, chinese, spelled_numbers
from .units import SIGNS, Unit, unit_at, unit_word
from .values import Claim, Quantity

_LETTERS = r"A-Za-z_\u00c0-\u024f\u0370-\u03ff\u0400-\u052f"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)\].%-])-)?(?<![{_LETTERS}\d])(?<!\d[.,])"
    r"(?P<digits>\d{1,3}(?P<mark>[.,' \u2019])\d{3}(?:(?P=mark)\d{3})*(?:(?!(?P=mark))[.,]\d{1,15})?(?![\d])"
    r"|\d{1,40}(?!\d)(?:[.,]\d{1,40}(?!\d))?)"
    r"(?P<half>½)?",
    re.ASCII,
)
_MONEY_BEFORE = re.compile(rf"({SIGNS})\s?$")
_MAGNITUDES = {
    "k": 10**3, "K": 10**3, "M": 10**6, "thousand": 10**3, "tsd": 10**3, "tausend": 10**3, "mille": 10**3, "mil": 10**3, "тыс": 10**3,
    "тысяч": 10**3, "тысячи": 10**3, "тысяча": 10**3, "million": 10**6, "millions": 10**6, "millionen": 10**6, "mio": 10**6, "mn": 10**6,
    "millón": 10**6, "millones": 10**6, "млн": 10**6, "миллион": 10**6, "миллиона": 10**6, "миллионов": 10**6, "billion": 10**9,
    "billions": 10**9, "bn": 10**9, "milliarde": 10**9, "milliarden": 10**9, "milliard": 10**9, "milliards": 10**9, "mrd": 10**9,
    "млрд": 10**9, "миллиард": 10**9, "миллиардов": 10**9, "万": 10**4, "亿": 10**8, "千": 10**3,
}  # fmt: skip
_MAGNITUDE = re.compile(rf"[ ]?([万亿千]|[{_LETTERS}]+)\.?(?![{_LETTERS}\d])|[ ]?([万亿千])")
_OF = re.compile(r"[ ]d(?:e[ ]|['’])")  # deux millions d'euros
_HALF_MORE = re.compile(r"[ -](?:and a half|et demie?|y medi[ao]|с половиной)\b", re.IGNORECASE)
_HAN_NUMBER = re.compile(
    rf"(?P<share>百分之)?(?P<digits>{CHINESE}|\d{1, 40}(?:\.\d{1, 40})?)(?P<half>个半|半(?=[小天年个月公]))?"
)
_HAN_PARTS = re.compile(
    r"(?P<first>[一二两三\d])(?P<unit>米|块)(?P<after>[零一二三四五六七八九]{1,2}|\d{1,2})(?![\d一二三四五六七八九十百千万厘分])"
)
_HAN_SUM = re.compile(r"(?<!\d)(\d{1,40}(?:\.\d{1,40})?)([万亿])(\d{1,40})([千百])")
_PLACED = re.compile("(?=.*[十百千万亿])(?=.*[一二两三四五六七八九])(?!.*万一|一千零一).{2,}")
_COUNTED = re.compile("[个只人次本张台位名岁号件条层楼页块家间倍种杯瓶亩棵双套辆]")
_MINUS = re.compile(r"(?:\b(?:minus|moins|menos|минус)|零下|负)\s?$", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\s?(?:-|\u2013|\u2014|~|to|bis|und|and|et|à|a|y|до|и|по|至|到)\s?", re.IGNORECASE
)
_LINKS = re.compile(r"[ ,]{0,2}(?:(?:and|und|et|y|и)[ ])?")
_DECIMAL_COMMA = frozenset(
    {
        "de",
        "fr",
        "es",
        "ru",
        "it",
        "pt",
        "nl",
        "pl",
        "cs",
        "sv",
        "da",
        "no",
        "fi",
        "uk",
        "tr",
        "ro",
        "hu",
        "el",
        "id",
    }
)
_SUMMED = frozenset({"time", "length", "mass", "months"})
_SMALL_MAX = 12


class NumberMatch(NamedTuple):
    """A number before its neighbours were looked at."""

    start: int
    end: int
    readings: frozenset[Fraction]
    unit: Unit | None
    in_words: bool = False
    article: bool = False


def numbers(text: str, language: str, *, generous: bool) -> list[Claim]:
    """The numbers of a text in order, none within another.

    `language` decides how a lone comma or point is read. `generous` takes what may be a number for
    one.
    """
    taken = [*_heights(text), *_digits(text, language), *_chinese(text, generous=generous)]
    places = {place for one in taken for place in (one.start, one.end - 1)}
    taken += [
        one for one in _words(text, None if generous else language) if one.start not in places
    ]
    found: list[NumberMatch] = []
    for one in sorted(taken, key=lambda one: (one.start, -one.end)):
        if not found or one.start >= found[-1].end:
            found.append(one)
    return [_claim(one) for one in _joined(text, _shared(text, found))]


def _claim(one: NumberMatch) -> Claim:
    unit = one.unit or Unit("", Fraction(1))
    small = (
        one.in_words and one.unit is None and all(reading <= _SMALL_MAX for reading in one.readings)
    )
    return Claim(
        "number",
        one.start,
        one.end,
        Quantity(one.readings, unit.dimension or None, unit.factor),
        weak=small,
    )


def _digits(text: str, language: str) -> Iterator[NumberMatch]:
    for match in _NUMBER.finditer(text):
        readings = read(match["digits"], language)
        if match["half"]:
            readings = frozenset(reading + Fraction(1, 2) for reading in readings)
        negative = match["sign"] or _MINUS.search(text[max(0, match.start() - 8) : match.start()])
        yield _with_unit(
            text,
            match.start(),
            match.end(),
            frozenset(-r for r in readings) if negative else readings,
        )


def read(digits: str, language: str) -> frozenset[Fraction]:
    """All that digits with their marks may say:

    12.300,50 is sure, a lone mark before three digits is as the language has it.
    """
    digits = digits.replace("\u2019", "'")
    marks = re.findall(r"[.,' ]", digits)
    if not marks:
        return frozenset({Fraction(int(digits))})
    last = marks[-1]
    whole, _, after = digits.rpartition(last)
    joined = Fraction(int(re.sub(r"\D", "", digits)))
    if last in " '" or marks.count(last) > 1:
        return frozenset({joined})
    decimal = Fraction(int(re.sub(r"\D", "", whole) + after), 10 ** len(after))
    if len(marks) > 1 or len(after) != 3 or len(whole) > 3 or whole.startswith("0"):
        return frozenset({decimal})
    if language in _DECIMAL_COMMA:
        return frozenset({joined, decimal})
    return frozenset({joined if last == "," else decimal})


def _with_unit(
    text: str,
    start: int,
    end: int,
    readings: frozenset[Fraction],
    *,
    in_words: bool = False,
    article: bool = False,
) -> NumberMatch:
    """The number with what stands around it: magnitude, unit, a sign of money before it."""
    magnitude = _MAGNITUDE.match(text, end)
    if magnitude and not in_words:
        word = magnitude[1] or magnitude[2]
        times = _MAGNITUDES.get(word) or (_MAGNITUDES.get(word.lower()) if len(word) > 1 else None)
        if times and not (word == "M" and unit_at(text, end)):
            readings = frozenset(reading * times for reading in readings)
            end = magnitude.end()
    of = _OF.match(text, end)
    if of and max(readings) >= 10**6 and (behind := unit_at(text, of.end())):
        return _money(text, start, end, readings, behind, in_words=in_words, article=article)
    return _money(
        text, start, end, readings, unit_at(text, end), in_words=in_words, article=article
    )


def _money(
    text: str,
    start: int,
    end: int,
    readings: frozenset[Fraction],
    behind: tuple[Unit, int] | None,
    *,
    in_words: bool,
    article: bool,
) -> NumberMatch:
    before = _MONEY_BEFORE.search(text[max(0, start - 5) : start])
    unit: Unit | None = None
    if behind:
        unit, end = behind
        if half := _HALF_MORE.match(text, end):
            readings, end, article = (
                frozenset(reading + Fraction(1, 2) for reading in readings),
                half.end(),
                False,
            )
    if before and (unit is None or unit.dimension in {"length", "cny"}):
        unit, start = unit_word(before[1]), start - len(before[0])
    return NumberMatch(start, end, readings, unit, in_words, article)


def _words(text: str, language: str | None) -> Iterator[NumberMatch]:
    for one in spelled_numbers(text, language):
        found = _with_unit(
            text, one.start, one.end, frozenset({one.value}), in_words=True, article=one.article
        )
        half = one.value.denominator != 1
        if half and found.unit is None:
            inner = re.match(r" (?:an?|one|de|d') ?", text[one.end : one.end + 5])
            behind = unit_at(text, one.end + inner.end() - 1) if inner else None
            if behind is None:
                continue
            found = NumberMatch(
                one.start, behind[1], frozenset({one.value}), behind[0], in_words=True
            )
        if (
            language is not None
            and found.article
            and (found.unit is None or text[one.start : one.end].lower() != "one")
        ):
            continue  # "a week" is no count
        yield found
    for match in re.finditer(
        r"\bпол(часа|года|месяца|дня|метра|литра|килограмма|километра)\b", text, re.IGNORECASE
    ):
        yield NumberMatch(
            match.start(),
            match.end(),
            frozenset({Fraction(1, 2)}),
            unit_word(match[1]),
            in_words=True,
        )
    for match in re.finditer(
        r"\b(?:an hour|eine Stunde|une heure|una hora) ?(?=and a half|et demie|y media)",
        text,
        re.IGNORECASE,
    ):
        half_more = _HALF_MORE.match(text, match.end() - 1)
        if half_more:
            yield NumberMatch(
                match.start(),
                half_more.end(),
                frozenset({Fraction(3, 2)}),
                unit_word("hour"),
                in_words=True,
            )


def _heights(text: str) -> Iterator[NumberMatch]:
    """Chinese numbers of two parts: 一米七五, 3块5, 3万5千元."""
    for match in _HAN_PARTS.finditer(text):
        first, after = _han(match["first"]), match["after"]
        digits = after if after.isdigit() else "".join(str(int(chinese(c))) for c in after)
        yield NumberMatch(
            match.start(),
            match.end(),
            frozenset({first + Fraction(int(digits), 10 ** len(digits))}),
            unit_word(match["unit"]),
        )
    for match in _HAN_SUM.finditer(text):
        value = Fraction(match[1]) * (10**4 if match[2] == "万" else 10**8) + Fraction(match[3]) * (
            1000 if match[4] == "千" else 100
        )
        yield _with_unit(text, match.start(), match.end(), frozenset({value}), in_words=True)


def _han(written: str) -> Fraction:
    return Fraction(written) if written[0].isdigit() and written.isascii() else chinese(written)


def _chinese(text: str, *, generous: bool) -> Iterator[NumberMatch]:
    for match in _HAN_NUMBER.finditer(text):
        written = match["digits"]
        if written[0].isdigit() and not match["share"] and not match["half"]:
            continue  # `_digits` reads it
        value = Fraction(written) if written[0].isdigit() else chinese(written)
        if match["share"]:
            yield NumberMatch(match.start(), match.end(), frozenset({value}), unit_word("%"))
            continue
        behind = unit_at(text, match.end())
        if match["half"] and behind:
            yield NumberMatch(
                match.start(), behind[1], frozenset({value + Fraction(1, 2)}), behind[0]
            )
        elif behind or _COUNTED.match(text, match.end()) or generous or _PLACED.fullmatch(written):
            end = behind[1] if behind else match.end()
            yield NumberMatch(
                match.start(),
                end,
                frozenset({value}),
                behind[0] if behind else None,
                in_words=value <= _SMALL_MAX,
            )
    for match in re.finditer(r"半(?:个)?(小时|年|天|月|公斤|公里)", text):
        if not re.search(
            r"[\d零〇一二两三四五六七八九十百千万亿个]$",
            text[max(0, match.start() - 1) : match.start()],
        ):
            unit = unit_word("个月" if match[1] == "月" else match[1])
            yield NumberMatch(
                match.start(), match.end(), frozenset({Fraction(1, 2)}), unit, in_words=True
            )


def _shared(text: str, found: Sequence[NumberMatch]) -> list[NumberMatch]:
    """Give the first of two numbers that are a range the unit of the second: 5-7 km."""
    given = list(found)
    for place in range(len(given) - 2, -1, -1):
        one, following = given[place], given[place + 1]
        if (
            one.unit is None
            and following.unit
            and _BETWEEN.fullmatch(text, one.end, following.start)
        ):
            given[place] = one._replace(unit=following.unit)
    return given


def _joined(text: str, found: Sequence[NumberMatch]) -> Iterator[NumberMatch]:
    """Add up what is one quantity in two units: 1 h 30 min, 2 hours and 15 minutes, 5 ft 10 in."""
    last: NumberMatch | None = None
    for one in found:
        if last is not None and _is_rest(text, last, one):
            assert last.unit is not None
            assert one.unit is not None
            share = one.unit.factor / last.unit.factor
            total = frozenset(a + b * share for a in last.readings for b in one.readings)
            last = last._replace(end=one.end, readings=total)
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last


def _is_rest(text: str, one: NumberMatch, following: NumberMatch) -> bool:
    if one.unit is None or following.unit is None or one.unit.dimension != following.unit.dimension:
        return False
    if one.unit.dimension not in _SUMMED or following.unit.factor >= one.unit.factor:
        return False
    return (
        _LINKS.fullmatch(text, one.end, following.start) is not None
        and text[one.end : one.end + 1] != ","
    )
