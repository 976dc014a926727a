"""Language data for search: script, stop words, stemmer, months and words about time.

The table is `languages.toml`. A language's position is stored with every part of an event, so new
languages are appended, never inserted.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import Stemmer

from ...protocol.tables import read_table

FALLBACK = "en"  # for Latin text without any known stop word

# Snowball stemmers are not thread-safe, so each thread has its own.
_stemmers = threading.local()


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """One language of the table; all words are normalised (NFKC, case-folded)."""

    code: str
    number: int  # place in the table
    stemmer: str
    script: str
    compounds: bool
    stop: frozenset[str]
    months: dict[str, int]  # name or abbreviation -> 1..12


def normalize(text: str) -> str:
    """Unify compatibility forms (full width, ligatures) and fold case."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _words(text: str) -> frozenset[str]:
    return frozenset(normalize(text).split())


def _load() -> tuple[Language, ...]:
    rows = read_table(__package__, "languages.toml").items()
    return tuple(
        Language(
            code=code,
            number=number,
            stemmer=row["stemmer"],
            script=row["script"],
            compounds=row["compounds"],
            stop=_words(row["stop"]),
            months={
                normalize(name): month
                for month, names in enumerate(row["months"], 1)
                for name in names
            },
        )
        for number, (code, row) in enumerate(rows)
    )


LANGUAGES = _load()
BY_CODE = {language.code: language for language in LANGUAGES}
MONTH_WORDS = frozenset(word for language in LANGUAGES for word in language.months)
_VOTES: dict[str, tuple[Language, ...]] = {}
for _language in LANGUAGES:
    for _word in _language.stop:
        _VOTES[_word] = (*_VOTES.get(_word, ()), _language)

# First match wins: kana before Han, because Japanese writes both.
_SCRIPTS = (
    ("kana", re.compile("[\u3040-\u30ff]"), "ja"),
    ("hangul", re.compile("[\uac00-\ud7af\u1100-\u11ff]"), "ko"),
    ("han", re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), "zh"),
    ("cyrillic", re.compile("[\u0400-\u052f]"), "ru"),
    ("arabic", re.compile("[\u0600-\u06ff\u0750-\u077f]"), "ar"),
    ("hebrew", re.compile("[\u0590-\u05ff]"), "he"),
    ("greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), "el"),
    ("devanagari", re.compile("[\u0900-\u097f]"), "hi"),
    ("thai", re.compile("[\u0e00-\u0e7f]"), "th"),
)


def ends_with(marks: str) -> re.Pattern[str]:
    """Return a pattern that finds one of the marks among the last signs of a text.

    It reads each run of signs once.
    """
    return re.compile(rf"(?<!\W)(?=[^\w{marks}]*+[{marks}])\W*+$")


QUESTION_END = ends_with("?？؟")
SCRIPT_CHARACTERS_MAX = 100_000  # of a text that determine its script


def detect(words: Sequence[str] | Counter[str], text: str) -> Language:
    """Return the language of a text, given its normalised words, or their counts.

    The script decides first, then the stop words. A wrong guess costs little: it only selects a
    stemmer, and a search tries the stemmers of every language of its space.
    """
    script, default = "latin", FALLBACK
    if not text.isascii():
        found = (
            (name, code)
            for name, pattern, code in _SCRIPTS
            if pattern.search(text, 0, SCRIPT_CHARACTERS_MAX)
        )
        script, default = next(found, (script, default))
    votes: Counter[Language] = Counter()
    for word, times in (words if isinstance(words, Counter) else Counter(words)).items():
        for language in _VOTES.get(word, ()):
            if language.script == script:
                votes[language] += times
    if not votes:
        return BY_CODE[default]
    return min(votes, key=lambda language: (-votes[language], language.number))


# Optional marks: combining accents of Latin, Greek and Cyrillic, Arabic vowel signs, Hebrew points.
_MARKS = re.compile("[\u0300-\u036f\u064b-\u0652\u0670\u0591-\u05c7]")


@lru_cache(maxsize=65_536)
def stem(word: str, number: int) -> str:
    """Return the stem of a normalised word in a language, without optional accents."""
    language = LANGUAGES[number]
    if not word.isascii() and language.script in ("arabic", "hebrew"):
        word = _MARKS.sub("", word)
    if language.stemmer:
        stemmers = _stemmers.__dict__
        if language.stemmer not in stemmers:
            stemmers[language.stemmer] = Stemmer.Stemmer(language.stemmer)
        word = stemmers[language.stemmer].stemWord(word) or word
    return unaccented(word)


def unaccented(word: str) -> str:
    """Return a word without the marks that people often omit."""
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", word)))
