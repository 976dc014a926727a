"""The named queries of the program, and their text as PostgreSQL receives it."""

from __future__ import annotations

import re
from pathlib import Path

import remembrancer
from remembrancer.store import Queries
from remembrancer.store.postgresql.dialect import for_postgresql
from remembrancer.store.queries import NamedStatement

PACKAGE = Path(remembrancer.__file__).parent
_PARAMETER = re.compile(r"(?<!:):([a-z][a-z0-9_]*)")


def named_queries() -> dict[str, NamedStatement]:
    """Return every statement of the program by its file and name, as in "memory/memory.sql hit"."""
    files = sorted(path for path in PACKAGE.rglob("*.sql") if "migrations" not in path.parts)
    return {
        f"{path.relative_to(PACKAGE)} {name}": statement
        for path in files
        for name, statement in vars(Queries(path.read_text("utf-8"), path.name)).items()
    }


def parameters(statement: str) -> list[str]:
    """Return the parameter names of a statement, in the order of PostgreSQL's numbers."""
    return list(dict.fromkeys(_PARAMETER.findall(for_postgresql(statement))))


def numbered(statement: str) -> str:
    """Return a statement for PostgreSQL with numbered parameters: `$1` for the first name in it."""
    text = for_postgresql(statement)
    for number, name in enumerate(parameters(statement), start=1):
        text = re.sub(rf"(?<!:):{name}\b", f"${number}", text)
    return text
