"""Rules for programs that fail while they run: names, attributes and types of values."""

from __future__ import annotations

import builtins
import importlib.util
import itertools
import keyword
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from ...protocol.tables import read_table
from .source import (
    CLOSERS,
    OPENERS,
    Edit,
    Failure,
    ProgramSource,
    SourceStatement,
    Token,
    Tokens,
    add_import_lines,
    bound_names,
    differing_ends,
    is_slip,
    of_statement,
    over,
)

# --- Names -----------------------------------------------------------------------------------

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
_KINDS = (str, bytes, bytearray, list, tuple, dict, set, frozenset, int, float, complex, range)
_TYPES = {kind.__name__: kind for kind in _KINDS}
_LETTERS_MIN = 4  # shorter names have no recognizable typos: `i` is not a typo of `j`
_LETTERS_MAX = 60


@cache
def _known_imports() -> dict[str, str]:
    """Return the import lines of well-known names."""
    table = read_table(__package__, "names.toml")
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
    bindings = bound_names(source)
    missing = _missing_name(failure)
    if missing is None or missing in bindings or _import_line(missing, source) is None:
        return source.code
    names = {token.text for token in _names(source)} - bindings
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
    top = module.partition(".")[0]
    is_found = top in sys.stdlib_module_names or importlib.util.find_spec(top) is not None
    return line if is_found else None


def _names(source: ProgramSource, *, attributes: bool = False) -> Iterator[Token]:
    """Yield the names in the program: attributes, or all other ones."""
    for statement in source.statements:
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False):
            is_attribute = before is not None and before.text == "."
            if token.kind == "name" and is_attribute == attributes:
                yield token


def _renamed(source: ProgramSource, names: dict[str, str]) -> str:
    """Return the program with other names. Attributes keep theirs."""
    return source.apply(
        over(token, token, names[token.text]) for token in _names(source) if token.text in names
    )


def replace_foreign_constants(source: ProgramSource, failure: Failure) -> str:
    """Replace the constants of JSON and other languages by `True`, `False` and `None`."""
    bindings = bound_names(source)
    constants = {name: one for name, one in _FOREIGN_CONSTANTS.items() if name not in bindings}
    return _renamed(source, constants) if _missing_name(failure) in constants else source.code


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
    uses = [one for one in _names(source, attributes=is_attribute) if one.text == wrong]
    return source.apply([over(uses[0], uses[0], right)]) if len(uses) == 1 else source.code


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
    if len(wrong) > _LETTERS_MAX:
        return None
    if len(wrong) < _LETTERS_MIN:
        others = (name for name in names if name.lower() == wrong.lower() and name != wrong)
        return next(others, None)
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
    a, b = differing_ends(wrong, right)
    if any(c.isdigit() for c in a[:1] + b[:1]) or {a, b} == {"", "s"} or {a, b} == {"", "_"}:
        return False
    return is_slip(wrong, right)


# --- Values ----------------------------------------------------------------------------------

_NO_TEXT = re.compile(
    r"can only concatenate str \(not \"\w+\"\) to str"
    r"|unsupported operand type\(s\) for \+: '\w+' and 'str'"
)
_DIGITS = re.compile(r"\A[rbuf]*[\"'][\s\d.,]*\d[\s\d.,]*[\"']\Z")
# Words and signs that end one expression and begin another.
_BOUNDARIES = (frozenset(keyword.kwlist) - {"None", "True", "False", "await"}) | frozenset(
    {",", "=", ":", ";", "==", "!=", "<", ">", "<=", ">=", ":=", "|", "&", "^"}
)


@dataclass(slots=True)
class _Sum:
    """The operands of one chain of `+`, each as its first and last index."""

    start: int
    operands: list[tuple[int, int]] = field(default_factory=list)

    def end_operand(self, at: int) -> None:
        if at > self.start:
            self.operands.append((self.start, at - 1))
        self.start = at + 1


def _sums(tokens: Tokens) -> Iterator[_Sum]:
    """Yield the chains of `+` in a statement, nested ones too."""
    stack = [_Sum(0)]
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            stack.append(_Sum(at + 1))
        elif token.text in CLOSERS and len(stack) > 1:
            stack[-1].end_operand(at)
            yield stack.pop()
        elif token.text == "+" and at > stack[-1].start:
            stack[-1].end_operand(at)
        elif token.text in _BOUNDARIES or token.text.endswith("="):
            stack[-1].end_operand(at)
            yield stack[-1]
            stack[-1] = _Sum(at + 1)
    stack[-1].end_operand(len(tokens))
    yield stack[-1]


@of_statement
def convert_to_text(
    _: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterable[Edit]:
    """Put `str()` around what is added to a string literal: `"a" + 3`.

    `"a" + x + y` stays, because `x + y` may be meant.
    """
    if failure.type != "TypeError" or not _NO_TEXT.search(failure.message):
        return []
    tokens = statement.tokens
    edits: list[Edit] = []
    for one in _sums(tokens):
        is_text = [_is_text(tokens, *operand) for operand in one.operands]
        literals = [tokens[first] for first, last in one.operands if first == last]
        has_words = any(
            token.kind == "string" and not _DIGITS.search(token.text) for token in literals
        )
        is_ambiguous = any(not a and not b for a, b in itertools.pairwise(is_text))
        if has_words and not is_ambiguous:
            for (first, last), text in zip(one.operands, is_text, strict=True):
                edits += [] if text else _call("str", tokens[first], tokens[last])
    if not edits and "can only concatenate str" in failure.message:
        at = next((at for at, token in enumerate(tokens) if token.text == "+="), 0)  # `text += 3`
        if at and all(token.kind not in ("string", "op") for token in tokens[at + 1 :]):
            return _call("str", tokens[at + 1], tokens[-1])
    return edits


def _call(function: str, first: Token, last: Token) -> list[Edit]:
    return [Edit(first.start, first.start, f"{function}("), Edit(last.end, last.end, ")")]


def _is_text(tokens: Tokens, first: int, last: int) -> bool:
    """Return True if the operand is certainly a string."""
    if all(token.kind == "string" for token in tokens[first : last + 1]):
        return True
    return tokens[first].text == "str" and tokens.pairs.get(first + 1) == last


RULES = (
    ("JSON words", replace_foreign_constants),
    ("imports", add_imports),
    ("name", fix_typo),
    ("text", convert_to_text),
)
