"""Normal form of paths and scopes, as text: no file system is read and no link resolved."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from . import limits
from .service_keys import mask_service_keys
from .text import Text

ONLY_ROOT = "/."  # the scope of the root folder itself; `/` covers all files below it


def normal_path(text: str) -> str:
    """Return an absolute path without `//`, `.`, `..` and trailing slash; `..` above the root is
    dropped.

    Nothing else changes: look-alike letters, case and composed forms stay different names, as on
    Linux. Raises ValueError for a relative path, for too many parts, and for `*`, which a shell
    would expand.
    """
    if "*" in text:
        raise ValueError("this must be a single path without `*`")
    return "/" + "/".join(_names(text))


def normal_scope(text: str) -> str:
    """Return a scope in normal form; a trailing slash stays, because it covers all files below.

    Raises ValueError for a relative scope and for too many parts.
    """
    names = _names(text)
    if text.endswith("/"):
        return "/" + "".join(f"{name}/" for name in names)
    return "/" + "/".join(names) if names else ONLY_ROOT


def _names(text: str) -> list[str]:
    if not text.startswith("/"):
        raise ValueError("this must be absolute: start it with `/`")
    if "\0" in text:
        raise ValueError("text must not contain NUL")
    if mask_service_keys(text) != text:
        raise ValueError("this must not contain an API key: paths are kept in the audit trail")
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
    # the rules of the functions above, beside the pattern of every text
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
