"""Whether a text is English:

by its letters, and by the little words that every language has of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from ..search.text.analysis import words
from ..search.text.languages import BY_CODE, LANGUAGES

# of a text's words; English prose has 0.3 to 0.5, the tersest rule of the tests 0.12
ENGLISH_SHARE_MIN = 0.08
ACCENTED_SHARE_MAX = 0.1  # of a text's words: names and loan words such as naïve
ACCENTED_ANYWAY = 3  # so many may stand in a text however short
_GREEK = re.compile("[\u0370-\u03ff]")
_LETTERS = ("LATIN ", "GREEK ", "MICRO ")  # Greek for units and formulas
# Words of instructions that no other language of the table writes so. MUST and SHALL stand in rules
# of any language.
_INSTRUCTING = frozenset(
    words(
        "add after again against all always any avoid because before below between both call change check clear close create each "
        "else ensure every except few find first follow give given good greater has help if instead keep known last leave less let "
        "like longer look make many may merge might more most move much need needs never new next now off once one only open other out "
        "own pass prefer put read remove replace return reuse run same save see send set should since some start still stop such take "
        "tell test these think through try two under unless until up use used uses using verify wait want way well while whole with "
        "within without work works write "
    )
)
_ENGLISH = BY_CODE["en"].stop | _INSTRUCTING
_OTHERS = [
    language.stop - _ENGLISH
    for language in LANGUAGES
    if language.script == "latin" and language.code != "en"
]


def is_english(text: str) -> bool:
    """Whether a text of a sentence or more is English. When in doubt it is not."""
    told, english, _ = _counted(text)
    return bool(told) and english >= ENGLISH_SHARE_MIN * told and may_be_english(text)


def may_be_english(text: str) -> bool:
    """Whether nothing shows that a text, perhaps of a word or two, is in another language."""
    if any(
        character.isalpha() and not unicodedata.name(character, "").startswith(_LETTERS)
        for character in text
    ):
        return False
    told, english, other = _counted(text)
    accented = sum(1 for word in words(text) if not word.isascii() and not _GREEK.match(word))
    return other <= english and accented <= max(ACCENTED_ANYWAY, ACCENTED_SHARE_MAX * told)


def _counted(text: str) -> tuple[int, int, int]:
    """How many words a text has, how many of them English alone has, and how many the likeliest
    other language has.
    """
    spoken = Counter(word for word in words(text) if len(word) > 1 and not word.isdigit())
    english = sum(count for word, count in spoken.items() if word in _ENGLISH)
    other = max(sum(count for word, count in spoken.items() if word in stop) for stop in _OTHERS)
    return spoken.total(), english, other
