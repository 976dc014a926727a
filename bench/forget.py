"""Measure the latency of forgetting a user, and of erasing one event and the next search.

    python -m bench.forget --data locomo-dev.json [--users 200]

The baseline deletes the same rows with plain SQL, in one transaction per user, without checks or
counts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from bench.load import Turns, fill
from bench.report import table, timed, write_section
from remembrancer.accounts import caller_for, keys
from remembrancer.context import Context, assemble
from remembrancer.memory.history.forget import erase_event, forget
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.spaces import row_id
from remembrancer.protocol.forget import Forget
from remembrancer.protocol.search import MemoryQuery
from remembrancer.settings import Settings
from remembrancer.store import Transaction

EVENTS, LARGE, ERASED = 100, 50_000, 20


def main() -> None:
    """Measure and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument("--users", type=int, default=200, help="Default: 200")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        context = assemble(Settings(data=Path(name)))
        keys.create(context, account="bench")
        account, turns = caller_for(context).account_id, Turns(options.data, context)
        for number in range(options.users):
            fill(context, account, f"u{number}", turns, EVENTS)
        rows = users(context, options.users)
        fill(context, account, "large", turns, LARGE)
        text = singles(context)
        context.close()
    users_table = table(
        [f"forgetting a user with {EVENTS} events", "p50 ms", "p99 ms", "p50 / baseline"], rows
    )
    write_section(
        "forget",
        "Forgetting",
        f"python -m bench.forget --data {options.data.name} --users {options.users}",
        f"{users_table}\n\n{text}",
    )


def users(context: Context, count: int) -> list[list[str]]:
    """Forget half of the users with the service, and the others with plain SQL."""
    caller, service, baseline = caller_for(context), [], []
    for number in range(count):
        name = f"u{number}"
        if number % 2:
            erase = partial(context.store.write, partial(plain_deletes, name=name))
            baseline.append(timed(erase))
        else:
            service.append(
                timed(lambda name=name: forget(context, caller, Forget(user_id=name, confirm=name)))  # type: ignore[misc]
            )
    ratio = statistics.median(service) / statistics.median(baseline)
    return [
        ["Remembrancer", *figures(service), f"{ratio:.1f}x"],
        ["baseline: plain SQL deletes", *figures(baseline), ""],
    ]


def plain_deletes(tx: Transaction, name: str) -> None:
    """Delete a user's rows."""
    space = tx.one("select id from spaces where user_id = :name", name=name).id
    for table_name in ("event_index", "events"):
        tx.run(
            f"delete from {table_name} where id >= :low and id < :high",  # noqa: S608 - constant names
            low=row_id(space, 0),
            high=row_id(space + 1, 0),
        )
    tx.run("delete from sessions where space_id = :space", space=space)
    tx.run("delete from spaces where id = :space", space=space)


def singles(context: Context) -> str:
    """Erase single events of a large space; measure the search before and after each."""
    caller, erasing, after, before = caller_for(context), [], [], []
    query = MemoryQuery(
        query_text="what did we say about the trip", user_id="large", interact=False
    )
    hits = recall(context, caller, query.model_copy(update={"top_k": ERASED + 1})).hits
    for hit in hits[:ERASED]:
        before.append(timed(lambda: recall(context, caller, query)))
        erasing.append(timed(lambda event_id=hit.event_id: erase_event(context, caller, event_id)))  # type: ignore[misc]
        after.append(timed(lambda: recall(context, caller, query)))
    p50_after, p50_before = statistics.median(after), statistics.median(before)
    return (
        f"Erasing one event of {LARGE:,}: p50 {statistics.median(erasing):.1f} ms. "
        f"Search after it: p50 {p50_after:.1f} ms; "
        f"before it: {p50_before:.1f} ms ({p50_after / p50_before:.2f}x)."
    )


def figures(times: list[float]) -> list[str]:
    """Return p50 and p99."""
    return [f"{statistics.median(times):.1f}", f"{np.quantile(times, 0.99):.1f}"]


if __name__ == "__main__":
    main()
