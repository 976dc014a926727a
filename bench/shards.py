"""How many shards each named query touches on a PostgreSQL that Citus spreads by account (docs/guides/shards.md).

    python -m bench.shards --store postgresql://remembrancer@coordinator/memory [--plan memory/memory.sql:said]

Each query is planned as a transaction of one account would run it, with values of the types that PostgreSQL finds for it,
and not run. Prints a line a query: its shards (`-`: none, only tables of the coordinator or copied to every worker), or what
Citus says against it. Exit status 1 when one is refused, or when one that keeps to an account touches more than one shard.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

import remembrancer
from remembrancer.store import Queries
from remembrancer.store.queries import Statement

PACKAGE = Path(remembrancer.__file__).parent
ACCOUNT_ID = 1
VALUES = {"bigint": "1", "integer": "1", "bytea": "'\\x00'", "double precision": "1.0", "numeric": "1", "boolean": "true", "bigint[]": "'{1}'"}


class Planned(NamedTuple):
    """A query, and how Citus would run it: number of shards, or why not at all."""

    name: str
    shards: int | None
    refused: str
    names_account: bool


def statements() -> Iterator[tuple[str, str]]:
    """Every named query as PostgreSQL is asked it."""
    for path in sorted(PACKAGE.rglob("*.sql")):
        if "migrations" not in path.parts and path.name != "catalogue.sql":
            for name, statement in vars(Queries(path.read_text("utf-8"), path.name)).items():
                assert isinstance(statement, Statement)
                yield f"{path.relative_to(PACKAGE)}:{name}", statement.variants.get("postgresql", str(statement))


def plan(connection: psycopg.Connection[Any], name: str, sql: str, *, form: str = "json") -> Any:
    """EXPLAIN of a query with values of the right types. Raises psycopg.Error."""
    names = list(dict.fromkeys(re.findall(r"(?<!:):([a-z][a-z0-9_]*)", sql)))
    for number, parameter in enumerate(names, start=1):
        sql = re.sub(rf"(?<!:):{parameter}\b", f"${number}", sql)
    connection.execute(f"prepare named_query as {sql}".encode())
    [(types,)] = connection.execute(
        "select parameter_types::text[] from pg_prepared_statements where name = 'named_query'"
    ).fetchall()
    values = ", ".join(str(ACCOUNT_ID) if one == "account_id" else VALUES.get(kind, "'x'") for one, kind in zip(names, types, strict=True))
    given = f"({values})" if names else ""
    return connection.execute(f"explain (format {form}, verbose) execute named_query{given}".encode()).fetchall()


def shards_of(node: Any) -> Iterator[int]:
    """The numbers of tasks that a plan in JSON speaks of, wherever they stand."""
    if isinstance(node, dict):
        if "Task Count" in node:
            yield int(node["Task Count"])
        for inner in node.values():
            yield from shards_of(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from shards_of(inner)
