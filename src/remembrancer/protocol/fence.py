"""The fence: stored text is returned between two lines that it cannot contain, and is recognised
when it comes back.

<<memory-data 7f3a09c2d41e88b6>>
...
<<end memory-data 7f3a09c2d41e88b6>>

The delimiter is random for every answer, so no stored text can know it. Text that looks like a
fence line is defused anyway. Source: Hines et al., "Defending Against Indirect Prompt Injection
Attacks With Spotlighting", 2024 (arXiv 2403.14720).
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict, deque

DELIMITER_DIGITS = 16
_OPEN, _CLOSE = "<<memory-data {}>>", "<<end memory-data {}>>"
_FENCE = re.compile(r"<<(?P<end>end )?memory-data (?P<delimiter>[0-9a-f]{16})>>")
# look-alikes of the first character of a fence line
_ANGLES = "<\uff1c\ufe64\u2039\u27e8\u3008\u2329\u226a\u00ab"
_ALIKE = dict(
    zip("аеогуԁтмӏууοаετ", "aeorydtmlyyoaet", strict=True)
)  # look-alikes in other scripts of the fence's letters
_FILLER = "\0"  # replaces every character that is not a letter of the fence
_WORDS = ("end", "memorydata")
_KEPT_MAX = 0xFFFF  # last character that `_Bare` caches: hostile text must not fill the memory
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    # tags and variation selectors, which can encode hidden text
    "\U000e0000-\U000e0fff]|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# all line breaks of Unicode (UAX 14) and those of `str.splitlines`
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class _Bare(dict[int, str]):
    """Translation table: each character becomes a letter of the fence, an angle or filler.

    The number of characters stays the same, so positions stay valid.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = unicodedata.normalize("NFKC", character).casefold()
        bare = "<" if character in _ANGLES else _ALIKE.get(plain, plain)
        mapped = bare if len(bare) == 1 and bare in "<abcdefghijklmnopqrstuvwxyz" else _FILLER
        if code <= _KEPT_MAX:
            self[code] = mapped
        return mapped


_bare = _Bare()
_spaced = [f"{_FILLER}*".join(word) for word in _WORDS]
# The filler in it runs to the next angle at most, so that the whole is read once or twice, not once
# for each angle.
_BEGINS_FENCE = re.compile(f"<(?={_FILLER}*(?:{_spaced[0]}{_FILLER}*)?{_spaced[1]})")


def new_delimiter() -> str:
    """Return a new delimiter: 64 random bits in hex."""
    return os.urandom(DELIMITER_DIGITS // 2).hex()


def fenced(text: str, delimiter: str) -> str:
    """Return stored text between fence lines, defused."""
    return f"{_OPEN.format(delimiter)}\n{defused(text)}\n{_CLOSE.format(delimiter)}"


def defused(text: str) -> str:
    """Return text without anything that reads as a fence line, in any spacing, case, width or
    script.

    Invisible characters are removed and line breaks become line feeds; all else stays.
    """
    plain = _CONTROLS.sub("", _HIDDEN.sub("", _BREAKS.sub("\n", text)))
    places = [match.start() for match in _BEGINS_FENCE.finditer(plain.translate(_bare))]
    ends = [0, *(place + 1 for place in places)]
    return "\u2039".join(
        plain[start:end] for start, end in zip(ends, [*places, len(plain)], strict=True)
    )


def unfenced(text: str) -> tuple[str, int]:
    """Return the text without the fenced blocks of this service, and the number of characters
    removed.

    A block ends at the first line that closes it with the same delimiter. A block without an end
    stays.
    """
    lines = list(_FENCE.finditer(text))
    closes: dict[str, deque[re.Match[str]]] = defaultdict(deque)
    for line in lines:
        if line["end"]:
            closes[line["delimiter"]].append(line)
    parts: list[str] = []
    at = 0
    for line in lines:
        if line["end"]:
            closes[
                line["delimiter"]
            ].popleft()  # it is behind us: what is left closes only what opens from here on
        elif line.start() >= at and closes[line["delimiter"]]:
            parts.append(text[at : line.start()])
            at = closes[line["delimiter"]][0].end()
    parts.append(text[at:])
    own = "".join(parts)
    return own, len(text) - len(own)


def quoted(text: str) -> str:
    """Return stored text to follow a label of ours: every line but the first is indented.

    A line of ours begins at the margin, so no line of stored text looks like one.
    """
    return defused(text).strip().replace("\n", "\n  ")


def one_line(text: str) -> str:
    """Return stored text on one line, defused: a topic, a title or an identifier."""
    return " ".join(defused(text).split())


def data_line(text: str) -> str:
    """Return stored text as an item of a list: "- ", then the text, quoted."""
    return f"- {quoted(text)}"


def indented(text: str) -> str:
    """Return stored text with every line indented, the first one too."""
    return f"  {quoted(text)}"
