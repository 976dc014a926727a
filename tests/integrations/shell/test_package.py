"""The interpreter of shell commands is a package of its own: only the gate imports it."""

from __future__ import annotations

import ast
import sys

from integrations.agent import HOOKS

PACKAGE = HOOKS / "shell"


def test_only_the_gate_imports_the_interpreter() -> None:
    importers = {
        path.name
        for path in HOOKS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "shell"
    }

    assert importers == {"hook_paths.py"}


def test_the_interpreter_needs_the_standard_library_alone() -> None:
    imports = {
        module.split(".")[0]
        for path in PACKAGE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for module in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and node.level == 0
            else []
        )
    }

    assert imports <= sys.stdlib_module_names


def test_no_module_imports_one_that_imports_it() -> None:
    """Imports of types alone, which nothing runs, do not count."""
    needs = {
        path.stem: {
            name
            for node in ast.walk(_without_types(ast.parse(path.read_text("utf-8"))))
            if isinstance(node, ast.ImportFrom) and node.level == 1
            for name in ([node.module] if node.module else [alias.name for alias in node.names])
        }
        for path in PACKAGE.glob("*.py")
    }
    while free := [name for name, modules in needs.items() if not modules & needs.keys()]:
        for name in free:
            del needs[name]

    assert needs == {}


def _without_types(tree: ast.Module) -> ast.Module:
    """Return a module without its `if TYPE_CHECKING:`."""
    tree.body = [node for node in tree.body if not isinstance(node, ast.If)]
    return tree
