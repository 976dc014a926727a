"""Names that are used and never made:

well-known ones are imported, JSON's words become Python's, a slip of one letter is put right.
"""

from __future__ import annotations

import builtins
import importlib.util
import keyword
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from .proposal import Failure
from .python2_semantics import bound, with_imports
from .source import Edit, ProgramSource

_UNKNOWN = re.compile(
    r"name '(\w+)' is not defined|local variable '(\w+)' referenced|cannot access free variable '(\w+)'"
)
_NO_ATTRIBUTE = re.compile(
    r"'(\w+)' object has no attribute '(\w+)'|module '([\w.]+)' has no attribute '(\w+)'|type object '(\w+)' has no attribute '(\w+)'"
)
_NO_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_WORDS = {
    "true": "True",
    "false": "False",
    "null": "None",
    "none": "None",
    "nil": "None",
    "TRUE": "True",
    "FALSE": "False",
    "NULL": "None",
}
_TYPES = {
    kind.__name__: kind
    for kind in (
        str,
        bytes,
        bytearray,
        list,
        tuple,
        dict,
        set,
        frozenset,
        int,
        float,
        complex,
        range,
    )
}
_LETTERS_MIN = 4  # of a name that a slip can be told of: `i` is not a slip for `j`
_LETTERS_MAX = 60


@cache
def _known() -> dict[str, str]:
    """From a well-known name to the line that imports it."""
    table = tomllib.loads((Path(__file__).parent / "names.toml").read_text("utf-8"))
    known = {name: f"import {name}" for name in table["modules"]}
    known |= {
        name: f"import {module}" if name == module else f"import {module} as {name}"
        for name, module in table["aliases"].items()
    }
    return known | {
        name: f"from {module} import {name}"
        for module, names in table["members"].items()
        for name in names
    }


def imports(source: ProgramSource, failure: Failure) -> str:
    """With imports of the well-known names that it uses and makes nowhere, where the one that
    failed is one of them.
    """
    missing = _missing(failure)
    if missing is None or missing not in _known() or missing in (made := bound(source)):
        return source.code
    lines = {line for name in _used(source) - made if (line := _line(name, source))}
    wanted = _line(missing, source)
    return with_imports(source, sorted({f"{line}\n" for line in lines})) if wanted else source.code


def _line(name: str, source: ProgramSource) -> str | None:
    """What imports this name; None when it is not well known, not used as what it is, or not to be
    had here.
    """
    line = _known().get(name)
    if line is None:
        return None
    word, module = line.split()[:2]
    if name == "datetime":
        line = (
            "import datetime"
            if re.search(
                r"\bdatetime\.(?:datetime|date|time|timedelta|timezone|UTC)\b", source.code
            )
            else "from datetime import datetime"
        )
    elif word == "import" and f"{name}." not in source.code:
        return None
    return line if _is_there(module) else None


def _is_there(module: str) -> bool:
    """Whether the module can be imported here. Nothing is: a program's imports are its own."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or importlib.util.find_spec(top) is not None


def _used(source: ProgramSource) -> set[str]:
    """Names in it that are no attributes."""
    return {
        token.text
        for statement in source.statements
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False)
        if token.kind == "name" and not (before and before.text == ".")
    }


def words(source: ProgramSource, failure: Failure) -> str:
    """With `True`, `False` and `None` for what JSON and other languages call them."""
    missing = _missing(failure)
    if missing not in _WORDS or missing in (made := bound(source)):
        return source.code
    return _replaced(source, {word: right for word, right in _WORDS.items() if word not in made})


def _replaced(source: ProgramSource, changes: dict[str, str]) -> str:
    edits = []
    for statement in source.statements:
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False):
            if (
                token.kind == "name"
                and token.text in changes
                and not (before and before.text == ".")
            ):
                edits.append(Edit(token.start, token.end, changes[token.text]))
    return source.edited(edits)


def slip(source: ProgramSource, failure: Failure) -> str:
    """With the one name that was meant for one that is nowhere made, where they differ by one slip
    of the hand in the line that failed.

    A slip is one letter more, less, other, or two exchanged; not a digit, and not the `s` of a
    plural, which often make another name.
    """
    if source.statement_at(failure.line or 0) is None:
        return source.code
    found = _slip_of_name(source, failure) or _slip_of_attribute(failure)
    if found is None:
        return source.code
    wrong, right, attribute = found
    edits = [
        Edit(token.start, token.end, right)
        for statement in source.statements
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False)
        if token.text == wrong
        and token.kind == "name"
        and bool(before and before.text == ".") == attribute
    ]
    return source.edited(edits) if len(edits) == 1 else source.code


def _slip_of_name(source: ProgramSource, failure: Failure) -> tuple[str, str, bool] | None:
    missing = _missing(failure)
    if missing is None or missing in bound(source):
        return None
    meant = _meant(missing, {*bound(source), *dir(builtins)} - {missing})
    return (missing, meant, False) if meant else None


def _slip_of_attribute(failure: Failure) -> tuple[str, str, bool] | None:
    if failure.type in ("ImportError", "AttributeError") and (
        found := _NO_IMPORT.search(failure.message) or _NO_ATTRIBUTE.search(failure.message)
    ):
        given = [one for one in found.groups() if one]
        owner, wrong = (given[1], given[0]) if found.re is _NO_IMPORT else (given[0], given[1])
        names: Iterable[str] = (
            dir(_TYPES[owner]) if owner in _TYPES and "module" not in found[0] else _members(owner)
        )
        if meant := _meant(wrong, {name for name in names if not name.startswith("_")}):
            return wrong, meant, found.re is not _NO_IMPORT
    return None


def _members(module: str) -> Iterable[str]:
    """Names of a module of the standard library, or of numpy, that is loaded already:

    nothing is loaded for a program's sake.
    """
    loaded = (
        sys.modules.get(module)
        if module.partition(".")[0] in {*sys.stdlib_module_names, "numpy"}
        else None
    )
    return dir(loaded) if loaded else ()


def _missing(failure: Failure) -> str | None:
    found = _UNKNOWN.search(failure.message) if failure.type == "NameError" else None
    return next((name for name in found.groups() if name), None) if found else None


def _meant(wrong: str, names: Iterable[str]) -> str | None:
    """The only name that is one slip away."""
    if not _LETTERS_MIN <= len(wrong) <= _LETTERS_MAX:
        return (
            next((name for name in names if name.lower() == wrong.lower() and name != wrong), None)
            if len(wrong) <= _LETTERS_MAX
            else None
        )
    near = [
        name
        for name in names
        if name != wrong and not keyword.iskeyword(name) and _is_slip(wrong, name)
    ]
    return near[0] if len(near) == 1 else None


def _is_slip(wrong: str, right: str) -> bool:
    if wrong.lower() == right.lower():
        return True
    if abs(len(wrong) - len(right)) > 1 or len(right) < _LETTERS_MIN - 1:
        return False
    at = next(
        (at for at, (a, b) in enumerate(zip(wrong, right, strict=False)) if a != b),
        min(len(wrong), len(right)),
    )
    a, b = wrong[at:], right[at:]
    if any(sign.isdigit() for sign in a[:1] + b[:1]) or {a, b} == {"", "s"} or {a, b} == {"", "_"}:
        return False
    return (
        a[1:] == b[1:]
        or a == b[1:]
        or a[1:] == b
        or (a[:2] == b[:2][::-1] and len(a[:2]) == 2 and a[2:] == b[2:])
    )
