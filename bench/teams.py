"""Measure searches that cover teams beside searches of one memory.

    python -m bench.teams [--turns 1000] [--teams 8]

Each memory has as many turns. Times are those of the function behind `POST /memory`, without HTTP;
the question is another one each time, and each kind of search is asked in turn.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from bench.report import table
from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.accounts.teams import enter
from remembrancer.context import Caller, Context
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.write.batch import write_batch
from remembrancer.permissions.teams import create_team
from remembrancer.protocol.memory_batch import BatchTurn, TurnBatch
from remembrancer.protocol.search import MemoryQuery
from remembrancer.protocol.teams import TeamCreate

QUESTIONS = 200
BATCH = 500
PLACES = ("garden", "harbour", "attic", "office", "cellar", "kitchen", "yard", "workshop")


def fill(context: Context, caller: Caller, turns: int) -> None:
    """Store turns in the memory of a caller."""
    for low in range(0, turns, BATCH):
        batch = [
            BatchTurn(
                query=f"Where is box {n} of the {PLACES[n % len(PLACES)]}?",
                response=f"Box {n} stands on shelf {n % 37} in the {PLACES[n % len(PLACES)]}.",
            )
            for n in range(low, min(low + BATCH, turns))
        ]
        write_batch(context, caller, TurnBatch(turns=batch))


def measure(context: Context, owner: Caller, names: list[str]) -> str:
    """Return a table of the times of each kind of search, in milliseconds."""
    kinds: dict[str, dict[str, object]] = {
        "one's own memory": {},
        "own and 1 team": {"teams": names[:1]},
        f"own and {len(names)} teams": {"teams": names},
    }
    times: dict[str, list[float]] = defaultdict(list)
    for n in range(QUESTIONS + 5):
        for kind, more in kinds.items():
            text = f"shelf of box {n * 7} in the {PLACES[n % len(PLACES)]}"
            body = {"query_text": text, "user_id": "owner", "interact": False, **more}
            query = MemoryQuery.model_validate(body)
            begin = time.perf_counter()
            recall(context, owner, query)
            if n >= 5:  # the first ones load the indexes
                times[kind].append((time.perf_counter() - begin) * 1e3)
    base = statistics.median(times["one's own memory"])
    rows = []
    for kind, values in times.items():
        centiles = statistics.quantiles(values, n=100)
        rows.append(
            [kind, f"{centiles[49]:.2f}", f"{centiles[98]:.2f}", f"{centiles[49] / base:.1f}"]
        )
    return table(["search", "p50 ms", "p99 ms", "ratio"], rows)


def main() -> None:
    """Fill a temporary store, and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=1000)
    options.add_argument("--teams", type=int, default=8)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        context = testing.context(Path(folder))
        owner = caller_for(context)
        fill(context, owner, chosen.turns)
        names = []
        for n in range(chosen.teams):
            names.append(create_team(context, owner, TeamCreate(name=f"Team {n}")).team_id)
            fill(context, enter(context, owner, names[-1], None, "writer"), chosen.turns)
        print(measure(context, owner, names))
        context.close()


if __name__ == "__main__":
    main()
