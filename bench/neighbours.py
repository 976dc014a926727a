"""Measure the effect of another user's memory on yours.

    python -m bench.neighbours --data locomo-dev.json

Compares latency and ranks over 10,000 events before and after adding 20,000 foreign ones.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.http import Server, prepared, quantiles, searches, timed
from bench.load import Turns, fill
from bench.report import table, write_section
from remembrancer.accounts import keys
from remembrancer.context import Context, assemble
from remembrancer.settings import read

OWN, FOREIGN = 10_000, 20_000


def measure(folder: Path, key: str, turns: Turns) -> tuple[list[float], float, list[Any]]:
    """Return latencies, CPU ms per search, and the exact answers."""
    bodies = searches(turns, "u0", interact=False, top_k=20)
    with Server(folder, key) as server:
        server.request("POST", "/api/v7/memory", bodies[0])
        took, cpu = timed(server, bodies, "/api/v7/memory")
        answers = [json.loads(server.request("POST", "/api/v7/memory", body)[1]) for body in bodies]
    return took, cpu, answers


def main() -> None:
    """Measure, let another user write, measure again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def own(context: Context, account_id: int, turns: Turns) -> None:
            fill(context, account_id, "u0", turns, OWN)

        key, turns = prepared(folder, own, arguments.data)
        before = measure(folder, key, turns)
        context = assemble(read(data=folder))
        fill(context, keys.authenticate(context, key).account_id, "somebody else", turns, FOREIGN)
        context.close()
        after = measure(folder, key, turns)
    new_program = sum(one != other for one, other in zip(before[2], after[2], strict=True))
    rows = [
        [label, *quantiles(took), f"{cpu:.2f}"]
        for label, (took, cpu, _) in (
            (f"{OWN:,} events of one user", before),
            (f"the same after {FOREIGN:,} foreign events", after),
        )
    ]
    ratio = float(np.median(after[0]) / np.median(before[0]))
    text = table(["store", "search p50 ms", "p95", "p99", "CPU ms"], rows)
    text += (
        f"\n\nRatio of the medians: {ratio:.2f}x. Answers that changed in any hit, rank or score: "
        f"{new_program} of {len(before[2])}."
    )
    write_section(
        "neighbours",
        "Another user's memory",
        "python -m bench.neighbours --data locomo-dev.json",
        text,
    )


if __name__ == "__main__":
    main()
