"""Find numbers with their units: 1,250 EUR, 1.250 €, zwölf Prozent, 百分之三十, 1 h 30 min."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from .number_words import CHINESE, parse_chinese, spelled_numbers
from .units import CURRENCY_SIGNS, Unit, unit_at, unit_word
from .values import Claim, Quantity

_LETTERS = r"A-Za-z_\u00c0-\u024f\u0370-\u03ff\u0400-\u052f"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)\].%-])-)?(?<![{_LETTERS}\d])(?<!\d[.,])"
    r"(?P<digits>\d{1,3}(?P<mark>[.,' \u2019])\d{3}(?:(?P=mark)\d{3})*"
    r"(?:(?!(?P=mark))[.,]\d{1,15})?(?![\d])"
    r"|\d{1,40}(?!\d)(?:[.,]\d{1,40}(?!\d))?)"
    r"(?P<half>½)?",
    re.ASCII,
)
_CURRENCY_BEFORE = re.compile(rf"({CURRENCY_SIGNS})\s?$")
_MAGNITUDES = {
    "k": 10**3, "K": 10**3, "M": 10**6, "thousand": 10**3, "tsd": 10**3, "tausend": 10**3,
    "mille": 10**3, "mil": 10**3, "тыс": 10**3,
    "тысяч": 10**3, "тысячи": 10**3, "тысяча": 10**3, "million": 10**6, "millions": 10**6,
    "millionen": 10**6, "mio": 10**6, "mn": 10**6,
    "millón": 10**6, "millones": 10**6, "млн": 10**6, "миллион": 10**6, "миллиона": 10**6,
    "миллионов": 10**6, "billion": 10**9,
    "billions": 10**9, "bn": 10**9, "milliarde": 10**9, "milliarden": 10**9, "milliard": 10**9,
    "milliards": 10**9, "mrd": 10**9,
    "млрд": 10**9, "миллиард": 10**9, "миллиардов": 10**9, "万": 10**4, "亿": 10**8, "千": 10**3,
}  # fmt: skip
_MAGNITUDE = re.compile(rf"[ ]?([万亿千]|[{_LETTERS}]+)\.?(?![{_LETTERS}\d])|[ ]?([万亿千])")
_PREPOSITION = re.compile(r"[ ]d(?:e[ ]|['’])")  # deux millions d'euros
_HALF_MORE = re.compile(r"[ -](?:and a half|et demie?|y medi[ao]|с половиной)\b", re.IGNORECASE)
_HAN_NUMBER = re.compile(
    rf"(?P<share>百分之)?(?P<digits>{CHINESE}|\d{1, 40}(?:\.\d{1, 40})?)"
    r"(?P<half>个半|半(?=[小天年个月公]))?"
)
_HAN_WITH_FRACTION = re.compile(
    r"(?P<first>[一二两三\d])(?P<unit>米|块)(?P<after>[零一二三四五六七八九]{1,2}|\d{1,2})"
    r"(?![\d一二三四五六七八九十百千万厘分])"
)
_HAN_SUM = re.compile(r"(?<!\d)(\d{1,40}(?:\.\d{1,40})?)([万亿])(\d{1,40})([千百])")
_WITH_PLACE_VALUES = re.compile(
    "(?=.*[十百千万亿])(?=.*[一二两三四五六七八九])(?!.*万一|一千零一).{2,}"
)
_MEASURE_WORD = re.compile("[个只人次本张台位名岁号件条层楼页块家间倍种杯瓶亩棵双套辆]")
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
_ADDITIVE_DIMENSIONS = frozenset({"time", "length", "mass", "months"})
_SMALL_MAX = 12


class NumberMatch(NamedTuple):
    """A number before it is combined with its neighbours."""

    start: int
    end: int
    readings: frozenset[Fraction]
    unit: Unit | None
    in_words: bool = False
    is_article: bool = False


def numbers(text: str, language: str, *, generous: bool) -> list[Claim]:
    """Return the numbers of a text in order, without overlaps.

    `language` decides how to read a single comma or point. `generous` accepts ambiguous numbers.
    """
    candidates = [
        *_compound_chinese(text),
        *_digits(text, language),
        *_chinese(text, generous=generous),
    ]
    offsets = {offset for number in candidates for offset in (number.start, number.end - 1)}
    candidates += [
        number
        for number in _words(text, None if generous else language)
        if number.start not in offsets
    ]
    result: list[NumberMatch] = []
    for number in sorted(candidates, key=lambda number: (number.start, -number.end)):
        if not result or number.start >= result[-1].end:
            result.append(number)
    return [_claim(number) for number in _add_parts(text, _share_units(text, result))]


def _claim(number: NumberMatch) -> Claim:
    unit = number.unit or Unit("", Fraction(1))
    is_small = (
        number.in_words
        and number.unit is None
        and all(reading <= _SMALL_MAX for reading in number.readings)
    )
    return Claim(
        "number",
        number.start,
        number.end,
        Quantity(number.readings, unit.dimension or None, unit.factor),
        weak=is_small,
    )


def _digits(text: str, language: str) -> Iterator[NumberMatch]:
    for match in _NUMBER.finditer(text):
        readings = parse_digits(match["digits"], language)
        if match["half"]:
            readings = frozenset(reading + Fraction(1, 2) for reading in readings)
        negative = match["sign"] or _MINUS.search(text[max(0, match.start() - 8) : match.start()])
        yield _with_unit(
            text,
            match.start(),
            match.end(),
            frozenset(-r for r in readings) if negative else readings,
        )


def parse_digits(digits: str, language: str) -> frozenset[Fraction]:
    """Return all possible values of digits with separators.

    12.300,50 is unambiguous. A single separator before three digits depends on the language.
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
    is_article: bool = False,
) -> NumberMatch:
    """Return the number with its context: magnitude, unit, a currency sign before it."""
    magnitude = _MAGNITUDE.match(text, end)
    if magnitude and not in_words:
        word = magnitude[1] or magnitude[2]
        factor = _MAGNITUDES.get(word) or (_MAGNITUDES.get(word.lower()) if len(word) > 1 else None)
        if factor and not (word == "M" and unit_at(text, end)):
            readings = frozenset(reading * factor for reading in readings)
            end = magnitude.end()
    of = _PREPOSITION.match(text, end)
    if of and max(readings) >= 10**6 and (unit_match := unit_at(text, of.end())):
        return _with_currency(
            text, start, end, readings, unit_match, in_words=in_words, is_article=is_article
        )
    return _with_currency(
        text, start, end, readings, unit_at(text, end), in_words=in_words, is_article=is_article
    )


def _with_currency(
    text: str,
    start: int,
    end: int,
    readings: frozenset[Fraction],
    unit_match: tuple[Unit, int] | None,
    *,
    in_words: bool,
    is_article: bool,
) -> NumberMatch:
    before = _CURRENCY_BEFORE.search(text[max(0, start - 5) : start])
    unit: Unit | None = None
    if unit_match:
        unit, end = unit_match
        if half := _HALF_MORE.match(text, end):
            readings, end, is_article = (
                frozenset(reading + Fraction(1, 2) for reading in readings),
                half.end(),
                False,
            )
    if before and (unit is None or unit.dimension in {"length", "cny"}):
        unit, start = unit_word(before[1]), start - len(before[0])
    return NumberMatch(start, end, readings, unit, in_words, is_article)


def _words(text: str, language: str | None) -> Iterator[NumberMatch]:
    for spelled in spelled_numbers(text, language):
        number = _with_unit(
            text,
            spelled.start,
            spelled.end,
            frozenset({spelled.value}),
            in_words=True,
            is_article=spelled.is_article,
        )
        half = spelled.value.denominator != 1
        if half and number.unit is None:
            inner = re.match(r" (?:an?|one|de|d') ?", text[spelled.end : spelled.end + 5])
            unit_match = unit_at(text, spelled.end + inner.end() - 1) if inner else None
            if unit_match is None:
                continue
            number = NumberMatch(
                spelled.start,
                unit_match[1],
                frozenset({spelled.value}),
                unit_match[0],
                in_words=True,
            )
        if (
            language is not None
            and number.is_article
            and (number.unit is None or text[spelled.start : spelled.end].lower() != "one")
        ):
            continue  # "a week" is not a count
        yield number
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


def _compound_chinese(text: str) -> Iterator[NumberMatch]:
    """Yield Chinese numbers of two parts: 一米七五, 3块5, 3万5千元."""
    for match in _HAN_WITH_FRACTION.finditer(text):
        first, after = _parse_number(match["first"]), match["after"]
        digits = after if after.isdigit() else "".join(str(int(parse_chinese(c))) for c in after)
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


def _parse_number(numerals: str) -> Fraction:
    return (
        Fraction(numerals)
        if numerals[0].isdigit() and numerals.isascii()
        else parse_chinese(numerals)
    )


def _chinese(text: str, *, generous: bool) -> Iterator[NumberMatch]:
    for match in _HAN_NUMBER.finditer(text):
        numerals = match["digits"]
        if numerals[0].isdigit() and not match["share"] and not match["half"]:
            continue  # `_digits` reads it
        value = Fraction(numerals) if numerals[0].isdigit() else parse_chinese(numerals)
        if match["share"]:
            yield NumberMatch(match.start(), match.end(), frozenset({value}), unit_word("%"))
            continue
        unit_match = unit_at(text, match.end())
        if match["half"] and unit_match:
            yield NumberMatch(
                match.start(), unit_match[1], frozenset({value + Fraction(1, 2)}), unit_match[0]
            )
        elif (
            unit_match
            or _MEASURE_WORD.match(text, match.end())
            or generous
            or _WITH_PLACE_VALUES.fullmatch(numerals)
        ):
            end = unit_match[1] if unit_match else match.end()
            yield NumberMatch(
                match.start(),
                end,
                frozenset({value}),
                unit_match[0] if unit_match else None,
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


def _share_units(text: str, numbers: Sequence[NumberMatch]) -> list[NumberMatch]:
    """Copy the unit of the second number of a range to the first: 5-7 km."""
    result = list(numbers)
    for index in range(len(result) - 2, -1, -1):
        number, following = result[index], result[index + 1]
        if (
            number.unit is None
            and following.unit
            and _BETWEEN.fullmatch(text, number.end, following.start)
        ):
            result[index] = number._replace(unit=following.unit)
    return result


def _add_parts(text: str, numbers: Sequence[NumberMatch]) -> Iterator[NumberMatch]:
    """Add up quantities in two units: 1 h 30 min, 2 hours and 15 minutes, 5 ft 10 in."""
    last: NumberMatch | None = None
    for number in numbers:
        if last is not None and _is_smaller_part(text, last, number):
            assert last.unit is not None
            assert number.unit is not None
            ratio = number.unit.factor / last.unit.factor
            total = frozenset(a + b * ratio for a in last.readings for b in number.readings)
            last = last._replace(end=number.end, readings=total)
            continue
        if last is not None:
            yield last
        last = number
    if last is not None:
        yield last


def _is_smaller_part(text: str, number: NumberMatch, following: NumberMatch) -> bool:
    if (
        number.unit is None
        or following.unit is None
        or number.unit.dimension != following.unit.dimension
    ):
        return False
    if (
        number.unit.dimension not in _ADDITIVE_DIMENSIONS
        or following.unit.factor >= number.unit.factor
    ):
        return False
    return (
        _LINKS.fullmatch(text, number.end, following.start) is not None
        and text[number.end : number.end + 1] != ","
    )
