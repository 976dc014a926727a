"""The guard that protects a program's own tests. Runs in the sandbox as a part of `guards.py`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from .syntax_trees import Function, Pair, doctests, has_tests, is_constant, is_test, name_of


def asserts(node: ast.AST, path: str = "") -> Iterator[tuple[str, ast.Assert]]:
    """Yield the assertions of a tree with the path of blocks that contain them."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Assert):
                yield path, child
            elif isinstance(child, (*Function, ast.ClassDef)):
                yield from asserts(child, f"{path}/{child.name}")
            elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                head = [
                    ast.dump(part)
                    for name in ("test", "target", "iter", "type")
                    if isinstance(part := getattr(child, name, None), ast.AST)
                ]
                yield from asserts(child, f"{path}/{field}{type(child).__name__}{head}")


def tests_changed(pair: Pair) -> bool:
    """Return True if an assertion, a test, its data or its call was removed or changed."""
    if pair.old is None:
        return pair.has_fewer(lambda node: isinstance(node, ast.Assert), r"^[ \t]*assert\b")
    old, new = (
        Counter(path + ast.dump(node) for path, node in asserts(tree))
        for tree in (pair.old, pair.new)
    )
    old_tests, new_tests = (
        {ast.dump(node) for node in ast.walk(tree) if is_test(node)}
        for tree in (pair.old, pair.new)
    )
    if old - new or old_tests - new_tests or doctests(pair.old) - doctests(pair.new):
        return True
    if not has_tests(pair.old):
        return False
    return _tests_disabled(pair.old, pair.new) or _data_changed(pair.old, pair.new)


def _names_read(tree: ast.Module) -> set[str]:
    """Return the names that assertions read, and those that the loops around them iterate over."""
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    loops = [
        node.iter
        for node in ast.walk(tree)
        if isinstance(node, ast.For)
        and any(isinstance(part, ast.Assert) for part in ast.walk(node))
    ]
    return {
        part.id
        for node in (*tests, *loops)
        for part in ast.walk(node)
        if isinstance(part, ast.Name)
    }


def _tests_disabled(old: ast.Module, new: ast.Module) -> bool:
    """Return True if the functions and loops with assertions bypass them.

    They may exit early, set the names that the assertions read, or be called less often.
    """
    names_read = _names_read(old)

    def is_bypass(node: ast.AST) -> bool:
        is_exit = isinstance(
            node,
            ast.Return
            | ast.Raise
            | ast.Yield
            | ast.YieldFrom
            | ast.Break
            | ast.Continue
            | ast.Global,
        )
        return (
            is_exit
            or isinstance(node, ast.AsyncFunctionDef)
            or (isinstance(node, ast.Name | ast.arg) and _assigned_name(node) in names_read)
        )

    def count_bypasses(tree: ast.Module) -> Counter[str]:
        counts: Counter[str] = Counter()
        for node in ast.walk(tree):
            if isinstance(node, (*Function, ast.For, ast.While)) and any(
                isinstance(inner, ast.Assert) for inner in ast.walk(node)
            ):
                counts[getattr(node, "name", "")] += sum(map(is_bypass, ast.walk(node)))
        return counts

    old_calls, new_calls = (
        Counter(name_of(node) for node in ast.walk(tree) if isinstance(node, ast.Call))
        for tree in (old, new)
    )
    tests = {
        node.name
        for node in ast.walk(old)
        if isinstance(node, (*Function, ast.ClassDef)) and is_test(node)
    } | {"main", "testmod"}
    return bool(count_bypasses(new) - count_bypasses(old)) or any(
        new_calls[name] < old_calls[name] for name in {*count_bypasses(old), *tests} if name
    )


def _assigned_name(node: ast.Name | ast.arg) -> str | None:
    """Return the name that a node assigns, or None."""
    if isinstance(node, ast.arg):
        return node.arg
    return None if isinstance(node.ctx, ast.Load) else node.id


def _data_changed(old: ast.Module, new: ast.Module) -> bool:
    """Return True if a name that the tests read became a constant, or another constant."""
    names_read = _names_read(old)

    def assigned_values(tree: ast.Module) -> dict[str, list[ast.expr]]:
        values: dict[str, list[ast.expr]] = {}
        for node in tree.body:
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            for target in targets:
                if (
                    isinstance(target, ast.Name)
                    and target.id in names_read
                    and isinstance(node, ast.Assign | ast.AnnAssign)
                    and node.value
                ):
                    values.setdefault(target.id, []).append(node.value)
        return values

    before, after = assigned_values(old), assigned_values(new)
    for name, values in before.items():
        old_values = [ast.dump(value) for value in values]
        new_values = [ast.dump(value) for value in after.get(name, [])]
        if not new_values or (all(map(is_constant, values)) and old_values != new_values):
            return True
        if any(is_constant(value) and ast.dump(value) not in old_values for value in after[name]):
            return True
    old_globals, new_globals = (
        sum(isinstance(node, ast.Global) for node in ast.walk(tree)) for tree in (old, new)
    )
    return new_globals > old_globals
