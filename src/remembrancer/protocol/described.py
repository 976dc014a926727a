"""Descriptions of fields: the strings below them, read from the source when they are needed."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from functools import cache


@cache
def field_descriptions(module: str) -> dict[str, dict[str, str]]:
    """Return the description of each field of each class of a module of this package."""
    if not module.startswith(f"{__name__.partition('.')[0]}."):
        return {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        part.name: {
            field.target.id: " ".join(text.value.value.split())
            for field, text in itertools.pairwise(part.body)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        }
        for part in tree.body
        if isinstance(part, ast.ClassDef)
    }
