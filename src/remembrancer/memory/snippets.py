"""What of a long turn is shown in a hit: the passage that was found, cut at words, with marks where something is left out."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol.limits import SNIPPET_CHARACTERS_MAX
from ..search import Found, normal, passages

CHARACTERS_PER_TOKEN = 4  # of English; other writing takes more tokens, so a budget is kept with room to spare


@dataclass(frozen=True, slots=True)
class Cut:
    """Both sides of a turn as a hit shows them."""

    query: str
    response: str


def tokens(text: str) -> int:
    """About how many tokens a text takes; characters beyond Latin count whole."""
    wide = sum(1 for c in text if ord(c) >= 0x0590)
    return -(-(len(text) - wide) // CHARACTERS_PER_TOKEN) + wide


def cut(query: str, response: str, found: Found, part: int) -> Cut:
    """Snippets of a turn, around the place that answers best: `part` of what was found."""
    side, place = found.place_of(part)
    words = [normal(word.text) for word in found.question.words if not word.is_stop]
    texts = [query, response]
    return Cut(*(snippet(text, place if side == at else 0, words) for at, text in enumerate(texts)))


def snippet(text: str, place: int, words: list[str]) -> str:
    """At most SNIPPET_CHARACTERS_MAX characters of a text: of its passage number `place`, around the first of `words` in it."""
    if len(text) <= SNIPPET_CHARACTERS_MAX:
        return text
    cuts = passages(text)
    start = sum(len(passage) for passage in cuts[:place]) if place < len(cuts) else 0
    passage = normal(cuts[place]) if place < len(cuts) else normal(text)
    seen = [at for word in words if (at := passage.find(word)) >= 0]
    room = SNIPPET_CHARACTERS_MAX - 2  # for the marks
    start = min(start + max(min(seen, default=0) - room // 4, 0), len(text) - room)
    end = start + room
    start = text.find(" ", start, start + 30) + 1 or start if start else 0
    end = text.rfind(" ", end - 30, end) if end < len(text) and text.rfind(" ", end - 30, end) > 0 else end
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
