"""Queries on the syntax trees of programs. Runs in the sandbox as a part of `guards.py`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

# Constants that any change may introduce.
TRIVIAL_CONSTANTS = {"0", "1", "-1", "True", "False", "None", ""}
CONSTANTS_MAX = 200  # new constants in a report
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
WORD = re.compile(r"[^\W\d]\w*|\d[\w.]*")
_CONVERTERS = {
    "int",
    "float",
    "str",
    "list",
    "tuple",
    "set",
    "dict",
    "frozenset",
    "bytes",
    "repr",
    "sorted",
    "sum",
    "print",
    "write",
    "get",
}


class Pair(NamedTuple):
    """The old and the new program. `old` is None if the old program cannot be parsed."""

    before: str
    after: str
    old: ast.Module | None
    new: ast.Module
    purpose: str

    def has_more(self, count: Callable[[ast.AST], int], pattern: str) -> bool:
        """Return True if `count` totals more over the nodes of the new program than of the old.

        In an old program that cannot be parsed, matches of `pattern` are counted instead.
        """
        return sum(map(count, ast.walk(self.new))) > self.old_count(count, pattern)

    def has_fewer(self, count: Callable[[ast.AST], int], pattern: str) -> bool:
        """Return True if `count` totals less than in the old program. See has_more."""
        return sum(map(count, ast.walk(self.new))) < self.old_count(count, pattern)

    def old_count(self, count: Callable[[ast.AST], int], pattern: str) -> int:
        """Return the total of `count` over the old program. See has_more."""
        return (
            len(re.findall(pattern, self.before, re.MULTILINE))
            if self.old is None
            else sum(map(count, ast.walk(self.old)))
        )


def parse_program(text: str) -> ast.Module | None:
    """Return the syntax tree of a program, or None if it cannot be parsed."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def name_of(node: ast.AST | None) -> str:
    """Return the last name of `a`, `a.b` or `a.b()`; empty for other expressions."""
    if isinstance(node, ast.Call):
        node = node.func
    return (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )


def is_constant(node: ast.AST | None) -> bool:
    """Return True if an expression has no names and calls other than of built-in converters."""
    if node is None:
        return True
    converters = {
        id(part.func)
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and name_of(part) in _CONVERTERS
    }
    return not any(
        (isinstance(part, ast.Name) and id(part) not in converters)
        or isinstance(part, ast.Lambda | ast.Await | ast.Yield)
        for part in ast.walk(node)
    )


def is_hollow(body: list[ast.stmt]) -> bool:
    """Return True if a body does nothing but `pass`, a docstring or returning a constant."""
    return all(
        isinstance(statement, ast.Pass | ast.Continue | ast.Break)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Return) and is_constant(statement.value))
        for statement in body
    )


def definitions(
    tree: ast.Module,
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Yield the functions, classes and methods of a module with their qualified names."""
    for node in tree.body:
        if isinstance(node, (*Function, ast.ClassDef)):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            yield from (
                (f"{node.name}.{inner.name}", inner)
                for inner in node.body
                if isinstance(inner, Function)
            )


def parameters(node: ast.AST) -> list[str]:
    """Return the names of a function's parameters, in order."""
    if not isinstance(node, Function):
        return []
    arguments = [
        *node.args.posonlyargs,
        *node.args.args,
        *node.args.kwonlyargs,
        node.args.vararg,
        node.args.kwarg,
    ]
    return [argument.arg for argument in arguments if argument]


def is_test(node: ast.AST) -> bool:
    """Return True for a function or class that contains tests."""
    if isinstance(node, ast.ClassDef):
        return any(name_of(kind) == "TestCase" for kind in node.bases) or node.name.startswith(
            "Test"
        )
    return isinstance(node, Function) and node.name.startswith("test")


def has_tests(tree: ast.AST) -> bool:
    """Return True if a program contains assertions, tests or doctests."""
    return any(isinstance(node, ast.Assert) or is_test(node) for node in ast.walk(tree)) or bool(
        doctests(tree)
    )


def doctests(tree: ast.AST) -> Counter[str]:
    """Count the strings that contain doctests."""
    return Counter(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>>" in node.value
    )


def constant_values(node: ast.AST | None) -> Iterator[object]:
    """Yield the constants that may be an expression's value, not those it computes with."""
    if node is None:
        return
    if is_constant(node):
        yield from (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
        return
    for part in _parts(node):
        yield from constant_values(part)


def _parts(node: ast.AST) -> Sequence[ast.AST | None]:
    """Return the parts of an expression that may be its value."""
    parts: Sequence[ast.AST | None] = ()
    if isinstance(node, ast.IfExp):
        parts = node.body, node.orelse
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = [*node.keys, *node.values]
    elif isinstance(node, ast.BoolOp | ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.Call) and (
        name_of(node) in _CONVERTERS or isinstance(node.func, ast.Lambda)
    ):
        parts = [*node.args, node.func.value if isinstance(node.func, ast.Attribute) else None]
    elif isinstance(
        node, ast.Subscript | ast.NamedExpr | ast.Starred | ast.FormattedValue | ast.Await
    ):
        parts = (node.value,)
    elif isinstance(node, ast.Lambda):
        parts = (node.body,)
    return parts


def outside_tests(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are not in assertions or tests."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.Assert) and not is_test(node):
            yield node
            pending += ast.iter_child_nodes(node)


def _statement_constants(node: ast.AST) -> Iterator[object]:
    """Yield the constants that a statement assigns, returns or passes on.

    Those of lists, dictionaries and defaults count whatever their use.
    """
    value = getattr(node, "value", None)
    if isinstance(node, ast.Expr) and isinstance(value, ast.Constant):
        return
    if isinstance(
        node, ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Yield
    ) and isinstance(value, ast.AST):
        yield from constant_values(value)
    elif isinstance(node, ast.Dict | ast.List | ast.Set | ast.Tuple):
        for part in _parts(node):
            yield from constant_values(part)
    elif isinstance(node, ast.arguments):
        for default in (*node.defaults, *node.kw_defaults):
            yield from constant_values(default)


def new_constants(pair: Pair) -> list[str]:
    """Return the constants that the new program uses as values and the old one lacks.

    Constants in tests of the old program do not count as its own.
    """
    if pair.old is None:
        old_constants = {
            text
            for line in pair.before.splitlines()
            if not line.lstrip().startswith("assert")
            for text in WORD.findall(line)
        }
        texts = pair.before
    else:
        constants = [
            node.value for node in outside_tests(pair.old) if isinstance(node, ast.Constant)
        ]
        old_constants = {str(value) for value in constants}
        texts = "\n".join(str(value) for value in constants)
    new: dict[str, None] = {}
    for node in outside_tests(pair.new):
        for constant in _statement_constants(node):
            text = str(constant)
            if not (
                text in TRIVIAL_CONSTANTS
                or text in old_constants
                or (isinstance(constant, str) and text.strip() in texts)
            ):
                new[text] = None
    return list(new)[:CONSTANTS_MAX]
