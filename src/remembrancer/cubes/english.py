"""Detect English by its letters and by the function words that are specific to each language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from ..search.text.analysis import words
from ..search.text.languages import BY_CODE, LANGUAGES

# Of a text's words. English prose has 0.3 to 0.5, the tersest rule in the tests 0.12.
ENGLISH_SHARE_MIN = 0.08
ACCENTED_SHARE_MAX = 0.1  # of a text's words: names and loan words such as naïve
ACCENTED_MIN = 3  # accented words that are allowed in a text of any length
_GREEK = re.compile("[\u0370-\u03ff]")
_LETTERS = ("LATIN ", "GREEK ", "MICRO ")  # Greek for units and formulas
# Words of instructions that no other language of the table has. MUST and SHALL occur in rules of
# any language.
_INSTRUCTIONS = frozenset(
    words(
        "add after again against all always any avoid because before below between both call "
        "change check clear close create each else ensure every except few find first follow "
        "give given good greater has help if instead keep known last leave less let like longer "
        "look make many may merge might more most move much need needs never new next now off "
        "once one only open other out own pass prefer put read remove replace return reuse run "
        "same save see send set should since some start still stop such take tell test these "
        "think through try two under unless until up use used uses using verify wait want way "
        "well while whole with within without work works write "
    )
)
_ENGLISH = (BY_CODE["en"].stop - {"must", "shall"}) | _INSTRUCTIONS
_OTHERS = [
    language.stop - _ENGLISH
    for language in LANGUAGES
    if language.script == "latin" and language.code != "en"
]


def is_english(text: str) -> bool:
    """Return True if a text of at least a sentence is English; False in doubt."""
    total, english, _ = _count_words(text)
    return bool(total) and english >= ENGLISH_SHARE_MIN * total and may_be_english(text)


def may_be_english(text: str) -> bool:
    """Return True unless something shows that a text is in another language.

    The text may be only a word or two.
    """
    if any(
        character.isalpha() and not unicodedata.name(character, "").startswith(_LETTERS)
        for character in text
    ):
        return False
    total, english, other = _count_words(text)
    accented = sum(1 for word in words(text) if not word.isascii() and not _GREEK.match(word))
    return other <= english and accented <= max(ACCENTED_MIN, ACCENTED_SHARE_MAX * total)


def _count_words(text: str) -> tuple[int, int, int]:
    """Return the numbers of words, of English words, and of words of the likeliest other one."""
    counts = Counter(word for word in words(text) if len(word) > 1 and not word.isdigit())
    english = sum(count for word, count in counts.items() if word in _ENGLISH)
    other = max(sum(count for word, count in counts.items() if word in stop) for stop in _OTHERS)
    return counts.total(), english, other
