"""Find units and currencies after a number, with their base units (units.toml)."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from importlib import resources
from typing import NamedTuple

ENDING_CHARACTERS_MAX = 3  # characters that a star in the table matches
_UNSPACED_CHARACTERS_MAX = 4  # of the longest unit of a language without spaces
_WORD = re.compile(
    r"(?:°\s?[CFcf]?(?![^\W\d_])|[%‰℃℉€$£¥₽₹]"
    r"|[^\W\d_\u3400-\u9fff]+(?:[²³23](?![\d.]))?(?:/[^\W\d_\u3400-\u9fff]+)?)"
)
_NEXT_WORD = re.compile(r"[ ]([^\W\d_\u3400-\u9fff]+)")
_HAN = re.compile(r"[\u3400-\u9fff]")


class Unit(NamedTuple):
    """A unit: its dimension, and its size in base units of the dimension."""

    dimension: str
    factor: Fraction


def _load() -> dict[str, Unit]:
    table = tomllib.loads(resources.files(__package__).joinpath("units.toml").read_text("utf-8"))
    return {
        written.replace("·", " "): Unit(dimension, Fraction(factor))
        for dimension, rows in table.items()
        for factor, words in rows.items()
        for written in words.split()
    }


UNITS = _load()
CURRENCY_SIGNS = "|".join(
    re.escape(sign)
    for sign in (
        "US$",
        "€",
        "$",
        "£",
        "¥",
        "₽",
        "₹",
        "EUR",
        "USD",
        "GBP",
        "CHF",
        "CNY",
        "RUB",
        "INR",
        "JPY",
    )
)


def unit_word(word: str) -> Unit | None:
    """Return the unit of a word or a sign in any grammatical form, or None."""
    lower = word.lower()
    if len(word) == 1:  # case matters: W is a watt, w is not; G is not a gram
        return UNITS.get(word)
    unit = UNITS.get(word) or UNITS.get(lower)
    for cut in range(ENDING_CHARACTERS_MAX + 1):
        unit = unit or UNITS.get(f"{lower[: len(lower) - cut]}*")
    return unit


def unit_at(text: str, start: int) -> tuple[Unit, int] | None:
    """Return the unit at a position of a text and its end, or None.

    One blank or hyphen may precede it.
    """
    if text[start : start + 1] in {" ", "-", "\u2011"}:
        start += 1
    if _HAN.match(text, start):
        return _unit_without_spaces(text, start)
    word = _WORD.match(text, start)
    if word is None or text[word.end() : word.end() + 1] in {
        "'",
        "’",
    }:  # the d of d'euros is not a day
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
    firsts = [first, *(f"{first[: len(first) - cut]}*" for cut in range(ENDING_CHARACTERS_MAX + 1))]
    seconds = [
        second,
        *(f"{second[: len(second) - cut]}*" for cut in range(ENDING_CHARACTERS_MAX + 1)),
    ]
    return next((UNITS[f"{a} {b}"] for a in firsts for b in seconds if f"{a} {b}" in UNITS), None)
