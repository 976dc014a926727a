"""Measure the throughput of copying a store from SQLite to PostgreSQL.

    python -m bench.copying --data locomo-dev.json [--events 10000]

The baseline reads two tables with one query each and writes them with PostgreSQL's COPY. It checks
nothing and cannot be resumed.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from pathlib import Path

import psycopg

from bench.load import Turns, fill
from bench.report import table, timed, write_section
from remembrancer.accounts import caller_for
from remembrancer.context import assemble
from remembrancer.memory.exchange.restore import no_progress
from remembrancer.settings import Settings
from remembrancer.store import Store, open_store
from remembrancer.store.transfer.catalog import tables
from remembrancer.store.transfer.copy import copy
from remembrancer.store.transfer.digest import store_digest
from remembrancer.testing.postgres import Postgres


def main() -> None:
    """Fill a store, copy it, and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument("--events", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        context = assemble(Settings(data=Path(folder), durability="normal"))
        with closing(context), closing(open_store(server.database())) as target:
            caller = caller_for(context, None)
            fill(context, caller.account_id, "owner", Turns(options.data, context), options.events)
            first, second = (
                timed(lambda: copy(context.store, target, place="here", progress=no_progress))
                for _ in range(2)
            )
            digest = timed(lambda: store_digest(context.store))
            baseline = timed(lambda: copy_unchecked(context.store, server.database()))
    rows = [
        (
            "first copy, with comparison",
            f"{first / 1_000:.1f}",
            f"{options.events * 1_000 / first:,.0f}",
            f"{first / baseline:.1f}",
        ),
        (
            "second copy, no changes",
            f"{second / 1_000:.1f}",
            f"{options.events * 1_000 / second:,.0f}",
            f"{second / baseline:.1f}",
        ),
        (
            "counts and hashes of the source",
            f"{digest / 1_000:.1f}",
            f"{options.events * 1_000 / digest:,.0f}",
            f"{digest / baseline:.1f}",
        ),
        (
            "baseline: COPY of `events` and `event_index`",
            f"{baseline / 1_000:.1f}",
            f"{options.events * 1_000 / baseline:,.0f}",
            "1.0",
        ),
    ]
    command = f"python -m bench.copying --data {options.data.name} --events {options.events}"
    write_section(
        "copying",
        "Copying a store to PostgreSQL",
        command,
        table(("step", "seconds", "events/s", "time / baseline"), rows),
    )


def copy_unchecked(source: Store, url: str) -> None:
    """Copy both tables with COPY into tables without constraints or policies."""
    open_store(url).close()
    with psycopg.connect(url) as connection:
        for one in source.read(tables):
            if one.name not in ("events", "event_index"):
                continue
            columns = ", ".join(one.columns)
            rows = source.read(
                lambda tx, one=one: tx.all(f"select {', '.join(one.columns)} from {one.name}")  # type: ignore[misc]  # noqa: S608
            )
            connection.execute(
                (
                    f"create temporary table unchecked_{one.name} "
                    f"(like {one.name} including indexes including generated)"
                ).encode()
            )
            with connection.cursor().copy(
                f"copy unchecked_{one.name} ({columns}) from stdin".encode()
            ) as sink:
                for row in rows:
                    sink.write_row(row)


if __name__ == "__main__":
    main()
