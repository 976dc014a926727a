"""Count the shards that each named query touches on a PostgreSQL distributed by Citus.

    python -m bench.shards --store postgresql://remembrancer@coordinator/memory
    python -m bench.shards --store URL --plan memory/memory.sql:index_rows
    python -m bench.shards --store URL --against URL

See docs/guides/shards.md. Each query is planned, not run, in a transaction of one account. Prints
one line per query: the number of shards, or Citus's error. A reference table counts as one shard; 0
means the coordinator only. Exits with status 1 if a query fails, or if it uses several shards and
is not one of the queries over all accounts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bench.report import table, timed
from remembrancer.accounts import caller_for
from remembrancer.context import assemble
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.write.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.settings import Settings
from remembrancer.store.queries import NamedStatement
from remembrancer.testing.queries import named_queries, numbered, parameters

Connection = psycopg.Connection[Any]

ACCOUNT_ID = 1
SEARCHES = 200
VALUES = {"bigint": "1", "integer": "1", "bytea": "'\\x00'", "double precision": "1"}
EXCLUDED_FILES = {
    "catalog.sql",  # copying a store
    "postgresql.sql",  # database search, which a distributed store does not have
}
ALL_ACCOUNTS = {  # queries over the whole store, which may use all shards, and when they run
    "cubes/cubes.sql:erase_shown_of": "when a cube is deleted",
    "memory/memory.sql:spaces_newest": "once per server start",
    "memory/memory.sql:stale": "while a new embedder is introduced",
    "status.sql:events_stale": "for the status record",
}


def statements() -> Iterator[tuple[str, NamedStatement]]:
    """Yield every query that a sharded store runs, with its file and name."""
    for place, statement in named_queries().items():
        file, _, name = place.partition(" ")
        if Path(file).name not in EXCLUDED_FILES:
            yield f"{file}:{name}", statement


def plan(connection: Connection, sql: str, *, form: str) -> list[Any]:
    """Return the plan of a query, with sample values of the types that PostgreSQL infers.

    Raises psycopg.Error.
    """
    names = parameters(sql)
    with connection.transaction(force_rollback=True):
        connection.execute(f"set local remembrancer.account_id = {ACCOUNT_ID}".encode())
        # Plan with these values, not generically.
        connection.execute(b"set local plan_cache_mode = force_custom_plan")
        connection.execute(f"prepare named_query as {numbered(sql)}".encode())
        [(types,)] = connection.execute(
            "select parameter_types::text[] from pg_prepared_statements where name = 'named_query'"
        ).fetchall()
        values = [
            str(ACCOUNT_ID) if name == "account_id" else value_of(kind)
            for name, kind in zip(names, types, strict=True)
        ]
        inputs = f"({', '.join(values)})" if values else ""
        try:
            return [
                row[0]
                for row in connection.execute(
                    f"explain (format {form}, costs off) execute named_query{inputs}".encode()
                )
            ]
        finally:
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS:
                connection.execute(b"deallocate named_query")


def value_of(kind: str) -> str:
    """Return a sample value of a type; texts are JSON."""
    return "'{1}'" if kind.endswith("[]") else VALUES.get(kind, "'[1]'")


def tasks(node: Any) -> Iterator[int]:
    """Return the ids of the shards in a JSON plan."""
    if isinstance(node, dict):
        if "Task Count" in node:
            yield int(node["Task Count"])
        for inner in node.values():
            yield from tasks(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from tasks(inner)


def shards_of(connection: Connection, sql: str) -> int | str:
    """Return the number of shards that a query reads, or the error message.

    The number is 0 if the coordinator answers alone.
    """
    try:
        return max(tasks(plan(connection, sql, form="json")), default=0)
    except psycopg.Error as error:
        connection.execute(b"deallocate all")
        return str(error).partition("\n")[0]


def measure(url: str) -> tuple[float, float]:
    """Return the median milliseconds to store a turn and to search, without an embedder."""
    with tempfile.TemporaryDirectory() as folder:
        context = assemble(
            Settings(data=Path(folder), store=url, embedder="none", durability="normal")
        )
        try:
            caller = caller_for(context, None)
            turns = [
                Turn(
                    query=f"Which lamp is number {n}?",
                    response=f"The {n} on the left.",
                    session_id=f"s{n % 8}",
                )
                for n in range(SEARCHES)
            ]
            stored = [timed(partial(remember, context, caller, turn)) for turn in turns]
            queries = [
                MemoryQuery(query_text=f"lamp number {n}", user_id=caller.account_name)
                for n in range(SEARCHES)
            ]
            searched = [timed(partial(recall, context, caller, query)) for query in queries]
        finally:
            context.close()
    return median(stored), median(searched)


def main() -> int:
    """Print a line per query, or one plan. Return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--store", required=True, help="URL of the coordinator, as in REMEMBRANCER_STORE"
    )
    parser.add_argument("--plan", metavar="FILE:NAME", help="print the full plan of this query")
    parser.add_argument(
        "--against",
        metavar="URL",
        help="URL of an empty, undistributed database: compare the latency of both",
    )
    options = parser.parse_args()
    if options.against:
        (remember_ms, memory_ms), (baseline_remember_ms, baseline_memory_ms) = (
            measure(options.store),
            measure(options.against),
        )
        heads = ("p50 ms", "distributed", "one PostgreSQL", "ratio")
        print(
            table(
                heads,
                [
                    _compared("remember", remember_ms, baseline_remember_ms),
                    _compared("memory", memory_ms, baseline_memory_ms),
                ],
            )
        )
        return 0
    with psycopg.connect(options.store, autocommit=True, prepare_threshold=None) as connection:
        connection.execute(b"set client_min_messages = error")
        if options.plan:
            print("\n".join(plan(connection, dict(statements())[options.plan], form="text")))
            return 0
        planned = {name: shards_of(connection, sql) for name, sql in statements()}
    for name, shards in planned.items():
        print(f"{shards}\t{name}")
    unexpected = [
        name
        for name, shards in planned.items()
        if shards not in (0, 1) and name not in ALL_ACCOUNTS
    ]
    counts = Counter(
        "one shard"
        if shards == 1
        else "coordinator only"
        if shards == 0
        else "several shards or failed"
        for shards in planned.values()
    )
    print(
        f"{len(planned)} queries: {', '.join(f'{n} {what}' for what, n in counts.most_common())}; "
        f"unexpected: {', '.join(unexpected) or 'none'}"
    )
    return 1 if unexpected else 0


def _compared(what: str, distributed: float, single: float) -> tuple[str, ...]:
    return what, f"{distributed:.1f}", f"{single:.1f}", f"{distributed / single:.1f}"


if __name__ == "__main__":
    sys.exit(main())
