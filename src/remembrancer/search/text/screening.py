"""Instruction-like text: words in a stored turn that speak to whichever model will read it.

Flagging is a hint for people and for ranking, not a defence by itself: what is recalled is given
out as data in any case.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib import resources

_INVISIBLE = re.compile(  # format characters, variation selectors, tags
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_LINE_BREAKS = re.compile("[\r\u0085\u2028\u2029]+")
_ALIKE = str.maketrans(
    "аеорсухіѕјԁԛԝһӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aeopcyxisjdqwhlABEZHIKMNOPTYXo"
)  # letters of other scripts that look Latin
_LATIN = re.compile("[a-z]")


@lru_cache(maxsize=1)
def _techniques() -> tuple[tuple[str, re.Pattern[str]], ...]:
    table = tomllib.loads(
        resources.files(__package__).joinpath("screening.toml").read_text("utf-8")
    )
    return tuple(
        (name, re.compile("|".join(f"(?:{_plain(p)})" for p in row["patterns"]), re.MULTILINE))
        for name, row in table.items()
    )


def _plain(text: str) -> str:
    """Width, case and Latin accents evened out, without characters that cannot be seen."""
    decomposed = unicodedata.normalize("NFKD", _LINE_BREAKS.sub("\n", _INVISIBLE.sub("", text)))
    return unicodedata.normalize(
        "NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    )


def instruction_like(text: str) -> tuple[str, ...]:
    """The techniques (tables of screening.toml) by which a text seems to give orders to its reader;
    empty for most texts.
    """
    plain = _plain(text).lower()
    found = {name for name, pattern in _techniques() if pattern.search(plain)}
    if not plain.isascii() and _LATIN.search(plain):
        disguised = plain.translate(_ALIKE)
        found |= (
            {name for name, pattern in _techniques() if pattern.search(disguised)}
            if disguised != plain
            else set()
        )
    return tuple(name for name, _ in _techniques() if name in found)
