"""Named SQL: what a file of it says, and that every engine understands all of it."""

from __future__ import annotations

import re

from engines import ENGINES, named_queries, numbered

from remembrancer.store import Store
from remembrancer.store.queries import Statement


def test_every_engine_understands_every_named_query(store: Store, engine: str) -> None:
    """Without the types of the values: as when each of them is null. A file may be one engine's alone, and says so in its name."""
    others = tuple(f"_{other}.sql" for other in ENGINES if other != engine)
    asked = {name: prepare(statement, engine) for name, statement in named_queries().items() if not name.partition(" ")[0].endswith(others)}
    failed = {}
    for name, statement in asked.items():
        try:
            store.write(lambda tx, statement=statement: tx.all(statement, **dict.fromkeys(re.findall(r":([a-z][a-z0-9_]*)", statement))))  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001  told below, all of them
            failed[name] = str(error)

    assert len(asked) > 100
    assert failed == {}


def prepare(statement: Statement, engine: str) -> str:
    """What makes an engine read a statement, and not run it."""
    if engine == "sqlite":
        return f"explain {statement.variants.get(engine, str(statement))}"
    return f"prepare named_query as {numbered(statement)}\n; deallocate named_query"
