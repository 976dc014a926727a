"""Paths and scopes of paths, as text alone:

no file system is asked, so a link means nothing here.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from . import limits
from .text import Text

ONLY_ROOT = "/."  # the scope of the root folder alone; `/` is all that is below it


def normal_path(text: str) -> str:
    """An absolute path without `//`, `.`, `..` and a slash at its end; `..` above the root stays
    there.

    Nothing else is changed: letters that look alike, differ in case, or are composed differently
    are different names, as on Linux. Raises ValueError for a path that is not absolute, has too
    many parts, or a `*`, which a shell would make many paths of.
    """
    if "*" in text:
        raise ValueError("this must be one path, without `*`: each path is checked by itself")
    return "/" + "/".join(_names(text))


def normal_scope(text: str) -> str:
    """A scope in the same way; a slash at its end stays, for it means all that is below.

    Raises ValueError for one that is not absolute or has too many parts.
    """
    names = _names(text)
    if text.endswith("/"):
        return "/" + "".join(f"{name}/" for name in names)
    return "/" + "/".join(names) if names else ONLY_ROOT


def _names(text: str) -> list[str]:
    if not text.startswith("/"):
        raise ValueError("this must be absolute: it must begin with `/`")
    if "\0" in text:
        raise ValueError("text must not contain NUL")
    if text.count("/") > limits.PATH_PARTS_MAX:
        raise ValueError(f"this must have at most {limits.PATH_PARTS_MAX} parts")
    names: list[str] = []
    for name in text.split("/"):
        if name == "..":
            names[-1:] = []
        elif name not in ("", "."):
            names.append(name)
    return names


def _spelled(letter: str) -> dict[str, list[dict[str, str]]]:
    # beside the pattern that every text has: what the functions above refuse
    return {"allOf": [{"pattern": rf"^(/{letter}*){{1,{limits.PATH_PARTS_MAX}}}$"}]}


AbsolutePath = Annotated[
    Text,
    Field(
        min_length=1,
        max_length=limits.PATH_CHARACTERS_MAX,
        json_schema_extra=_spelled(r"[^/*\x00]"),
    ),
    AfterValidator(normal_path),
]
Scope = Annotated[
    Text,
    Field(
        min_length=1,
        max_length=limits.SCOPE_CHARACTERS_MAX,
        json_schema_extra=_spelled(r"[^/\x00]"),
    ),
    AfterValidator(normal_scope),
]
