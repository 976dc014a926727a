"""What a file is called: a name that is safe on every system, and can be read in every script."""

from __future__ import annotations

import re
import unicodedata

from ..protocol import limits

# Letters and marks that show nothing, so that two names would look alike: fillers, inherent vowels,
# variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_DEVICES = re.compile(
    r"(con|prn|aux|nul|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\.|$)", re.IGNORECASE
)  # files that Windows does not open
_MARKS_MAX = 3  # on one letter: more than any script needs, fewer than a tower
_EXTENSION = re.compile(r"[a-z0-9]{1,10}")


def safe_name(given: str, extension: str) -> str:
    """What of a given name is kept, without the extension; empty when nothing is.

    The last part of a path: letters of any script, digits, single spaces and `-_.`; at most
    FILENAME_CHARACTERS_MAX characters and FILENAME_BYTES_MAX bytes of UTF-8. It begins with none of
    ` .-`, so it is neither hidden nor an option.
    """
    text = unicodedata.normalize("NFC", re.split(r"[/\\]", given)[-1])
    kept = _clean(_BLANK.sub("", text))
    if kept.lower().endswith(f".{extension}"):
        kept = kept[: -len(extension) - 1].rstrip(" .")
    if _DEVICES.match(kept):
        kept = f"_{kept}"
    return _cut(kept)


def safe_extension(given: str) -> str:
    """An extension of a program's file: up to ten lower-case letters and digits, else `bin`."""
    lower = given.lower().removeprefix(".")
    return lower if _EXTENSION.fullmatch(lower) else "bin"


def _clean(text: str) -> str:
    kept: list[str] = []
    marks = 0
    for character in text:
        kind = unicodedata.category(character)
        if character.isspace():
            if kept and kept[-1] != " ":
                kept.append(" ")
        elif kind[0] == "M":
            marks += 1
            if kept and marks <= _MARKS_MAX and kept[-1] != " ":
                kept.append(character)
            continue
        elif kind[0] == "L" or kind == "Nd" or character in "-_.":
            kept.append(character)
        marks = 0
    return "".join(kept).lstrip(" .-").rstrip(" .")


def _cut(name: str) -> str:
    name = name[: limits.FILENAME_CHARACTERS_MAX]
    name = name.encode()[: limits.FILENAME_BYTES_MAX].decode(
        "utf-8", "ignore"
    )  # only a character that the cut went through
    return name.rstrip(" .")
