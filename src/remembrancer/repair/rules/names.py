"""Fix names: missing imports, typos, other scopes, attributes of other languages."""

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

from .keywords import is_misspelt
from .source import (
    Edit,
    Failure,
    ProgramSource,
    SourceStatement,
    Token,
    add_import_lines,
    after_docstring,
    bound_names,
    differing_ends,
    is_slip,
    matching_bracket,
    of_statement,
    receiver_start,
)

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
_UNBOUND = re.compile(r"local variable '(\w+)' (?:where|referenced)")
_NO_MODULE = re.compile(r"No module named '(\w+)'\Z")
_LIBRARIES = frozenset({"numpy", "matplotlib", "pandas", "scipy", "sympy"})
_STATEMENT_KEYWORDS = ("pass", "break", "continue")
_NO_MEMBER = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
_NO_LENGTH = re.compile(r"object of type '(?:builtin_function_or_method|method)' has no len")
_LENGTHS = frozenset({"length", "size", "len", "count"})
_SIZED = frozenset({"list", "tuple", "str", "dict", "set", "range", "bytes", "frozenset"})
_SYNONYMS = {
    "list": {"add": "append", "push": "append", "push_back": "append", "addAll": "extend"},
    "set": {"append": "add", "push": "add", "insert": "add"},
    "str": {
        "toUpperCase": "upper",
        "toLowerCase": "lower",
        "upperCase": "upper",
        "lowerCase": "lower",
        "trim": "strip",
        "startsWith": "startswith",
        "endsWith": "endswith",
        "indexOf": "find",
    },
}
# Methods that change their object and return None.
_CHANGING = frozenset(
    {"append", "sort", "extend", "insert", "remove", "reverse", "clear", "add", "update", "discard"}
)
_METHOD = re.compile(
    r"(?:(\w+)\.)?(\w+)\(\) takes (\d{1,9}) positional arguments? but (\d{1,9}) (?:was|were) given"
)


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
    a, b = differing_ends(wrong, right)
    if any(c.isdigit() for c in a[:1] + b[:1]) or {a, b} == {"", "s"} or {a, b} == {"", "_"}:
        return False
    return is_slip(wrong, right)


@of_statement
def declare_global(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Declare a variable `global` or `nonlocal` in a function that only changes its value.

    Applies if the function never assigns anything but `x += ...`, and exactly one outer scope
    assigns it.
    """
    match = _UNBOUND.search(failure.message) if failure.type == "UnboundLocalError" else None
    if match is None:
        return source.code
    name = match[1]
    index = source.statements.index(statement)
    scopes = _enclosing_functions(source, index)
    if not scopes or _is_parameter(source.statements[scopes[0]], name):
        return source.code
    inside = _body(source, scopes[0])
    changes = [one for one in inside if one.tokens[0].text == name and len(one.tokens) > 2]
    if not changes or any(
        one.tokens[1].text[-1:] != "=" or one.tokens[1].text in ("=", "==") for one in changes
    ):
        return source.code
    is_global = any(_assigns(one, name) for one in source.statements if not one.indent)
    inner_lines = {one.line for one in inside}
    is_outer = len(scopes) > 1 and any(
        _assigns(one, name) for one in _body(source, scopes[1]) if one.line not in inner_lines
    )
    if is_global == is_outer:
        return source.code
    first = after_docstring(inside)
    keyword = "global" if is_global else "nonlocal"
    start = first.tokens[0].start
    return source.apply([Edit(start, start, f"{keyword} {name}\n{first.indent}")])


def _enclosing_functions(source: ProgramSource, index: int) -> list[int]:
    """Return the indices of the `def` statements around a statement, innermost first."""
    indices = []
    indent = source.statements[index].indent
    for at in range(index - 1, -1, -1):
        above = source.statements[at]
        if len(above.indent) < len(indent):
            indent = above.indent
            if above.tokens[0].text == "def" and above.is_header:
                indices.append(at)
    return indices


def _body(source: ProgramSource, header: int) -> list[SourceStatement]:
    """Return the statements of the block after a header."""
    body = []
    for statement in source.statements[header + 1 :]:
        if len(statement.indent) <= len(source.statements[header].indent):
            break
        body.append(statement)
    return body


def _is_parameter(definition: SourceStatement, name: str) -> bool:
    return any(token.text == name for token in definition.tokens[2:])


def _assigns(statement: SourceStatement, name: str) -> bool:
    return [token.text for token in statement.tokens[:2]] == [name, "="]


@of_statement
def add_self_to_name(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Add `self.` to a name that only the class of the failing method defines."""
    name = _missing_name(failure)
    if name is None:
        return source.code
    functions = _enclosing_functions(source, source.statements.index(statement))
    methods = [
        at
        for at in functions
        if [token.text for token in source.statements[at].tokens[2:4]] == ["(", "self"]
    ]
    if len(methods) != 1 or len(functions) != 1:
        return source.code
    definition = source.statements[methods[0]]
    owner = _owner(source, methods[0])
    if owner is None:
        return source.code
    members = [one for one in _body(source, owner) if one.indent == definition.indent]
    is_method = any([token.text for token in one.tokens[:2]] == ["def", name] for one in members)
    is_attribute = re.search(rf"\bself\.{name}\b\s*=[^=]", source.code) is not None
    if is_method == is_attribute:
        return source.code
    edits = []
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        if token.text != name or token.kind != "name" or (at and tokens[at - 1].text == "."):
            continue
        edits.append(Edit(token.start, token.start, "self."))
        following = [one.text for one in tokens[at + 1 : at + 4]]
        if is_method and following[:2] == ["(", "self"] and following[2:] in ([")"], [","]):
            end = tokens[at + 4].start if following[2] == "," else tokens[at + 2].end
            edits.append(Edit(tokens[at + 2].start, end, ""))
    return source.apply(edits)


def _owner(source: ProgramSource, index: int) -> int | None:
    """Return the index of the `class` statement around a method, or None."""
    indent = source.statements[index].indent
    for at in range(index - 1, -1, -1):
        above = source.statements[at]
        if len(above.indent) < len(indent):
            return at if above.tokens[0].text == "class" else None
    return None


def fix_module(source: ProgramSource, failure: Failure) -> str:
    """Correct the name of a module that differs from one known module by one letter or case.

    `import ramdom` becomes `import random`; `Math.pi` becomes `math.pi` with its import.
    """
    match = _NO_MODULE.search(failure.message)
    if failure.type != "ModuleNotFoundError" or match is None:
        return source.code
    wrong = match[1]
    module_names = {
        name for name in sys.stdlib_module_names if not name.startswith("_")
    } | _LIBRARIES
    candidates = [name for name in module_names if is_typo(wrong, name) or wrong == f"{name}s"]
    if len(candidates) != 1 or len(wrong) < 3:
        return source.code
    edits = []
    for statement in source.statements:
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False):
            if token.text == wrong and token.kind == "name" and not (before and before.text == "."):
                edits.append(Edit(token.start, token.end, candidates[0]))
    return source.apply(edits)


@of_statement
def fix_lone_keyword(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Correct `pass`, `break` or `continue`, misspelt as the only word of a statement."""
    name = _missing_name(failure)
    if name is None or name in bound_names(source):
        return source.code
    if [token.text for token in statement.tokens] != [name]:
        return source.code
    candidates = [word for word in _STATEMENT_KEYWORDS if is_misspelt(name, word)]
    if len(candidates) != 1:
        return source.code
    token = statement.tokens[0]
    return source.apply([Edit(token.start, token.end, candidates[0])])


@of_statement
def fix_member(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Replace an attribute of another language by Python's: `x.push(1)`, `x.length`, `x.trim()`."""
    match = _NO_MEMBER.search(failure.message) if failure.type == "AttributeError" else None
    if match is None:
        return source.code
    kind, name = match.groups()
    tokens = statement.tokens
    uses = [
        at for at in range(1, len(tokens)) if tokens[at].text == name and tokens[at - 1].text == "."
    ]
    if right := _SYNONYMS.get(kind, {}).get(name):
        return source.apply(Edit(tokens[at].start, tokens[at].end, right) for at in uses)
    if name in _LENGTHS and kind in _SIZED:
        edits = [edit for at in uses for edit in _length_edits(statement, at)]
        return source.apply(edits) if len(uses) == 1 else source.code
    if name == "join" and kind in ("list", "tuple"):
        return source.apply(edit for at in uses for edit in _join_edits(source, statement, at))
    if kind == "tuple" and hasattr(str, name):
        return _remove_comma(source, statement, uses)
    return source.code


def _length_edits(statement: SourceStatement, at: int) -> list[Edit]:
    tokens = statement.tokens
    start = receiver_start(tokens, at - 1)
    if start is None:
        return []
    is_call = [token.text for token in tokens[at + 1 : at + 3]] == ["(", ")"]
    end = tokens[at + 2].end if is_call else tokens[at].end
    return [
        Edit(tokens[start].start, tokens[start].start, "len("),
        Edit(tokens[at - 1].start, end, ")"),
    ]


def _join_edits(source: ProgramSource, statement: SourceStatement, at: int) -> list[Edit]:
    """Return the edit of `items.join(", ")`."""
    tokens = statement.tokens
    start = receiver_start(tokens, at - 1)
    words = [token.text for token in tokens[at + 1 : at + 4]]
    if start is None or len(words) < 3 or (words[0], words[2]) != ("(", ")"):
        return []
    if tokens[at + 2].kind != "string":
        return []
    receiver = source.code[tokens[start].start : tokens[at - 2].end]
    return [Edit(tokens[start].start, tokens[at + 3].end, f"{words[1]}.join({receiver})")]


def _remove_comma(source: ProgramSource, statement: SourceStatement, uses: list[int]) -> str:
    """Remove the comma after a string that makes it a tuple: `x = "a",`."""
    if len(uses) != 1 or uses[0] < 2:
        return source.code
    name = statement.tokens[uses[0] - 2].text
    assigned = [
        one.tokens
        for one in source.statements
        if [token.text for token in one.tokens[:2]] == [name, "="]
    ]
    if len(assigned) != 1 or len(assigned[0]) != 4 or assigned[0][3].text != ",":
        return source.code
    if assigned[0][2].kind != "string":
        return source.code
    return source.apply([Edit(assigned[0][3].start, assigned[0][3].end, "")])


def keep_object(source: ProgramSource, failure: Failure) -> str:
    """Keep an object that a method changes: `items = items.append(1)` assigns None."""
    if not failure.message.startswith("'NoneType' object"):
        return source.code
    edits = []
    for statement in source.statements:
        tokens = statement.tokens
        words = [token.text for token in tokens[:6]]
        is_change = (
            len(words) == 6
            and (words[1], words[3], words[5]) == ("=", ".", "(")
            and words[0] == words[2]
            and words[4] in _CHANGING
            and matching_bracket(tokens, 5) == len(tokens) - 1
        )
        if is_change:
            edits.append(Edit(tokens[0].start, tokens[2].start, ""))
    failing = source.statement_at(failure.line or 0)
    names = {source.code[edit.start : edit.end].partition(" ")[0] for edit in edits}
    if failing is None or not names & {token.text for token in failing.tokens}:
        return source.code
    return source.apply(edits)


@of_statement
def add_call(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Add the parentheses of a method that is not called: `text.strip.upper()`."""
    is_method = "'builtin_function_or_method' object has no attribute" in failure.message
    if not (is_method or _NO_LENGTH.search(failure.message)):
        return source.code
    tokens = statement.tokens
    words = [token.text for token in tokens]
    uses = [
        at
        for at in range(1, len(tokens) - 1)
        if words[at - 1] == "." and words[at + 1] == ("." if is_method else ")")
    ]
    if len(uses) != 1 or (not is_method and "len" not in words):
        return source.code
    end = tokens[uses[0]].end
    return source.apply([Edit(end, end, "()")])


def add_self(source: ProgramSource, failure: Failure) -> str:
    """Add the parameter `self` to the method that uses it and received one argument too many."""
    match = _METHOD.search(failure.message) if failure.type == "TypeError" else None
    if not match or int(match[4]) != int(match[3]) + 1:
        return source.code
    methods = [
        index
        for index, statement in enumerate(source.statements)
        if statement.indent and _defines(statement, match[2])
    ]
    if len(methods) != 1:
        return source.code
    statement = source.statements[methods[0]]
    above = source.statements[methods[0] - 1]
    opening = next((at for at, token in enumerate(statement.tokens) if token.text == "("), 0)
    closing = matching_bracket(statement.tokens, opening) if opening else None
    if (
        closing is None
        or above.tokens[0].text == "@"
        or any(token.text in ("self", "cls") for token in statement.tokens[opening:closing])
    ):
        return source.code
    body: list[Token] = []
    for below in source.statements[methods[0] + 1 :]:
        if len(below.indent) <= len(statement.indent):
            break
        body += below.tokens
    if not any(token.text == "self" for token in body):
        return source.code
    at = statement.tokens[opening].end
    return source.apply([Edit(at, at, "self" if closing == opening + 1 else "self, ")])


def _defines(statement: SourceStatement, name: str) -> bool:
    words = [token.text for token in statement.tokens[:3]]
    return words[:2] == ["def", name] or words == ["async", "def", name]
