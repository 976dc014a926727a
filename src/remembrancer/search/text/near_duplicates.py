"""Near duplicates: turns that say the same in the same words, apart from what a clock or a counter
put into them.

Both sides are normalised and hashed as a whole; equal hashes are near duplicates. A shingled hash
(Broder, "On the resemblance and containment of documents", 1997) would also join turns that differ
in one word or number, which in a conversation is often the news.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from .machine_text import own_words

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
    return " ".join((plain + rest.casefold()).split()).rstrip(".! ")
