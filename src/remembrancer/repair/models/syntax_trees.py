"""Python programs as trees:

what guards ask of them. Read as a text and run in the sandbox with `looked_at.py`, which says why.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

TRIVIAL = {
    "0",
    "1",
    "-1",
    "True",
    "False",
    "None",
    "",
}  # constants that a program may give without having been asked for them
GIVEN_MAX = 200  # constants that are told
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
    """Two programs:

    as it was, and as it is to be. `old` is None where the first cannot be parsed.
    """

    before: str
    after: str
    old: ast.Module | None
    new: ast.Module
    purpose: str

    def more(self, count: Callable[[ast.AST], int], pattern: str) -> bool:
        """Whether there is more of something than before; where there is no tree `pattern` counts
        it in the text.
        """
        return sum(map(count, ast.walk(self.new))) > self.had(count, pattern)

    def less(self, count: Callable[[ast.AST], int], pattern: str) -> bool:
        """Whether there is less of it."""
        return sum(map(count, ast.walk(self.new))) < self.had(count, pattern)

    def had(self, count: Callable[[ast.AST], int], pattern: str) -> int:
        """How much of it there was."""
        return (
            len(re.findall(pattern, self.before, re.MULTILINE))
            if self.old is None
            else sum(map(count, ast.walk(self.old)))
        )


def parse_program(text: str) -> ast.Module | None:
    """Its tree; None when it has none."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def name_of(node: ast.AST | None) -> str:
    """The last name of `a`, `a.b` or `a.b()`."""
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
    """Whether it is the same whatever the program does:

    no name but of a converter, nothing called but that.
    """
    if node is None:
        return True
    called = {
        id(part.func)
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and name_of(part) in _CONVERTERS
    }
    return not any(
        (isinstance(part, ast.Name) and id(part) not in called)
        or isinstance(part, ast.Lambda | ast.Await | ast.Yield)
        for part in ast.walk(node)
    )


def is_hollow(body: list[ast.stmt]) -> bool:
    """Whether a body does nothing: `pass`, a text, a constant that it returns."""
    return all(
        isinstance(one, ast.Pass | ast.Continue | ast.Break)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        or (isinstance(one, ast.Return) and is_constant(one.value))
        for one in body
    )


def definitions(
    tree: ast.Module,
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Functions and classes of a module and the methods of the latter, by their whole names."""
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
    """Their names, in order."""
    if not isinstance(node, Function):
        return []
    found = [
        *node.args.posonlyargs,
        *node.args.args,
        *node.args.kwonlyargs,
        node.args.vararg,
        node.args.kwarg,
    ]
    return [one.arg for one in found if one]


def is_test(node: ast.AST) -> bool:
    """Whether it is a function or class that only tests."""
    if isinstance(node, ast.ClassDef):
        return any(name_of(kind) == "TestCase" for kind in node.bases) or node.name.startswith(
            "Test"
        )
    return isinstance(node, Function) and node.name.startswith("test")


def has_tests(tree: ast.AST) -> bool:
    """Whether the program says itself what is right."""
    return any(isinstance(node, ast.Assert) or is_test(node) for node in ast.walk(tree)) or bool(
        doctests(tree)
    )


def doctests(tree: ast.AST) -> Counter[str]:
    """Texts that hold examples."""
    return Counter(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>>" in node.value
    )


def reached(node: ast.AST | None) -> Iterator[object]:
    """Constants that an expression gives as they stand, not what it computes with."""
    if node is None:
        return
    if is_constant(node):
        yield from (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
        return
    for part in _parts(node):
        yield from reached(part)


def _parts(node: ast.AST) -> Sequence[ast.AST | None]:
    """What of an expression may be its value."""
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
    """Every node that is in no assertion and no test."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.Assert) and not is_test(node):
            yield node
            waiting += ast.iter_child_nodes(node)


def _told_by(node: ast.AST) -> Iterator[object]:
    """Constants that a statement gives as they stand, and those of a list, a table or a default,
    whatever is done with it.
    """
    value = getattr(node, "value", None)
    if isinstance(node, ast.Expr) and isinstance(value, ast.Constant):
        return
    if isinstance(
        node, ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Yield
    ) and isinstance(value, ast.AST):
        yield from reached(value)
    elif isinstance(node, ast.Dict | ast.List | ast.Set | ast.Tuple):
        for part in _parts(node):
            yield from reached(part)
    elif isinstance(node, ast.arguments):
        for default in (*node.defaults, *node.kw_defaults):
            yield from reached(default)


def assigned_names(pair: Pair) -> list[str]:
    """Constants that the changed program gives as they stand, and that the program did not have,
    but in its tests.
    """
    if pair.old is None:
        had = {
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
        had = {str(value) for value in constants}
        texts = "\n".join(str(value) for value in constants)
    found: dict[str, None] = {}
    for node in outside_tests(pair.new):
        for constant in _told_by(node):
            text = str(constant)
            if not (
                text in TRIVIAL
                or text in had
                or (isinstance(constant, str) and text.strip() in texts)
            ):
                found[text] = None
    return list(found)[:GIVEN_MAX]
