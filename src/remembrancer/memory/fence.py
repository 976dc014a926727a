"""The fence: stored text is given out between two lines that it cannot write itself, and is recognised when it comes back.

    <<memory-data 7f3a09c2d41e88b6>>
    ...
    <<end memory-data 7f3a09c2d41e88b6>>

The delimiter is new for every answer, so that nothing stored earlier can know it; whatever looks like a fence line is defused all the same.
Source of the idea: Hines et al., "Defending Against Indirect Prompt Injection Attacks With Spotlighting", 2024 (arXiv 2403.14720).
"""

from __future__ import annotations

import re
import secrets
import unicodedata

DELIMITER_DIGITS = 16
_OPEN, _CLOSE = "<<memory-data {}>>", "<<end memory-data {}>>"
_FENCE = re.compile(r"<<(?P<end>end )?memory-data (?P<delimiter>[0-9a-f]{16})>>")
_ANGLE = re.compile("[<\uff1c\ufe64\u2039\u27e8\u3008\u2329\u226a\u00ab]")
_LOOKED_AT = 40  # characters behind an angle
_FILLER = re.compile("[^a-z]+")
_ALIKE = str.maketrans("аеогуԁтмӏууοаеτ", "aeorydtmlyyoaet")  # letters of other scripts that look like those of the fence
_HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_BREAKS = re.compile("\r\n?|\u2028|\u2029|\x85")


def new_delimiter() -> str:
    """A fresh one: 64 random bits."""
    return secrets.token_hex(DELIMITER_DIGITS // 2)


def fenced(text: str, delimiter: str) -> str:
    """Stored text between the lines of a fence, made harmless to it."""
    return f"{_OPEN.format(delimiter)}\n{defused(text)}\n{_CLOSE.format(delimiter)}"


def defused(text: str) -> str:
    """Text in which nothing can be read as a fence line, and nothing hides: what cannot be seen is left out, breaks are line feeds."""
    plain = _CONTROLS.sub("", _HIDDEN.sub("", _BREAKS.sub("\n", text)))
    return _ANGLE.sub(lambda match: "\u2039" if _begins_fence(plain, match.end()) else match[0], plain)


def _begins_fence(text: str, at: int) -> bool:
    """Whether what stands behind an angle reads like the words of a fence line, whatever the spacing, case, width or script."""
    follows = text[at : at + 1]
    if (follows.isalnum() and follows.isascii() and follows not in "mMeE") or _ANGLE.match(follows):  # quick for "a < b" and for "<<<<"
        return False
    read = _FILLER.sub("", unicodedata.normalize("NFKC", text[at : at + _LOOKED_AT]).casefold().translate(_ALIKE))
    return read.startswith(("memorydata", "endmemorydata"))


def unfenced(text: str) -> tuple[str, int]:
    """The text without the blocks this service gave out, and how many characters those were.

    A block is opened and closed by lines with one delimiter; what is not closed is left as it is.
    """
    if "<<memory-data " not in text:
        return text, 0
    kept: list[str] = []
    at = 0
    closes = {match["delimiter"]: match for match in _FENCE.finditer(text) if match["end"]}  # the last of each delimiter
    for match in _FENCE.finditer(text):
        close = closes.get(match["delimiter"])
        if match["end"] or match.start() < at or close is None or close.start() < match.end():
            continue
        kept.append(text[at : match.start()])
        at = close.end()
    kept.append(text[at:])
    own = "".join(kept)
    return own, len(text) - len(own)
