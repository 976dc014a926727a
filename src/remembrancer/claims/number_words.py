"""Parse numbers in words (English, German, French, Spanish, Russian) and Chinese numerals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import NamedTuple

_HALF, _ONE_AND_A_HALF = Fraction(1, 2), Fraction(3, 2)
# By language: 0, 1, 2 and so on up to the first compound, then tens, then other words.
_COUNTING = {
    "en": (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen "
        "fourteen fifteen sixteen seventeen eighteen nineteen"
    ),
    "de": (
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn "
        "vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"
    ),
    "fr": (
        "zéro une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze "
        "quinze seize"
    ),
    "es": (
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce "
        "quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós "
        "veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
    ),
    "ru": (
        "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать "
        "тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать"
    ),
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante septante huitante nonante",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "ru": "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто",
}
_EXTRA_WORDS: dict[str, dict[str, int | Fraction]] = {
    "en": {"hundred": 100, "thousand": 1000, "million": 10**6, "dozen": 12, "half": _HALF},
    "de": {
        "ein": 1, "eine": 1, "einen": 1, "einer": 1, "einem": 1, "zwo": 2, "million": 10**6,
        "millionen": 10**6, "dutzend": 12,
        "halbe": _HALF,
        "halben": _HALF, "halbes": _HALF, "anderthalb": _ONE_AND_A_HALF,
        "eineinhalb": _ONE_AND_A_HALF, "zweieinhalb": Fraction(5, 2),
        "dreieinhalb": Fraction(7, 2), "viereinhalb": Fraction(9, 2),
    },
    "fr": {"un": 1, "vingts": 20, "cent": 100, "cents": 100, "mille": 1000, "million": 10**6,
        "millions": 10**6, "demi": _HALF,
           "demie": _HALF},
    "es": {
        "un": 1, "una": 1, "cien": 100, "ciento": 100, "doscientos": 200, "doscientas": 200,
        "trescientos": 300, "trescientas": 300,
        "cuatrocientos": 400, "cuatrocientas": 400, "quinientos": 500, "quinientas": 500,
        "seiscientos": 600, "seiscientas": 600,
        "setecientos": 700, "setecientas": 700, "ochocientos": 800, "ochocientas": 800,
        "novecientos": 900, "novecientas": 900, "mil": 1000,
        "millón": 10**6, "millones": 10**6, "docena": 12, "media": _HALF, "medio": _HALF,
    },
    "ru": {
        "одна": 1, "одно": 1, "одну": 1, "две": 2, "двух": 2, "двум": 2, "двумя": 2, "трёх": 3,
        "трех": 3, "трём": 3, "тремя": 3,
        "четырёх": 4,
        "четырех": 4, "пяти": 5, "шести": 6, "семи": 7, "восьми": 8, "девяти": 9, "десяти": 10,
        "двенадцати": 12, "двадцати": 20,
        "тридцати": 30, "сорока": 40, "пятидесяти": 50, "сто": 100, "ста": 100, "двести": 200,
        "триста": 300, "четыреста": 400,
        "пятьсот": 500, "шестьсот": 600, "семьсот": 700, "восемьсот": 800, "девятьсот": 900,
        "тысяча": 1000, "тысячи": 1000, "тысяч": 1000,
        "тысячу": 1000, "миллион": 10**6, "миллиона": 10**6, "миллионов": 10**6,
        "полтора": _ONE_AND_A_HALF, "полторы": _ONE_AND_A_HALF,
        "пол": _HALF,
    },
}  # fmt: skip
ARTICLES = frozenset(
    {
        "one",
        "a",
        "an",
        "ein",
        "eine",
        "einen",
        "einer",
        "einem",
        "eins",
        "un",
        "une",
        "una",
        "uno",
        "один",
        "одна",
        "одно",
        "одну",
    }
)
# Words that also exist in another language: they are numbers only in their own.
_AMBIGUOUS_WORDS = frozenset(
    {
        "sept",
        "cent",
        "cents",
        "once",
        "elf",
        "mille",
        "mil",
        "neuf",
        "dos",
        "seize",
        "null",
        "pol",
        "cero",
    }
)
_CONJUNCTIONS = frozenset({"and", "und", "et", "y"})
_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]+")
_GAP = re.compile(r"[ \u2011-]")


class SpelledNumber(NamedTuple):
    """A number in words: `text[start:end]`."""

    value: Fraction
    start: int
    end: int
    is_small: bool  # at most twelve, or a fraction: often not a claim by itself
    is_article: bool  # may be an article, not a number


def _german() -> dict[str, int | Fraction]:
    ones, tens = _COUNTING["de"].split(), _TENS["de"].split()
    low = dict(zip(ones, range(20), strict=True)) | {ten: 10 * n for n, ten in enumerate(tens, 2)}
    for unit in range(1, 10):
        stem = "ein" if unit == 1 else ones[unit]
        low |= {f"{stem}und{ten}": 10 * n + unit for n, ten in enumerate(tens, 2)}
    hundreds = {"hundert": 100} | {
        f"{'ein' if n == 1 else ones[n]}hundert": 100 * n for n in range(1, 10)
    }
    below = (
        low
        | hundreds
        | {f"{word}{rest}": n + m for word, n in hundreds.items() for rest, m in low.items() if m}
    )
    return dict(below)


def _tables() -> dict[str, dict[str, int | Fraction]]:
    tables = {}
    for language, counting in _COUNTING.items():
        words: dict[str, int | Fraction] = {word: n for n, word in enumerate(counting.split())}
        words |= {word: 10 * n for n, word in enumerate(_TENS[language].split(), 2)}
        tables[language] = words | (_german() if language == "de" else {}) | _EXTRA_WORDS[language]
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


def spelled_numbers(text: str, language: str | None = None) -> Iterator[SpelledNumber]:
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
        self.words = 1
        self.is_article = word in ARTICLES
        self.conjunction_end: int | None = (
            None  # where an "and" ends that is part of the number only if more follows
        )
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
        self.last, self.end, self.conjunction_end, self.is_article = (
            Fraction(value),
            end,
            None,
            False,
        )
        self.words += 1
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

    def result(self) -> SpelledNumber:
        value = self.whole + self.rest
        return SpelledNumber(
            value, self.start, self.end, is_small=value <= 12, is_article=self.is_article
        )


_DIGITS = {**{c: n for n, c in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
CHINESE = "[零〇一二两三四五六七八九十百千万亿]{1,40}(?:点[零〇一二三四五六七八九]{1,40})?"


def parse_chinese(numerals: str) -> Fraction:
    """Return the value of Chinese numerals: 一百二十, 两点五, 二〇二六."""
    whole, _, after = numerals.partition("点")
    if len(whole) > 1 and all(c in _DIGITS for c in whole):
        value = Fraction(int("".join(str(_DIGITS[c]) for c in whole)))
    else:
        total, section, digit = 0, 0, 0
        for c in whole:
            if c in _DIGITS:
                digit = _DIGITS[c]
            elif c in _PLACES:
                section += (digit or 1) * _PLACES[c]
                digit = 0
            else:
                total = (total + section + digit) * (10**4 if c == "万" else 10**8) or (
                    10**4 if c == "万" else 10**8
                )
                section = digit = 0
        value = Fraction(total + section + digit)
    return value + (
        Fraction(int("".join(str(_DIGITS[c]) for c in after)), 10 ** len(after)) if after else 0
    )
