"""Texts that nobody wrote, or that repeat: machine notices, output of tools, near duplicates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from ...protocol.notices import notices_in, without_notices
from ...protocol.tables import read_table

# --- Statements that say about themselves that they are not to be relied on, in seven languages
# "An unverified note says ...", "similar feedback from another workspace", "just a rumour".

LENGTH_MAX = 600  # characters of a message that are read: longer ones say much else


def _disclaimer() -> re.Pattern[str]:
    table = read_table(__package__, "disclaimers.toml")
    words, unspaced = "|".join(table["words"]), "|".join(table["unspaced"])
    # Of text in lower case: ignoring case here takes twice as long, for each hit of a search.
    return re.compile(rf"\b(?:{words})\b|{unspaced}")


_DISCLAIMER = _disclaimer()


def disclaims(message: str) -> bool:
    """Return True if a message says that what it tells is unverified or belongs elsewhere."""
    return _DISCLAIMER.search(message[:LENGTH_MAX].lower()) is not None


# --- Near duplicates: turns that say the same in the same words, apart from what a clock or a
#     counter
# put into them.
#
# Both sides are normalised and hashed as a whole; equal hashes are near duplicates. A shingled hash
# (Broder, "On the resemblance and containment of documents", 1997) would also join turns that
# differ in one word or number, which in a conversation is often the news.

NEAR_DUPLICATE = "near_duplicate"  # flag of an event that repeats an earlier one
# Turns with fewer words, such as "yes" and "Done.", are compared within their session only: two
# conversations may use the same few words for different things.
WORDS_MIN = 8
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_TIME = r"\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?(?: ?(?:z|utc|gmt|[+-]\d\d:?\d\d))?"
_COUNTER = (
    r"(?:run|attempt|retry|try|build|job|pipeline|iteration|request|trace|span|session|correlation)"
)
# What a program adds to a message that it sends again. A date or a number within a sentence is the
# sender's own, and another one is news.
_ADDED = re.compile(
    rf"{_UUID}|\b[0-9a-f]{{16,39}}\b|\b[0-9a-f]{{41,}}\b"
    # ISO 8601 with T or seconds: people do not write times so
    rf"|\b\d{{4}}-\d\d-\d\d(?:t{_TIME}| \d\d:\d\d:\d\d(?:[.,]\d+)?)\S*"
    # a time, or a counter with its number, at the start of a line or in brackets
    rf"|^[ \t]*[\[(]?(?:\d{{4}}-\d\d-\d\d[ ,t]*)?{_TIME}[\])]?(?:\s*[-–—:|>]+)?\s+"
    rf"|[\[(](?:\d{{4}}-\d\d-\d\d[ ,t]*)?{_TIME}[\])]"
    rf"|[\[(]{_COUNTER}(?:[ _-]?id)?\s*(?:no\.?|number|#|=|:)?\s*[0-9a-f-]*\d[0-9a-f-]*"
    rf"(?:\s*(?:/|of)\s*\d+)?[\])]"
    rf"|^[ \t]*{_COUNTER}\s*#?\d+(?:\s*(?:/|of)\s*\d+)?\s*[-–—:|]+\s*"
    rf"|\b(?:attempt|retry)\s*#?\d+(?:\s*(?:/|of)\s*\d+)?\b|\b{_COUNTER}\s*#\d+\b"
    rf"|\b{_COUNTER}[ _-]?id\s*[:= ]\s*[0-9a-f-]*\d[0-9a-f-]*\b"
    # names that mktemp, Python and pytest make
    r"|\btmp[._]?(?=[a-z0-9_]*\d)[a-z0-9_]{6,}\b|\btmp\.[a-z0-9]{6,}\b|\bpytest-\d+\b",
)
# In the output of machines every number counts something.
_NUMBER = re.compile(r"\b(?=[a-z]*\d)[0-9a-f]{6,}\b|\d+(?:[.,:]\d+)*")
_NO_SPACE = re.compile(r"\S+")
_DIGIT = re.compile(r"\d|tmp\.")  # every pattern above needs one
_WORD = re.compile(r"[^\W_]+")
NORMALIZED_CHARACTERS_MAX = 20_000  # of a side; what follows is compared as it is


class Twin(NamedTuple):
    """The value that near duplicates have in common."""

    number: int  # 64 bits, signed: a digest of the normalised turn
    in_session: bool  # it counts only within one session


def twin_of(query: str, response: str, *, is_machine: bool) -> Twin | None:
    """Return what a turn has in common with its near duplicates; None for a turn without words.

    `is_machine` says that it is a machine turn (`is_machine_turn`).
    """
    sides = (query, response) if is_machine else own_words(query, response)
    normal = "\x00".join(_normal(text, is_machine=is_machine) for text in sides)
    count = sum(1 for _ in islice(_WORD.finditer(normal), WORDS_MIN))
    if not count:
        return None
    digest = blake2b(normal.encode("utf-8", "replace"), digest_size=8).digest()
    in_session = count < WORDS_MIN and not is_machine
    return Twin(int.from_bytes(digest, "big", signed=True), in_session)


def _normal(text: str, *, is_machine: bool) -> str:
    """Return a text in lower case, without what differs between its near duplicates."""
    head, rest = text[:NORMALIZED_CHARACTERS_MAX], text[NORMALIZED_CHARACTERS_MAX:]
    lines = (
        _ADDED.sub(" ", line) if _DIGIT.search(line) else line
        for line in head.casefold().split("\n")
    )
    plain = "\n".join(lines)
    if is_machine:
        plain = _NUMBER.sub("0", plain)
    words: Iterable[str] = plain.split()
    if rest:  # no other thread runs while a text is split
        words = (one[0].casefold() for one in _NO_SPACE.finditer(plain + rest))
    return " ".join(words).rstrip(".! ")


# --- Recognise what programs write into conversations: machine notices and the output of tools
# The shapes of notices are in `protocol/notices.py`, those of the lines that tools print in
# `machine_output.toml`. A turn with words of a person or an agent is never a machine's.

MACHINE_NOTICE = "machine_notice"  # flag of an event that only a machine wrote
# A longer text is read as somebody's words: nobody needs to know its last line to rank it.
OUTPUT_CHARACTERS_MAX = 20_000
_LINE = re.compile(r"(?<![^\n])[^\S\n]*+\S[^\n]*")


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
    table = read_table(__package__, "machine_output.toml")
    patterns = {name: [f"(?:{pattern})" for pattern in table[name]["patterns"]] for name in table}
    acknowledgement = "|".join(patterns.pop("acknowledgements"))
    lines = "|".join(pattern for row in patterns.values() for pattern in row)
    return _Shapes(re.compile(lines, re.IGNORECASE), re.compile(acknowledgement, re.IGNORECASE))
