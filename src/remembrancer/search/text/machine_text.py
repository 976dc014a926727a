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
    """Return True if both sides of a turn are machine notices, the output of tools, or blank.

    The response may also acknowledge a notice. False for a blank turn.
    """
    own_query, own_response = own_words(query, response)
    if own_query.strip() and not is_tool_output(own_query):
        return False
    if not own_response.strip() or is_tool_output(own_response):
        return bool(query.strip() or response.strip())
    return bool(query.strip() and _shapes().acknowledgement.fullmatch(own_response.strip()))


def own_words(query: str, response: str) -> tuple[str, str]:
    """Return both sides of a turn without their machine notices."""
    return without_notices(query), without_notices(response)


def is_tool_output(text: str) -> bool:
    """Return True if every line of a text has the shape of a line that a tool prints."""
    if len(text) > OUTPUT_CHARACTERS_MAX:
        return False
    shape, lines = _shapes().line, _LINE.findall(text)
    return bool(lines) and all(shape.match(line) for line in lines)


class _Shapes(NamedTuple):
    """The patterns of `machine_output.toml`."""

    line: re.Pattern[str]
    acknowledgement: re.Pattern[str]


@lru_cache(maxsize=1)
def _shapes() -> _Shapes:
    table = tomllib.loads(
        resources.files(__package__).joinpath("machine_output.toml").read_text("utf-8")
    )
    patterns = {name: [f"(?:{pattern})" for pattern in table[name]["patterns"]] for name in table}
    acknowledgement = "|".join(patterns.pop("acknowledgements"))
    lines = "|".join(pattern for row in patterns.values() for pattern in row)
    return _Shapes(re.compile(lines, re.IGNORECASE), re.compile(acknowledgement, re.IGNORECASE))
