"""An answer without a model:

the turns that match best, quoted word for word with their refs. Nothing is added, merged or
reworded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..claims.tags import keep_refs
from ..memory.summaries.extractive import sentences
from ..protocol import limits
from ..protocol.fence import defused
from ..protocol.memory import Hit
from ..search.text.analysis import terms
from ..search.text.screening import find_secrets, mask_secrets

# of turns that were answered so: their answers are no evidence of anything
QUOTED_TOPIC = "chat, quoted from memory"
_ASKS = re.compile(r"[?？؟]\W*$")


@dataclass(frozen=True, slots=True)
class Quote:
    """What is quoted of one event; a side that is not quoted is empty."""

    event_id: str
    date: str
    query: str
    response: str

    def __str__(self) -> str:
        sides = [
            f"{who}: “{text}”"
            for who, text in (("user", self.query), ("assistant", self.response))
            if text
        ]
        return f"- {self.date}, {'; '.join(sides)} (ref: {self.event_id})"


def quotes(hits: Sequence[Hit], question: str) -> list[Quote]:
    """Quotes of the best hits that say something, best first."""
    found: list[Quote] = []
    asked = terms(question)
    for hit in hits:
        query, response = _quotable(hit, question)
        sides = (_excerpt(query, asked), _excerpt(response, asked))
        if any(sides):
            found.append(Quote(hit.event_id, hit.occurred_at[:10], *sides))
        if len(found) == limits.CHAT_QUOTES_MAX:
            break
    return found


def bears_on(hit: Hit, question: str) -> bool:
    """Whether an event says anything beside the question itself."""
    return any(_quotable(hit, question))


def _quotable(hit: Hit, question: str) -> tuple[str, str]:
    """Both sides; of a turn that was itself answered with quotes only what the user told, not what
    the user asked.
    """
    if hit.topic != QUOTED_TOPIC:
        return hit.query, hit.response
    told = (
        hit.query if not _ASKS.search(hit.query) and hit.query.strip() != question.strip() else ""
    )
    return told, ""


def _excerpt(text: str, asked: set[int]) -> str:
    """The sentences side by side that hold most of what was asked, on one line that nothing can be
    hidden in.
    """
    clean = " ".join(
        keep_refs(harmless(text), ()).split()
    )  # what an earlier answer cited is not what this one cites
    most = limits.CHAT_QUOTE_CHARACTERS_MAX
    if len(clean) <= most:
        return clean
    parts = sentences(clean) or [clean]
    held = [terms(part) & asked for part in parts]
    best: tuple[int, int, int] = (-1, 0, 0)
    for start in range(len(parts)):
        lengths = list(accumulate(len(part) + 1 for part in parts[start:]))
        end = start + max(sum(length <= most + 1 for length in lengths), 1)
        best = max(best, (len(set().union(*held[start:end])), -start, -end))
    start, end = -best[1], -best[2]
    quote = " ".join(parts[start:end])[:most]
    return ("… " if start else "") + quote + (" …" if end < len(parts) else "")


def harmless(text: str) -> str:
    """Text that can be shown:

    no line of a fence, nothing hidden, no secret, and no picture that would be fetched from
    somewhere.
    """
    plain = defused(text).replace("![", "[")
    return mask_secrets(plain, find_secrets(plain))
