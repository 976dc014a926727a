"""Fix undefined names: add imports, translate JSON constants, correct typos of one letter."""

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
from .python2_semantics import add_import_lines, bound_names
from .source import Edit, ProgramSource

_UNKNOWN = re.compile(
    r"name '(\w+)' is not defined|local variable '(\w+)' referenced"
    r"|cannot access free variable '(\w+)'"
)
_NO_ATTRIBUTE = re.compile(
    r"'(\w+)' object has no attribute '(\w+)'|module '([\w.]+)' has no attribute '(\w+)'"
    r"|type object '(\w+)' has no attribute '(\w+)'"
)
_NO_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_FOREIGN_CONSTANTS = {
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
_LETTERS_MIN = 4  # shorter names have no recognizable typos: `i` is not a typo of `j`
_LETTERS_MAX = 60


@cache
def _known_imports() -> dict[str, str]:
    """Return the import lines of well-known names."""
    table = tomllib.loads((Path(__file__).parent / "names.toml").read_text("utf-8"))
    lines = {name: f"import {name}" for name in table["modules"]}
    lines |= {
        name: f"import {module}" if name == module else f"import {module} as {name}"
        for name, module in table["aliases"].items()
    }
    return lines | {
        name: f"from {module} import {name}"
        for module, names in table["members"].items()
        for name in names
    }


def add_imports(source: ProgramSource, failure: Failure) -> str:
    """Import the well-known names that the program uses and does not define.

    Applies only if the undefined name of the failure is one of them.
    """
    missing = _missing_name(failure)
    bindings = bound_names(source)
    if missing is None or missing not in _known_imports() or missing in bindings:
        return source.code
    if _import_line(missing, source) is None:
        return source.code
    names = _used_names(source) - bindings
    lines = {line for name in names if (line := _import_line(name, source))}
    return add_import_lines(source, sorted({f"{line}\n" for line in lines}))


def _import_line(name: str, source: ProgramSource) -> str | None:
    """Return the line that imports this name.

    Return None if the name is not well known, is not used like a module, or is not installed.
    """
    line = _known_imports().get(name)
    if line is None:
        return None
    keyword_, module = line.split()[:2]
    if name == "datetime":
        line = (
            "import datetime"
            if re.search(
                r"\bdatetime\.(?:datetime|date|time|timedelta|timezone|UTC)\b", source.code
            )
            else "from datetime import datetime"
        )
    elif keyword_ == "import" and f"{name}." not in source.code:
        return None
    return line if _is_importable(module) else None


def _is_importable(module: str) -> bool:
    """Return True if the module can be imported here. Does not import it."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or importlib.util.find_spec(top) is not None


def _used_names(source: ProgramSource) -> set[str]:
    """Return the names in the program other than attributes."""
    return {
        token.text
        for statement in source.statements
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False)
        if token.kind == "name" and not (before and before.text == ".")
    }


def replace_foreign_constants(source: ProgramSource, failure: Failure) -> str:
    """Replace the constants of JSON and other languages by `True`, `False` and `None`."""
    missing = _missing_name(failure)
    bindings = bound_names(source)
    if missing not in _FOREIGN_CONSTANTS or missing in bindings:
        return source.code
    replacements = {
        name: constant for name, constant in _FOREIGN_CONSTANTS.items() if name not in bindings
    }
    return _replace_names(source, replacements)


def _replace_names(source: ProgramSource, changes: dict[str, str]) -> str:
    edits = []
    for statement in source.statements:
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False):
            if (
                token.kind == "name"
                and token.text in changes
                and not (before and before.text == ".")
            ):
                edits.append(Edit(token.start, token.end, changes[token.text]))
    return source.apply(edits)


def fix_typo(source: ProgramSource, failure: Failure) -> str:
    """Replace an undefined name by the only similar name, if the undefined name occurs once.

    Similar names differ by one letter added, removed or changed, or by two exchanged. A digit or a
    plural `s` does not count as a typo, since it often makes another valid name.
    """
    if source.statement_at(failure.line or 0) is None:
        return source.code
    typo = _name_typo(source, failure) or _attribute_typo(failure)
    if typo is None:
        return source.code
    wrong, right, is_attribute = typo
    edits = [
        Edit(token.start, token.end, right)
        for statement in source.statements
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False)
        if token.text == wrong
        and token.kind == "name"
        and bool(before and before.text == ".") == is_attribute
    ]
    return source.apply(edits) if len(edits) == 1 else source.code


def _name_typo(source: ProgramSource, failure: Failure) -> tuple[str, str, bool] | None:
    missing = _missing_name(failure)
    if missing is None or missing in bound_names(source):
        return None
    right = _closest_name(missing, {*bound_names(source), *dir(builtins)} - {missing})
    return (missing, right, False) if right else None


def _attribute_typo(failure: Failure) -> tuple[str, str, bool] | None:
    if failure.type not in ("ImportError", "AttributeError"):
        return None
    match = _NO_IMPORT.search(failure.message) or _NO_ATTRIBUTE.search(failure.message)
    if match is None:
        return None
    is_attribute = match.re is _NO_ATTRIBUTE
    first, second = (group for group in match.groups() if group)
    owner, wrong = (first, second) if is_attribute else (second, first)
    names: Iterable[str] = (
        dir(_TYPES[owner]) if owner in _TYPES and "module" not in match[0] else _members(owner)
    )
    right = _closest_name(wrong, {name for name in names if not name.startswith("_")})
    return (wrong, right, is_attribute) if right else None


def _members(module: str) -> Iterable[str]:
    """Return the names of a module of the standard library or numpy that is already imported."""
    package = module.partition(".")[0]
    imported = sys.modules.get(module) if package in {*sys.stdlib_module_names, "numpy"} else None
    return dir(imported) if imported else ()


def _missing_name(failure: Failure) -> str | None:
    match = _UNKNOWN.search(failure.message) if failure.type == "NameError" else None
    return next((name for name in match.groups() if name), None) if match else None


def _closest_name(wrong: str, names: Iterable[str]) -> str | None:
    """Return the only name that differs by one typo, or None."""
    if not _LETTERS_MIN <= len(wrong) <= _LETTERS_MAX:
        return (
            next((name for name in names if name.lower() == wrong.lower() and name != wrong), None)
            if len(wrong) <= _LETTERS_MAX
            else None
        )
    candidates = [
        name
        for name in names
        if name != wrong and not keyword.iskeyword(name) and is_typo(wrong, name)
    ]
    return candidates[0] if len(candidates) == 1 else None


def is_typo(wrong: str, right: str) -> bool:
    """Return True if the names differ by case or by one letter, not a digit or plural."""
    if wrong.lower() == right.lower():
        return True
    if abs(len(wrong) - len(right)) > 1 or len(right) < _LETTERS_MIN - 1:
        return False
    at = next(
        (at for at, (a, b) in enumerate(zip(wrong, right, strict=False)) if a != b),
        min(len(wrong), len(right)),
    )
    a, b = wrong[at:], right[at:]
    if any(c.isdigit() for c in a[:1] + b[:1]) or {a, b} == {"", "s"} or {a, b} == {"", "_"}:
        return False
    return (
        a[1:] == b[1:]
        or a == b[1:]
        or a[1:] == b
        or (a[:2] == b[:2][::-1] and len(a[:2]) == 2 and a[2:] == b[2:])
    )
