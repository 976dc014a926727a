"""Measure the effect of another user's memory on search latency and results.

    python -m bench.neighbours --data locomo-dev.json

Compares searches of one user with 10,000 events before and after another user adds 20,000.
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

OWN, OTHER = 10_000, 20_000


def measure(folder: Path, key: str, turns: Turns) -> tuple[list[float], float, list[Any]]:
    """Return latencies, CPU ms per search, and the exact answers."""
    bodies = searches(turns, "u0", interact=False, top_k=20)
    with Server(folder, key) as server:
        server.request("POST", "/api/v7/memory", bodies[0])
        took, cpu = timed(server, bodies, "/api/v7/memory")
        answers = [json.loads(server.request("POST", "/api/v7/memory", body)[1]) for body in bodies]
    return took, cpu, answers


def main() -> None:
    """Measure before and after another user writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def own(context: Context, account_id: int, turns: Turns) -> None:
            fill(context, account_id, "u0", turns, OWN)

        key, turns = prepared(folder, own, arguments.data)
        before = measure(folder, key, turns)
        context = assemble(read(data=folder))
        fill(context, keys.authenticate(context, key).account_id, "other", turns, OTHER)
        context.close()
        after = measure(folder, key, turns)
    changed = sum(one != other for one, other in zip(before[2], after[2], strict=True))
    rows = [
        [label, *quantiles(took), f"{cpu:.2f}"]
        for label, (took, cpu, _) in (
            (f"{OWN:,} events of one user", before),
            (f"the same, after {OTHER:,} events of another user", after),
        )
    ]
    ratio = float(np.median(after[0]) / np.median(before[0]))
    text = table(["store", "search p50 ms", "search p95 ms", "search p99 ms", "CPU ms"], rows)
    text += (
        f"\n\np50 ratio: {ratio:.2f}x. Responses with a changed hit, rank or score: "
        f"{changed} of {len(before[2])}."
    )
    write_section(
        "neighbours",
        "Isolation between users",
        "python -m bench.neighbours --data locomo-dev.json",
        text,
    )


if __name__ == "__main__":
    main()
