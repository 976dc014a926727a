"""Measure copying a store from SQLite to PostgreSQL, against PostgreSQL's COPY of two tables.

    python -m bench.copying --data locomo-dev.json [--events 10000]

The floor reads the rows with one query and passes them to COPY: it checks nothing and cannot be
resumed.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

import psycopg

from bench.load import Turns, fill
from bench.report import table, timed, write_section
from remembrancer.accounts import caller_for
from remembrancer.context import assemble
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
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--events", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        context = assemble(Settings(data=Path(folder), durability="normal"))
        with closing(context), closing(open_store(server.database())) as target:
            caller = caller_for(context, None)
            fill(context, caller.account_id, "owner", Turns(options.data, context), options.events)
            first, again = (
                timed(lambda: copy(context.store, target, place="here", progress=silent))
                for _ in range(2)
            )
            report = timed(lambda: store_digest(context.store))
            floor = timed(lambda: copied_blindly(context.store, server.database()))
    rows = [
        (
            "a first copy, compared",
            f"{first / 1_000:.1f}",
            f"{options.events * 1_000 / first:,.0f}",
            f"{first / floor:.1f}",
        ),
        (
            "a second, nothing to do",
            f"{again / 1_000:.1f}",
            f"{options.events * 1_000 / again:,.0f}",
            f"{again / floor:.1f}",
        ),
        (
            "counts and hashes of the source",
            f"{report / 1_000:.1f}",
            f"{options.events * 1_000 / report:,.0f}",
            f"{report / floor:.1f}",
        ),
        (
            "COPY, of `events` and `event_index`",
            f"{floor / 1_000:.1f}",
            f"{options.events * 1_000 / floor:,.0f}",
            "1.0",
        ),
    ]
    command = f"python -m bench.copying --data {options.data.name} --events {options.events}"
    write_section(
        "copying",
        "A store copied to PostgreSQL",
        command,
        table(("what", "seconds", "events a second", "of COPY"), rows),
    )


def silent(_what: str, _rows: int) -> AbstractContextManager[Callable[[int], None]]:
    """Ignore progress."""
    return nullcontext(lambda _: None)


def copied_blindly(source: Store, url: str) -> None:
    """Copy both tables with COPY, into a store without constraints or policies."""
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
                    f"create temporary table blind_{one.name} "
                    f"(like {one.name} including indexes including generated)"
                ).encode()
            )
            with connection.cursor().copy(
                f"copy blind_{one.name} ({columns}) from stdin".encode()
            ) as sink:
                for row in rows:
                    sink.write_row(row)


if __name__ == "__main__":
    main()
