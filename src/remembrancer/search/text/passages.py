"""Cut long texts into passages: at paragraphs, lines, sentences or words.

The passages joined equal the text. Cuts at headings, list items and the edges of code gained
nothing (docs/explanation/search.md).
"""

from __future__ import annotations

import re

from .machine_text import Segment, segments

PASSAGE_CHARACTERS = 1_200  # about 300 tokens; shorter texts stay whole
PASSAGES_MAX = 64  # per side; a longer text gets longer passages
_BREAKS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?。！？؟])\s*"),
    re.compile(r"\s+"),
)


def side_passages(text: str) -> list[Segment]:
    """Cut one side of an event into passages, each of words or of machine notices.

    The passages joined equal the text.
    """
    return [
        Segment(passage, segment.is_notice)
        for segment in segments(text)
        for passage in passages(segment.text, len(text))
    ]


def passages(text: str, whole: int = 0) -> list[str]:
    """Cut a text at paragraphs, lines, sentences or words; the parts joined equal the text.

    `whole` is the length of the text that it is a part of.
    """
    size = max(PASSAGE_CHARACTERS, -(-max(len(text), whole) // PASSAGES_MAX))
    parts, start = [], 0
    while len(text) - start > size:
        end = start + _cut(text[start : start + size])
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


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
