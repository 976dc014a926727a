"""Query plans of statements."""

from __future__ import annotations

import re

from engines import only_sqlite

from remembrancer.context import Context


def plan(context: Context, sql: str) -> str:
    """Return the query plan of SQLite, one step per line; every value is bound to 1."""
    only_sqlite()
    values = dict.fromkeys(re.findall(r":([a-z_]+)", sql), 1)
    return "\n".join(
        str(row.detail)
        for row in context.store.read(lambda tx: tx.all(f"explain query plan {sql}", **values))
    )
