"""Find numbers with their units: 1,250 EUR, 1.250 €, zwölf Prozent, 百分之三十, 1 h 30 min."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from ..protocol.patterns import regex
from ..protocol.tables import read_table
from .values import Claim, Quantity

# --- Find units and currencies after a number, with their base units (units.toml) ------------

ENDING_CHARACTERS_MAX = 3  # characters that a star in the table matches
_UNSPACED_CHARACTERS_MAX = 4  # of the longest unit of a language without spaces
_UNIT_WORD = regex(
    r"(?:°\s?[CFcf]?(?![^\W\d_])|[%‰℃℉€$£¥₽₹]"
    r"|[^\W\d_\u3400-\u9fff]+(?:[²³23](?![\d.]))?(?:/[^\W\d_\u3400-\u9fff]+)?)"
)
_NEXT_WORD = regex(r"[ ]([^\W\d_\u3400-\u9fff]+)")
_HAN = regex(r"[\u3400-\u9fff]")


class Unit(NamedTuple):
    """A unit: its dimension, and its size in base units of the dimension."""

    dimension: str
    factor: Fraction


def _by_word(rows: Mapping[str, str]) -> dict[str, int | Fraction]:
    """Return the value of each word of a table of words by their values."""
    values = {word: Fraction(value) for value, words in rows.items() for word in words.split()}
    return {word: int(n) if n.denominator == 1 else n for word, n in values.items()}


_WORDS_TABLE = read_table(__package__, "numbers.toml")
UNITS = {
    word.replace("·", " "): Unit(dimension, Fraction(factor))
    for dimension, rows in read_table(__package__, "units.toml").items()
    for word, factor in _by_word(rows).items()
}
CURRENCY_SIGNS = "|".join(map(re.escape, _WORDS_TABLE["currencies"].split()))


def unit_word(word: str) -> Unit | None:
    """Return the unit of a word or a sign in any grammatical form, or None."""
    if len(word) == 1:  # case matters: W is a watt, w is not; G is not a gram
        return UNITS.get(word)
    return next((UNITS[form] for form in (word, *_forms(word.lower())) if form in UNITS), None)


def _forms(word: str) -> list[str]:
    """Return a word as the table may have it: whole, or with a star for its last characters."""
    return [word, *(f"{word[: len(word) - cut]}*" for cut in range(ENDING_CHARACTERS_MAX + 1))]


def unit_at(text: str, start: int) -> tuple[Unit, int] | None:
    """Return the unit at a position of a text and its end, or None.

    One blank or hyphen may precede it.
    """
    if text[start : start + 1] in {" ", "-", "\u2011"}:
        start += 1
    if _HAN.match(text, start):
        return _unit_without_spaces(text, start)
    word = _UNIT_WORD.match(text, start)
    # The d of d'euros is not a day.
    if word is None or text[word.end() : word.end() + 1] in {"'", "’"}:
        return None
    second = _NEXT_WORD.match(text, word.end())
    if second and (unit := _two_word_unit(word[0].lower(), second[1].lower())):
        return unit, second.end()
    single = unit_word(word[0].replace(" ", ""))
    return (single, word.end()) if single else None


def _unit_without_spaces(text: str, start: int) -> tuple[Unit, int] | None:
    start += text[start] == "个" and text[start : start + 2] != "个月"
    for length in range(_UNSPACED_CHARACTERS_MAX, 0, -1):
        if unit := UNITS.get(text[start : start + length]):
            return unit, start + length
    return None


def _two_word_unit(first: str, second: str) -> Unit | None:
    names = map(" ".join, product(_forms(first), _forms(second)))
    return next((UNITS[name] for name in names if name in UNITS), None)


# --- Parse numbers in words (English, German, French, Spanish, Russian) and Chinese numerals -

_LANGUAGES: dict[str, dict[str, Any]] = _WORDS_TABLE["languages"]
ARTICLES = frozenset(_WORDS_TABLE["articles"].split())
_AMBIGUOUS_WORDS = frozenset(_WORDS_TABLE["ambiguous"].split())
_CONJUNCTIONS = frozenset({"and", "und", "et", "y"})
_WORD = regex(r"[^\W\d_\u3400-\u9fff]+")
_GAP = regex(r"[ \u2011-]")


class NumberMatch(NamedTuple):
    """A number, `text[start:end]`, before it is combined with its neighbours."""

    start: int
    end: int
    readings: frozenset[Fraction]
    unit: Unit | None = None
    in_words: bool = False
    is_article: bool = False  # may be an article, not a number


def _german(ones: list[str], tens: list[str]) -> dict[str, int | Fraction]:
    """Return the German compounds up to 999."""
    low = dict(zip(ones, range(20), strict=True)) | {ten: 10 * n for n, ten in enumerate(tens, 2)}
    for unit in range(1, 10):
        stem = "ein" if unit == 1 else ones[unit]
        low |= {f"{stem}und{ten}": 10 * n + unit for n, ten in enumerate(tens, 2)}
    hundreds = {"hundert": 100} | {
        f"{'ein' if n == 1 else ones[n]}hundert": 100 * n for n in range(1, 10)
    }
    above = {f"{word}{rest}": n + m for word, n in hundreds.items() for rest, m in low.items() if m}
    return dict(low | hundreds | above)


def _tables() -> dict[str, dict[str, int | Fraction]]:
    tables = {}
    for language, table in _LANGUAGES.items():
        ones, tens = table["counting"].split(), table["tens"].split()
        words: dict[str, int | Fraction] = {word: n for n, word in enumerate(ones)}
        words |= {word: 10 * n for n, word in enumerate(tens, 2)}
        compounds = _german(ones, tens) if language == "de" else {}
        tables[language] = words | compounds | _by_word(table["words"])
    return tables


WORDS = _tables()
ALL_WORDS = {word: value for words in WORDS.values() for word, value in words.items()}


def number_word(word: str, words: Mapping[str, int | Fraction]) -> int | Fraction | None:
    """Return the value of one word, or None. German compounds include thousands."""
    value = words.get(word)
    if value is None and "tausend" in word and "eins" in words:
        head, _, tail = word.partition("tausend")
        thousands, rest = words.get(head or "eins"), words.get(tail or "null")
        if isinstance(thousands, int) and isinstance(rest, int):
            return thousands * 1000 + rest
    return value


def spelled_numbers(text: str, language: str | None = None) -> Iterator[NumberMatch]:
    """Yield the numbers in words of a text, in order.

    With a `language`, ambiguous words of other languages are ignored.
    """
    words = ALL_WORDS if language is None else _words_of_language(language)
    current: _NumberParser | None = None
    for match in _WORD.finditer(text):
        word = match[0].lower()
        value = number_word(word, words)
        if current is not None and current.is_next(text, match.start()):
            if value is not None and current.add(value, word, match.end()):
                continue
            if word in _CONJUNCTIONS and current.conjunction_end is None:
                current.conjunction_end = match.end()
                continue
        if current is not None:
            yield current.result()
        current = (
            None
            if value is None
            else _NumberParser(Fraction(value), word, match.start(), match.end())
        )
    if current is not None:
        yield current.result()


@cache
def _words_of_language(language: str) -> dict[str, int | Fraction]:
    own = WORDS.get(language, {})
    return {
        word: value
        for word, value in ALL_WORDS.items()
        if word in own or word not in _AMBIGUOUS_WORDS
    }


class _NumberParser:
    """The state of parsing a number: its whole thousands, and the rest below the next thousand."""

    def __init__(self, value: Fraction, word: str, start: int, end: int) -> None:
        self.whole = Fraction(0)
        self.rest = self.last = value
        self.start = start
        self.end = end
        self.is_article = word in ARTICLES
        # Where an "and" ends that is part of the number only if more follows.
        self.conjunction_end: int | None = None
        if value >= 1000 and value in (1000, 10**6):
            self.whole, self.rest = value, Fraction(0)

    def is_next(self, text: str, start: int) -> bool:
        end = self.end if self.conjunction_end is None else self.conjunction_end
        return start - end == 1 and _GAP.match(text, end) is not None

    def add(self, value: int | Fraction, word: str, end: int) -> bool:
        low = self.rest % 100
        if value in (1000, 10**6):
            if not self.rest:
                return False
            self.whole, self.rest = self.whole + self.rest * value, Fraction(0)
        elif value == 100 and 0 < self.rest < 20:
            self.rest *= 100
        elif word in {"vingt", "vingts"} and self.last == 4:
            self.rest += 76
        elif value.denominator == 1 and self._has_room(int(value), int(low)):
            self.rest += value
        else:
            return False
        self.last, self.end = Fraction(value), end
        self.conjunction_end, self.is_article = None, False
        return True

    def _has_room(self, value: int, low: int) -> bool:
        if self.rest.denominator != 1 or value == 0:
            return False
        if value < 10:
            return low % 10 == 0 and (low != 10 or value >= 7) and bool(self.rest or self.whole)
        if value < 20:
            return low in (0, 60, 80) and bool(self.rest or self.whole)
        if value < 100:
            return low == 0 and bool(self.rest or self.whole)
        return self.rest == 0 and bool(self.whole) and value < 1000

    def result(self) -> NumberMatch:
        readings = frozenset({self.whole + self.rest})
        return NumberMatch(self.start, self.end, readings, None, True, self.is_article)


_DIGITS = {**{c: n for n, c in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
CHINESE = "[零〇一二两三四五六七八九十百千万亿]{1,40}(?:点[零〇一二三四五六七八九]{1,40})?"


def parse_chinese(numerals: str) -> Fraction:
    """Return the value of Chinese numerals: 一百二十, 两点五, 二〇二六."""
    whole, _, after = numerals.partition("点")
    if len(whole) > 1 and all(c in _DIGITS for c in whole):
        value = Fraction(_joined(whole))
    else:
        total, section, digit = 0, 0, 0
        for c in whole:
            if c in _DIGITS:
                digit = _DIGITS[c]
            elif c in _PLACES:
                section += (digit or 1) * _PLACES[c]
                digit = 0
            else:
                total = (total + section + digit) * _MYRIADS[c] or _MYRIADS[c]
                section = digit = 0
        value = Fraction(total + section + digit)
    return value + (Fraction(_joined(after), 10 ** len(after)) if after else 0)


def _joined(digits: str) -> int:
    return int("".join(str(_DIGITS[c]) for c in digits))


# --- Find numbers with their units: 1,250 EUR, 1.250 €, zwölf Prozent, 百分之三十, 1 h 30 min

_LETTERS = r"A-Za-z_\u00c0-\u024f\u0370-\u03ff\u0400-\u052f"
_NUMBER = regex(
    rf"(?P<sign>(?<![\w)\].%-])-)?(?<![{_LETTERS}\d])(?<!\d[.,])"
    r"(?P<digits>\d{1,3}(?P<mark>[.,' \u2019])\d{3}(?:(?P=mark)\d{3})*"
    r"(?:(?!(?P=mark))[.,]\d{1,15})?(?![\d])"
    r"|\d{1,40}(?!\d)(?:[.,]\d{1,40}(?!\d))?)"
    r"(?P<half>½)?",
    re.ASCII,
)
_CURRENCY_BEFORE = regex(rf"({CURRENCY_SIGNS})\s?$")
_MAGNITUDES = _by_word(_WORDS_TABLE["magnitudes"])
_MAGNITUDE = regex(rf"[ ]?([万亿千]|[{_LETTERS}]+)\.?(?![{_LETTERS}\d])|[ ]?([万亿千])")
_PREPOSITION = regex(r"[ ]d(?:e[ ]|['’])")  # deux millions d'euros
_HALF_MORE = regex(r"[ -](?:and a half|et demie?|y medi[ao]|с половиной)\b", re.IGNORECASE)
_HAN_NUMBER = regex(
    rf"(?P<share>百分之)?(?P<digits>{CHINESE}|\d{{1,40}}(?:\.\d{{1,40}})?)"
    r"(?P<half>个半|半(?=[小天年个月公]))?"
)
_HAN_WITH_FRACTION = regex(
    r"(?P<first>[一二两三\d])(?P<unit>米|块)(?P<after>[零一二三四五六七八九]{1,2}|\d{1,2})"
    r"(?![\d一二三四五六七八九十百千万厘分])"
)
_HAN_SUM = regex(r"(?<!\d)(\d{1,40}(?:\.\d{1,40})?)([万亿])(\d{1,40})([千百])")
_WITH_PLACE_VALUES = regex("(?=.*[十百千万亿])(?=.*[一二两三四五六七八九])(?!.*万一|一千零一).{2,}")
_MEASURE_WORD = regex("[个只人次本张台位名岁号件条层楼页块家间倍种杯瓶亩棵双套辆]")
_MINUS = regex(r"(?:\b(?:minus|moins|menos|минус)|零下|负)\s?$", re.IGNORECASE)
_BETWEEN = regex(
    r"\s?(?:-|\u2013|\u2014|~|to|bis|und|and|et|à|a|y|до|и|по|至|到)\s?", re.IGNORECASE
)
_LINKS = regex(r"[ ,]{0,2}(?:(?:and|und|et|y|и)[ ])?")
_DECIMAL_COMMA = frozenset(_WORDS_TABLE["decimal_comma"].split())
_ADDITIVE_DIMENSIONS = frozenset({"time", "length", "mass", "months"})
_SMALL_MAX = 12


def _found(
    match: re.Match[str],
    value: Fraction,
    unit: Unit | None,
    *,
    end: int | None = None,
    in_words: bool = False,
) -> NumberMatch:
    """Return the number of a match, up to `end` if it goes on with its unit."""
    end = match.end() if end is None else end
    return NumberMatch(match.start(), end, frozenset({value}), unit, in_words)


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
    is_small = number.in_words and number.unit is None and max(number.readings) <= _SMALL_MAX
    quantity = Quantity(number.readings, unit.dimension or None, unit.factor)
    return Claim("number", number.start, number.end, quantity, weak=is_small)


def _digits(text: str, language: str) -> Iterator[NumberMatch]:
    for match in _NUMBER.finditer(text):
        readings = parse_digits(match["digits"], language)
        if match["half"]:
            readings = frozenset(reading + Fraction(1, 2) for reading in readings)
        negative = match["sign"] or _MINUS.search(text[max(0, match.start() - 8) : match.start()])
        if negative:
            readings = frozenset(-reading for reading in readings)
        yield _with_unit(text, NumberMatch(match.start(), match.end(), readings))


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


def _with_unit(text: str, number: NumberMatch) -> NumberMatch:
    """Return the number with its context: magnitude, unit, a currency sign before it."""
    magnitude = _MAGNITUDE.match(text, number.end)
    if magnitude and not number.in_words:
        word = magnitude[1] or magnitude[2]
        factor = _MAGNITUDES.get(word) or (_MAGNITUDES.get(word.lower()) if len(word) > 1 else None)
        if factor and not (word == "M" and unit_at(text, number.end)):
            readings = frozenset(reading * factor for reading in number.readings)
            number = number._replace(end=magnitude.end(), readings=readings)
    of = _PREPOSITION.match(text, number.end)
    unit_match = unit_at(text, of.end()) if of and max(number.readings) >= 10**6 else None
    if unit_match := unit_match or unit_at(text, number.end):
        number = number._replace(unit=unit_match[0], end=unit_match[1])
        if half := _HALF_MORE.match(text, number.end):
            readings = frozenset(reading + Fraction(1, 2) for reading in number.readings)
            number = number._replace(end=half.end(), readings=readings, is_article=False)
    before = _CURRENCY_BEFORE.search(text[max(0, number.start - 5) : number.start])
    if before and (number.unit is None or number.unit.dimension in {"length", "cny"}):
        start = number.start - len(before[0])
        number = number._replace(start=start, unit=unit_word(before[1]))
    return number


def _words(text: str, language: str | None) -> Iterator[NumberMatch]:
    for spelled in spelled_numbers(text, language):
        number = _with_unit(text, spelled)
        [value] = spelled.readings
        if value.denominator != 1 and number.unit is None:
            inner = re.match(r" (?:an?|one|de|d') ?", text[spelled.end : spelled.end + 5])
            unit_match = unit_at(text, spelled.end + inner.end() - 1) if inner else None
            if unit_match is None:
                continue
            number = spelled._replace(unit=unit_match[0], end=unit_match[1], is_article=False)
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
        yield _found(match, Fraction(1, 2), unit_word(match[1]), in_words=True)
    for match in re.finditer(
        r"\b(?:an hour|eine Stunde|une heure|una hora) ?(?=and a half|et demie|y media)",
        text,
        re.IGNORECASE,
    ):
        half_more = _HALF_MORE.match(text, match.end() - 1)
        if half_more:
            hour, end = unit_word("hour"), half_more.end()
            yield _found(match, Fraction(3, 2), hour, end=end, in_words=True)


def _compound_chinese(text: str) -> Iterator[NumberMatch]:
    """Yield Chinese numbers of two parts: 一米七五, 3块5, 3万5千元."""
    for match in _HAN_WITH_FRACTION.finditer(text):
        first, after = _value_of(match["first"]), match["after"]
        digits = after if after.isdigit() else "".join(str(int(parse_chinese(c))) for c in after)
        value = first + Fraction(int(digits), 10 ** len(digits))
        yield _found(match, value, unit_word(match["unit"]))
    for match in _HAN_SUM.finditer(text):
        value = Fraction(match[1]) * _MYRIADS[match[2]] + Fraction(match[3]) * _PLACES[match[4]]
        yield _with_unit(text, _found(match, value, None, in_words=True))


def _value_of(numerals: str) -> Fraction:
    return Fraction(numerals) if numerals[0].isdigit() else parse_chinese(numerals)


def _chinese(text: str, *, generous: bool) -> Iterator[NumberMatch]:
    for match in _HAN_NUMBER.finditer(text):
        numerals = match["digits"]
        if numerals[0].isdigit() and not match["share"] and not match["half"]:
            continue  # `_digits` reads it
        value = _value_of(numerals)
        if match["share"]:
            yield _found(match, value, unit_word("%"))
            continue
        unit_match = unit_at(text, match.end())
        if match["half"] and unit_match:
            yield _found(match, value + Fraction(1, 2), unit_match[0], end=unit_match[1])
        elif (
            unit_match
            or _MEASURE_WORD.match(text, match.end())
            or generous
            or _WITH_PLACE_VALUES.fullmatch(numerals)
        ):
            unit, end = unit_match or (None, match.end())
            yield _found(match, value, unit, end=end, in_words=value <= _SMALL_MAX)
    for match in re.finditer(r"半(?:个)?(小时|年|天|月|公斤|公里)", text):
        if not re.search(
            r"[\d零〇一二两三四五六七八九十百千万亿个]$",
            text[max(0, match.start() - 1) : match.start()],
        ):
            unit = unit_word("个月" if match[1] == "月" else match[1])
            yield _found(match, Fraction(1, 2), unit, in_words=True)


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
    first, second = number.unit, following.unit
    if first is None or second is None or first.dimension != second.dimension:
        return False
    if first.dimension not in _ADDITIVE_DIMENSIONS or second.factor >= first.factor:
        return False
    return (
        _LINKS.fullmatch(text, number.end, following.start) is not None
        and text[number.end : number.end + 1] != ","
    )
