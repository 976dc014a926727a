"""Descriptions of fields: the strings below them, read from the source when they are needed."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
import threading
from collections.abc import Iterator
from functools import cache

# CPython 3.11 counts the depth of trees once for all threads: of two that parse, one may fail.
_parser = threading.Lock()


@cache
def field_descriptions(module: str) -> dict[str, dict[str, str]]:
    """Return the description of each field of each class of a module, one paragraph a line."""
    if not module.startswith(f"{__name__.partition('.')[0]}."):
        return {}
    with _parser:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        part.name: dict(_described(part.body))
        for part in tree.body
        if isinstance(part, ast.ClassDef)
    }


def _described(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in itertools.pairwise(body):
        text = below.value if isinstance(below, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            targets = field.targets if isinstance(field, ast.Assign) else []
            targets = [field.target] if isinstance(field, ast.AnnAssign) else targets
            for target in targets:
                if isinstance(target, ast.Name):
                    paragraphs = text.value.split("\n\n")
                    yield target.id, "\n".join(" ".join(one.split()) for one in paragraphs)
