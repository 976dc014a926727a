"""Measure the storage per event in PostgreSQL, by table.

    python -m bench.sizes --data locomo-dev.json

Real conversations are imported through the service, one user each. Sizes are compared with the size
of the text in UTF-8.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import psycopg

from bench.report import table, write_section
from remembrancer.accounts import caller_for
from remembrancer.context import assemble
from remembrancer.memory.exchange.importer import read, store
from remembrancer.settings import Settings
from remembrancer.testing.postgres import Postgres

COUNTED = """
select relname, pg_relation_size(oid) as rows,
    pg_table_size(oid) - pg_relation_size(oid) as overhead, pg_indexes_size(oid) as indexes
from pg_class
where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples > 10
order by 2 desc
"""


def main() -> None:
    """Import the conversations, measure the tables, and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        url = server.database()
        context = assemble(Settings(data=Path(folder), store=url, durability="normal"))
        try:
            caller = caller_for(context, None)
            events = store(
                context,
                caller,
                read(context, caller, options.data, user_id=None),
                progress=lambda _: None,
            ).stored
        finally:
            context.close()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("set remembrancer.account_id = 0")
            connection.execute("vacuum analyze")
            [(text,)] = connection.execute(
                "select sum(octet_length(query) + octet_length(response)) from events"
            ).fetchall()
            sizes = connection.execute(COUNTED).fetchall()
    rows = [
        (name, f"{(stored + overhead) / events:,.0f}", f"{indexes / events:,.0f}")
        for name, stored, overhead, indexes in sizes
    ]
    total = sum(stored + overhead + indexes for _, stored, overhead, indexes in sizes) / events
    rows.append(
        (
            "total",
            f"{sum(one[1] + one[2] for one in sizes) / events:,.0f}",
            f"{sum(one[3] for one in sizes) / events:,.0f}",
        )
    )
    summary = (
        f"{events:,} events with {text / events:,.0f} bytes of text each: {total:,.0f} bytes per "
        f"event, {total * events / text:.1f} times the text.\n\n"
    )
    write_section(
        "sizes",
        "Storage per event in PostgreSQL",
        f"python -m bench.sizes --data {options.data.name}",
        summary + table(("table", "table bytes per event", "index bytes per event"), rows),
    )


if __name__ == "__main__":
    main()
