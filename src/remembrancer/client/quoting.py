"""An answer without a model: what memory has on a question, word for word, with refs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..protocol.memory import Hit

QUOTES_MAX = 3
QUOTE_CHARACTERS_MAX = 300
QUOTED = "No model answers here; memory has this:"
NOTHING = "No model answers here, and memory has nothing on this."
NO_MEMORY = "No model answers here, and memory cannot be reached."
OURS = (QUOTED, NOTHING, NO_MEMORY)
_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_REF = re.compile(r"[ \t]{0,4}\(ref:[^()\n]{0,300}\)")  # what a quoted answer cited itself
_WORD = re.compile(r"\w{2,}")


def quoted(question: str, hits: Sequence[Hit] | None) -> str:
    """The best hits' passages that are nearest to the question, each with its ref; `hits` are None when there was no search.

    An answer that was itself made here is not quoted again, only what the user said then.
    """
    if hits is None:
        return NO_MEMORY
    lines: dict[str, str] = {}  # by what they quote, so that nothing is told twice
    for hit in hits:
        texts = [hit.query] if hit.response.startswith(OURS) else [hit.query, hit.response]
        told = [passage for text in texts if (passage := _passage(text, question))]
        if told:
            nearest = max(told, key=lambda passage: len(_words(" ".join(passage)) & _words(question)))
            quotes = (f"\u201c{sentence}\u201d (ref: {hit.event_id})" for sentence in nearest)  # a ref stands for its own sentence
            lines.setdefault(" ".join(nearest), f"- {' '.join(quotes)}")
        if len(lines) == QUOTES_MAX:
            break
    return "\n".join([f"{QUOTED}\n", *lines.values()]) if lines else NOTHING


def _passage(text: str, question: str) -> list[str]:
    """The sentence of a text that is nearest to the question, with as many after it as there is room for; questions are left out."""
    sentences = [sentence.strip() for sentence in _ENDS.split(_REF.sub("", text)) if sentence.strip()]
    told = [_shortened(sentence) for sentence in sentences if not sentence.endswith(("?", "\uff1f"))]
    if not told:
        return []
    first = max(range(len(told)), key=lambda place: len(_words(told[place]) & _words(question)))
    last = first + 1
    while last < len(told) and sum(map(len, told[first : last + 1])) <= QUOTE_CHARACTERS_MAX:
        last += 1
    return told[first:last]


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _shortened(text: str) -> str:
    if len(text) <= QUOTE_CHARACTERS_MAX:
        return text
    kept = text[: QUOTE_CHARACTERS_MAX - 1]
    return f"{kept.rpartition(' ')[0] or kept}\u2026"
