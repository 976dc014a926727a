"""Extractive answers: passages of memory quoted word for word, without a model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...protocol.search import Hit

QUOTES_MAX = 3
QUOTE_CHARACTERS_MAX = 300
HEADER = "No model answers here; memory has this:"
NOTHING = "No model answers here, and memory has nothing on this."
NO_MEMORY = "No model answers here, and memory cannot be reached."
_PREFIXES = (HEADER, NOTHING, NO_MEMORY)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_REF = re.compile(r"[ \t]{0,4}\(ref:[^()\n]{0,300}\)")  # refs inside the quoted text
_WORD = re.compile(r"\w{2,}")


def extractive_answer(question: str, hits: Sequence[Hit] | None) -> str:
    """Quote the passages of the best hits nearest to the question, each with its ref.

    `hits` is None if memory could not be searched. Of an event that is itself an extractive
    answer, only the user's message is quoted.
    """
    if hits is None:
        return NO_MEMORY
    lines: dict[str, str] = {}  # by quoted text, to avoid repetition
    for hit in hits:
        is_extractive = hit.response.startswith(_PREFIXES)
        texts = [hit.query] if is_extractive else [hit.query, hit.response]
        passages = [passage for text in texts if (passage := _passage(text, question))]
        if passages:
            nearest = max(passages, key=lambda passage: _overlap(" ".join(passage), question))
            # Each sentence has its own ref.
            quotes = (f"\u201c{sentence}\u201d (ref: {hit.event_id})" for sentence in nearest)
            lines.setdefault(" ".join(nearest), f"- {' '.join(quotes)}")
        if len(lines) == QUOTES_MAX:
            break
    return "\n".join([f"{HEADER}\n", *lines.values()]) if lines else NOTHING


def _passage(text: str, question: str) -> list[str]:
    """Return the sentence nearest to the question and the sentences after it that fit.

    Sentences that are questions are skipped.
    """
    parts = (part.strip() for part in _SENTENCE_END.split(_REF.sub("", text)))
    sentences = [_shorten(part) for part in parts if part and not part.endswith(("?", "\uff1f"))]
    if not sentences:
        return []
    first = max(range(len(sentences)), key=lambda i: _overlap(sentences[i], question))
    end = first + 1
    while (
        end < len(sentences) and sum(map(len, sentences[first : end + 1])) <= QUOTE_CHARACTERS_MAX
    ):
        end += 1
    return sentences[first:end]


def _overlap(text: str, question: str) -> int:
    """Return the number of words that both texts contain."""
    return len(_words(text) & _words(question))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _shorten(text: str) -> str:
    if len(text) <= QUOTE_CHARACTERS_MAX:
        return text
    head = text[: QUOTE_CHARACTERS_MAX - 1]
    return f"{head.rpartition(' ')[0] or head}\u2026"
