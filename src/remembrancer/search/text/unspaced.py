"""Scripts without spaces between words: indexed as pairs of characters, queries cut into words.

A query is cut at its function words (the stop words of the language). The pieces between them are
about words; their pairs of characters match the index. Word segmenters did no better
(docs/decisions/0029-words-without-spaces.md).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .languages import LANGUAGES

# Han, kana, Thai, Lao, Khmer, Burmese. Hangul has spaces, but its words have endings.
UNSPACED = re.compile(
    "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3040-\u30ff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
HANGUL = re.compile("[\uac00-\ud7af]+")
_RUNS = re.compile(f"{UNSPACED.pattern}|{HANGUL.pattern}")

_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LONE = re.compile(f"(?<![{_HAN}])[{_HAN}](?![{_HAN}])")


class Piece(NamedTuple):
    """A part of a word of a query that is searched for on its own."""

    text: str
    is_stop: bool
    pairs: tuple[str, ...]  # pairs of characters, or words of other scripts


def character_pairs(word: str) -> list[str]:
    """Split text in scripts without spaces into pairs of characters, and keep other words whole.

    A single character stays alone.
    """
    pieces: list[str] = []
    rest = 0
    for run in _RUNS.finditer(word):
        if run.start() > rest:
            pieces.append(word[rest : run.start()])
        pieces += [run[0][i : i + 2] for i in range(max(1, len(run[0]) - 1))]
        rest = run.end()
    return pieces + ([word[rest:]] if rest < len(word) else [])


def certain_pieces(word: str) -> list[str]:
    """Return the pieces of a word that the index has for every text that contains it.

    The text may go on before and after it without a space. A single character may then be in
    another pair, so it is none of them.
    """
    return [
        piece
        for piece in character_pairs(word)
        if len(piece) > 1 or not (UNSPACED.match(piece) or HANGUL.match(piece))
    ]


def lone_characters(word: str) -> list[str]:
    """Return the Han characters between other scripts: in Japanese, each is a word or its stem.

    Empty for a word of one character, which is indexed as it is.
    """
    return _LONE.findall(word) if len(word) > 1 else []


def query_pieces(word: str, number: int) -> list[Piece]:
    """Cut a word of a query at the stop words of a language; joined, the pieces equal the word.

    A piece of one character has the pairs that contain it too: in Chinese, the index has no single
    characters inside a longer run.
    """
    pieces, rest = [], 0
    for start, end in [*_stops(word, number), (len(word), len(word))]:
        if start > rest:
            pieces.append(_piece(word, rest, start, is_stop=False))
        if end > start:
            pieces.append(_piece(word, start, end, is_stop=True))
        rest = end
    return pieces


def _stops(word: str, number: int) -> list[tuple[int, int]]:
    pattern = _stop_pattern(number)
    return [match.span() for match in pattern.finditer(word)] if pattern else []


def _piece(word: str, start: int, end: int, *, is_stop: bool) -> Piece:
    text = word[start:end]
    if len(text) == 1 and UNSPACED.match(text):
        around = word[max(0, start - 1) : end + 1]
        pairs = [text, *(pair for pair in character_pairs(around) if text in pair)]
    else:
        pairs = character_pairs(text)
    return Piece(text, is_stop, tuple(pairs))


@lru_cache(maxsize=64)
def _stop_pattern(number: int) -> re.Pattern[str] | None:
    """Return a pattern of the stop words of a language, longest first; None if it has none."""
    stop = sorted(LANGUAGES[number].stop, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, stop))) if stop else None
