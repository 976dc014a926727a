"""Recognise what programs write into conversations: machine notices and the output of tools.

The shapes of notices are in `protocol/notices.py`, those of the lines that tools print in
`machine_output.toml`. A turn with words of a person or an agent is never a machine's.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from ...protocol.notices import notices_in, without_notices

MACHINE_NOTICE = "machine_notice"  # flag of an event that only a machine wrote
# A longer text is read as somebody's words: nobody needs to know its last line to rank it.
OUTPUT_CHARACTERS_MAX = 20_000
_LINE = re.compile(r"[^\n]*\S[^\n]*")


class Segment(NamedTuple):
    """A stretch of a text: somebody's words, or machine notices."""

    text: str
    is_notice: bool


def segments(text: str) -> list[Segment]:
    """Split a text into words and machine notices, in order; the segments joined equal the text.

    Blank text beside a notice belongs to it.
    """
    spans = notices_in(text)
    if not spans:
        return [Segment(text, is_notice=False)]
    parts: list[Segment] = []
    start = 0
    for first, end in [*spans, (len(text), len(text))]:
        for piece, is_notice in ((text[start:first], False), (text[first:end], True)):
            if not piece:
                continue
            if parts and (is_notice == parts[-1].is_notice or not piece.strip()):
                parts[-1] = parts[-1]._replace(text=parts[-1].text + piece)
            else:
                parts.append(Segment(piece, is_notice or not piece.strip()))
        start = end
    return parts


def is_machine_turn(query: str, response: str) -> bool:
    """Return True if both sides of a turn are blank, machine notices, or the output of tools."""
    return all(not words.strip() or is_tool_output(words) for words in own_words(query, response))


def own_words(query: str, response: str) -> tuple[str, str]:
    """Return both sides of a turn without their machine notices."""
    return without_notices(query), without_notices(response)


def is_tool_output(text: str) -> bool:
    """Return True if every line of a text has the shape of a line that a tool prints."""
    if len(text) > OUTPUT_CHARACTERS_MAX:
        return False
    line_shape, lines = _line_shape(), _LINE.findall(text)
    return bool(lines) and all(line_shape.match(line) for line in lines)


@lru_cache(maxsize=1)
def _line_shape() -> re.Pattern[str]:
    table = tomllib.loads(
        resources.files(__package__).joinpath("machine_output.toml").read_text("utf-8")
    )
    patterns = [pattern for row in table.values() for pattern in row["patterns"]]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)
