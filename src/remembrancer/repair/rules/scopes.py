"""Correct names that exist in another scope: `self.`, `global`, modules with another name."""

from __future__ import annotations

import re
import sys

from .keywords import is_close
from .names import is_typo
from .proposal import Failure
from .python2_semantics import bound_names
from .source import Edit, ProgramSource, SourceStatement, after_docstring

_UNBOUND = re.compile(r"local variable '(\w+)' (?:where|referenced)")
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_NO_MODULE = re.compile(r"No module named '(\w+)'\Z")
_LIBRARIES = frozenset({"numpy", "matplotlib", "pandas", "scipy", "sympy"})
_STATEMENT_KEYWORDS = ("pass", "break", "continue")


def declare_global(source: ProgramSource, failure: Failure) -> str:
    """Declare a variable `global` or `nonlocal` in a function that only changes its value.

    Applies if the function never assigns anything but `x += ...`, and exactly one outer scope
    assigns it.
    """
    match = _UNBOUND.search(failure.message) if failure.type == "UnboundLocalError" else None
    statement = source.statement_at(failure.line or 0)
    if match is None or statement is None:
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


def add_self_to_name(source: ProgramSource, failure: Failure) -> str:
    """Add `self.` to a name that only the class of the failing method defines."""
    match = _UNDEFINED.search(failure.message) if failure.type == "NameError" else None
    statement = source.statement_at(failure.line or 0)
    if match is None or statement is None:
        return source.code
    name = match[1]
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


def fix_lone_keyword(source: ProgramSource, failure: Failure) -> str:
    """Correct `pass`, `break` or `continue`, misspelt as the only word of a statement."""
    match = _UNDEFINED.search(failure.message) if failure.type == "NameError" else None
    statement = source.statement_at(failure.line or 0)
    if match is None or statement is None or match[1] in bound_names(source):
        return source.code
    if [token.text for token in statement.tokens] != [match[1]]:
        return source.code
    candidates = [word for word in _STATEMENT_KEYWORDS if is_close(match[1], word)]
    if len(candidates) != 1:
        return source.code
    token = statement.tokens[0]
    return source.apply([Edit(token.start, token.end, candidates[0])])
