"""Units of measure and money:

what is written behind a number, and how many of its dimension's base unit that is (units.toml).
"""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from importlib import resources
from typing import NamedTuple

ENDING_CHARACTERS_MAX = 3  # what a star of the table stands for
_UNSPACED_CHARACTERS_MAX = 4  # of the longest unit of a language without spaces
_WORD = re.compile(
    r"(?:°\s?[CFcf]?(?![^\W\d_])|[%‰℃℉€$£¥₽₹]|[^\W\d_\u3400-\u9fff]+(?:[²³23](?![\d.]))?(?:/[^\W\d_\u3400-\u9fff]+)?)"
)
_NEXT_WORD = re.compile(r"[ ]([^\W\d_\u3400-\u9fff]+)")
_HAN = re.compile(r"[\u3400-\u9fff]")


class Unit(NamedTuple):
    """How many base units of a dimension one is."""

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
SIGNS = "|".join(
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
    """The unit that a word or a sign is, whatever its number and case."""
    lower = word.lower()
    if len(word) == 1:  # W is a watt, w is none; 5G weighs nothing
        return UNITS.get(word)
    found = UNITS.get(word) or UNITS.get(lower)
    for cut in range(ENDING_CHARACTERS_MAX + 1):
        found = found or UNITS.get(f"{lower[: len(lower) - cut]}*")
    return found


def unit_at(text: str, place: int) -> tuple[Unit, int] | None:
    """The unit that is written at a place of a text, and where it ends; one blank or hyphen may
    stand before it.
    """
    if text[place : place + 1] in {" ", "-", "\u2011"}:
        place += 1
    if _HAN.match(text, place):
        return _unspaced(text, place)
    word = _WORD.match(text, place)
    if word is None or text[word.end() : word.end() + 1] in {"'", "’"}:  # d'euros: no day
        return None
    second = _NEXT_WORD.match(text, word.end())
    if second and (found := _two_words(word[0].lower(), second[1].lower())):
        return found, second.end()
    single = unit_word(word[0].replace(" ", ""))
    return (single, word.end()) if single else None


def _unspaced(text: str, place: int) -> tuple[Unit, int] | None:
    place += text[place] == "个" and text[place : place + 2] != "个月"
    for length in range(_UNSPACED_CHARACTERS_MAX, 0, -1):
        if found := UNITS.get(text[place : place + length]):
            return found, place + length
    return None


def _two_words(first: str, second: str) -> Unit | None:
    firsts = [first, *(f"{first[: len(first) - cut]}*" for cut in range(ENDING_CHARACTERS_MAX + 1))]
    seconds = [
        second,
        *(f"{second[: len(second) - cut]}*" for cut in range(ENDING_CHARACTERS_MAX + 1)),
    ]
    return next((UNITS[f"{a} {b}"] for a in firsts for b in seconds if f"{a} {b}" in UNITS), None)
