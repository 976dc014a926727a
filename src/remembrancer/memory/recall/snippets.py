"""The texts of hits: both sides of a turn, or the parts of them where the query's words are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...protocol.limits import SNIPPET_CHARACTERS_MAX
from ...search import Ranking, normalize, side_passages

EDGE_CHARACTERS = 30  # a cut moves at most this far to avoid splitting a word
SPOTS_MAX = 200  # occurrences of query words examined in a passage


@dataclass(frozen=True, slots=True)
class HitText:
    """The texts of a hit: both sides of the turn, or snippets of them."""

    query: str
    response: str


def hit_text(query: str, response: str, ranking: Ranking, part: int) -> HitText:
    """Return both sides of a turn, cut to snippets around its best `part` if they are long."""
    if len(query) <= SNIPPET_CHARACTERS_MAX and len(response) <= SNIPPET_CHARACTERS_MAX:
        return HitText(query, response)
    side, place = ranking.place_of(part)
    words = [normalize(word.text) for word in ranking.question.words if not word.is_stop]
    texts = [query, response]
    return HitText(
        *(snippet(text, place if side == number else 0, words) for number, text in enumerate(texts))
    )


def snippet(text: str, place: int, words: list[str]) -> str:
    """Return at most SNIPPET_CHARACTERS_MAX characters of a text.

    They are taken from passage number `place`, where most of `words` (normalised) occur.
    """
    if len(text) <= SNIPPET_CHARACTERS_MAX:
        return text
    cuts = [passage.text for passage in side_passages(text)]
    place = min(place, len(cuts) - 1)
    start = sum(len(passage) for passage in cuts[:place])
    size = SNIPPET_CHARACTERS_MAX - 2  # without the two ellipses
    start = min(
        start + max(_densest(cuts[place], words, size * 3 // 4) - size // 4, 0), len(text) - size
    )
    end = start + size
    if start and not text[start - 1].isspace():
        start = text.find(" ", start, start + EDGE_CHARACTERS) + 1 or start
    if end < len(text) and not text[end].isspace():
        end = (
            text.rfind(" ", end - EDGE_CHARACTERS, end)
            if " " in text[end - EDGE_CHARACTERS : end]
            else end
        )
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _densest(passage: str, words: list[str], size: int) -> int:
    """Return the start of the stretch of `size` characters with most of the words, or 0."""
    plain = normalize(passage)
    spots = sorted(
        (at, number)
        for number, word in enumerate(words)
        for piece in _word_pieces(word, plain)
        for at in _occurrences(piece, plain)
    )
    best, most = 0, 0
    for first, (at, _) in enumerate(spots[:SPOTS_MAX]):
        count = len(
            {
                number
                for position, number in spots[first : first + SPOTS_MAX]
                if position <= at + size
            }
        )
        if count > most:
            best, most = at, count
    return best * len(passage) // max(len(plain), 1)  # normalising may shorten or lengthen a text


def _word_pieces(word: str, plain: str) -> list[str]:
    """Return the parts of a word that occur in a text.

    The whole word, else its longest prefix (another ending), else its pairs of characters.
    """
    for end in range(len(word), max(2 * len(word) // 3, 2), -1):
        if word[:end] in plain:
            return [word[:end]]
    return (
        []
        if word.isascii()
        else [word[at : at + 2] for at in range(len(word) - 1) if word[at : at + 2] in plain]
    )


def _occurrences(piece: str, plain: str) -> Iterator[int]:
    at = plain.find(piece)
    while at >= 0:
        yield at
        at = plain.find(piece, at + len(piece))
