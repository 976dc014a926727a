"""Named SQL queries: every engine parses all of them."""

from __future__ import annotations

import re

from engines import ENGINES
from named_queries import named_queries, numbered

from remembrancer.store import Store
from remembrancer.store.queries import NamedStatement


def test_every_engine_parses_every_named_query(store: Store, engine: str) -> None:
    """All values are null, so types are inferred. A file named after an engine is for it alone."""
    others = tuple(f"{other}.sql" for other in ENGINES if other != engine)
    ours = {
        name: statement
        for name, statement in named_queries().items()
        if not name.partition(" ")[0].endswith(others)
    }
    statements = {
        name: prepare(statement, engine, number)
        for number, (name, statement) in enumerate(ours.items())
    }
    failed = {}
    for name, statement in statements.items():
        try:
            store.write(
                lambda tx, statement=statement: tx.all(  # type: ignore[misc]
                    statement, **dict.fromkeys(re.findall(r":([a-z][a-z0-9_]*)", statement))
                )
            )
        except Exception as error:  # noqa: BLE001  all reported below
            failed[name] = str(error)

    assert len(statements) > 100
    assert failed == {}


def prepare(statement: NamedStatement, engine: str, number: int) -> str:
    """Return the SQL that makes an engine parse a statement without running it.

    `number` differs for each statement.
    """
    if engine == "sqlite":
        parts = statement.variants.get(engine, str(statement)).split(";\n")
        return "; ".join(f"explain {part}" for part in parts)
    return f"prepare named_query_{number} as {numbered(statement)}"
