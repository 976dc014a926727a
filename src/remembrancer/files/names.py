"""Make file names that are safe on every system and readable in every script."""

from __future__ import annotations

import re
import unicodedata

from ..protocol import limits

# Letters and marks that are invisible, so that two names could look equal: fillers, inherent
# vowels, variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_DEVICES = re.compile(
    r"(con|prn|aux|nul|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\.|$)", re.IGNORECASE
)  # names that Windows reserves
_MARKS_MAX = 3  # combining marks per letter: more than any script needs
_EXTENSION = re.compile(r"[a-z0-9]{1,10}")


def safe_name(requested: str, extension: str) -> str:
    """Return the safe part of a given name, without the extension; empty if nothing is left.

    The last part of a path: letters of any script, digits, single spaces and `-_.`; at most
    FILENAME_CHARACTERS_MAX characters and FILENAME_BYTES_MAX bytes of UTF-8. It does not begin
    with ` `, `.` or `-`, so it is neither hidden nor read as an option.
    """
    text = unicodedata.normalize("NFC", re.split(r"[/\\]", requested)[-1])
    # again: a mark may now follow the letter before what was removed
    name = unicodedata.normalize("NFC", _clean(_BLANK.sub("", text)))
    if name.lower().endswith(f".{extension}"):
        name = name[: -len(extension) - 1].rstrip(" .")
    if _DEVICES.match(name):
        name = f"_{name}"
    return _cut(name)


def safe_extension(requested: str) -> str:
    """Return the extension of a program's file: at most ten lower-case letters and digits, or
    `bin`.
    """
    lower = requested.lower().removeprefix(".")
    return lower if _EXTENSION.fullmatch(lower) else "bin"


def _clean(text: str) -> str:
    name: list[str] = []
    marks = 0
    for character in text:
        kind = unicodedata.category(character)
        if character.isspace():
            if name and name[-1] != " ":
                name.append(" ")
        elif kind[0] == "M":
            marks += 1
            if name and marks <= _MARKS_MAX and name[-1] != " ":
                name.append(character)
            continue
        elif kind[0] == "L" or kind == "Nd" or character in "-_.":
            name.append(character)
        marks = 0
    return "".join(name).lstrip(" .-").rstrip(" .")


def _cut(name: str) -> str:
    name = name[: limits.FILENAME_CHARACTERS_MAX]
    name = name.encode()[: limits.FILENAME_BYTES_MAX].decode(
        "utf-8", "ignore"
    )  # only a character that was cut in half
    return name.rstrip(" .")
