"""Long text into passages: one vector for a long answer says little about any of it."""

from __future__ import annotations

import re

PASSAGE_CHARACTERS = 1_200  # about 300 tokens; shorter texts stay whole
PASSAGES_MAX = 64  # of one side; a longer text gets longer passages
_BREAKS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?。！？؟])\s*"),
    re.compile(r"\s+"),
)


def passages(text: str) -> list[str]:
    """Cut a text at paragraphs, lines, sentences or words, in that order of liking; joined, they
    are the text again.
    """
    size = max(PASSAGE_CHARACTERS, -(-len(text) // PASSAGES_MAX))
    found, start = [], 0
    while len(text) - start > size:
        end = start + _cut(text[start : start + size])
        found.append(text[start:end])
        start = end
    return [*found, text[start:]]


def _cut(window: str) -> int:
    for pattern in _BREAKS:
        ends = [
            match.end()
            for match in pattern.finditer(window, len(window) // 2)
            if match.end() < len(window)
        ]
        if ends:
            return ends[-1]
    return len(window)
