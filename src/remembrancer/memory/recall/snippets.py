"""What of a long turn is shown in a hit:

the passage that was found, cut at words, with marks where something is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...protocol.limits import SNIPPET_CHARACTERS_MAX
from ...search import Ranking, normalize, passages

EDGE_CHARACTERS = 30  # a cut is moved so far at most, not to go through a word
SPOTS_MAX = 200  # words of the question in a passage that are looked at


@dataclass(frozen=True, slots=True)
class HitText:
    """Both sides of a turn as a hit shows them."""

    query: str
    response: str


def hit_text(query: str, response: str, found: Ranking, part: int) -> HitText:
    """Snippets of a turn, around the place that answers best: `part` of what was found."""
    if len(query) <= SNIPPET_CHARACTERS_MAX and len(response) <= SNIPPET_CHARACTERS_MAX:
        return HitText(query, response)
    side, place = found.place_of(part)
    words = [normalize(word.text) for word in found.question.words if not word.is_stop]
    texts = [query, response]
    return HitText(
        *(snippet(text, place if side == at else 0, words) for at, text in enumerate(texts))
    )


def snippet(text: str, place: int, words: list[str]) -> str:
    """At most SNIPPET_CHARACTERS_MAX characters of a text:

    of its passage number `place`, where most of `words` (normalised) stand.
    """
    if len(text) <= SNIPPET_CHARACTERS_MAX:
        return text
    cuts = passages(text)
    place = min(place, len(cuts) - 1)
    start = sum(len(passage) for passage in cuts[:place])
    room = SNIPPET_CHARACTERS_MAX - 2  # for the marks
    start = min(
        start + max(_densest(cuts[place], words, room * 3 // 4) - room // 4, 0), len(text) - room
    )
    end = start + room
    if start and not text[start - 1].isspace():
        start = text.find(" ", start, start + EDGE_CHARACTERS) + 1 or start
    if end < len(text) and not text[end].isspace():
        end = (
            text.rfind(" ", end - EDGE_CHARACTERS, end)
            if " " in text[end - EDGE_CHARACTERS : end]
            else end
        )
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _densest(passage: str, words: list[str], room: int) -> int:
    """Where a stretch of `room` characters begins that holds most of the words; 0 where there is
    none of them.
    """
    plain = normalize(passage)
    spots = sorted(
        (at, number)
        for number, word in enumerate(words)
        for piece in _pieces(word, plain)
        for at in _all(piece, plain)
    )
    best, most = 0, 0
    for first, (at, _) in enumerate(spots[:SPOTS_MAX]):
        held = len(
            {number for there, number in spots[first : first + SPOTS_MAX] if there <= at + room}
        )
        if held > most:
            best, most = at, held
    return best * len(passage) // max(len(plain), 1)  # normalising may shorten or lengthen a text


def _pieces(word: str, plain: str) -> list[str]:
    """What of a word stands in a text:

    the whole, else its beginning (another ending), else its characters two by two.
    """
    for end in range(len(word), max(2 * len(word) // 3, 2), -1):
        if word[:end] in plain:
            return [word[:end]]
    return (
        []
        if word.isascii()
        else [word[at : at + 2] for at in range(len(word) - 1) if word[at : at + 2] in plain]
    )


def _all(piece: str, plain: str) -> Iterator[int]:
    at = plain.find(piece)
    while at >= 0:
        yield at
        at = plain.find(piece, at + len(piece))
