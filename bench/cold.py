"""Measure cold starts: until a server is ready, and the first search of a memory in a new process.

    python -m bench.cold --data locomo-dev.json [--sizes 10000 100000] [--rounds 5]

Each figure is of a new process, in pairs in turn: with the segments of the index, and with none, so
that it is built from rows. "Of the process" is the first search at all, which also loads what all
searches share. "Of the memory" follows a search of another user. CPU time is of the whole process
or, for searches, during the search. The files are in the page cache of the system.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.http import Server, prepared
from bench.load import Turns
from bench.profile_store import TEXTS, StoreFiller
from bench.report import arguments_of, table, write_section
from remembrancer.accounts import keys
from remembrancer.context import Context, assemble
from remembrancer.memory.maintenance import write_segments
from remembrancer.memory.recall.recall import recall
from remembrancer.protocol.search import MemoryQuery
from remembrancer.settings import read

LARGE, SHORT = "u0", "u1"  # users
SHORT_EVENTS = 20
QUESTION = "Where did they go on holiday last summer?"


def search(folder: Path, key: str, users: Sequence[str]) -> None:
    """Search the memories of users in this new process; print the ms of each as JSON."""
    context = assemble(read(data=folder))
    caller = keys.authenticate(context, key)
    figures = []
    for user in users:
        query = MemoryQuery(query_text=QUESTION, user_id=user, interact=False)
        begin, cpu = time.perf_counter(), time.process_time()
        recall(context, caller, query)
        took = time.perf_counter() - begin, time.process_time() - cpu
        figures.append([1e3 * one for one in took])
    context.close()
    print(json.dumps(figures))


def searched(folder: Path, key: str, *users: str) -> list[float]:
    """Return the ms and the CPU ms of the search of the last user, in a new process."""
    command = [sys.executable, "-m", "bench.cold", "--search", str(folder), key, *users]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures: list[list[float]] = json.loads(output)
    return figures[-1]


def started(folder: Path, key: str) -> list[float]:
    """Return the ms until a new server is ready, and its CPU ms until then."""
    with Server(folder, key) as server:
        return [server.started_ms, server.cpu_ms()]


def write_all(folder: Path, key: str) -> float:
    """Write the segments of the large memory; return the CPU seconds that it takes."""
    context = assemble(read(data=folder))
    caller = keys.authenticate(context, key)
    recall(context, caller, MemoryQuery(query_text="x", user_id=LARGE, interact=False))
    begin = time.process_time()
    write_segments(context)
    took = time.process_time() - begin
    context.close()
    return took


def one_size(events: int, data: Path, rounds: int) -> tuple[list[list[str]], str]:
    """Return the table rows of a memory with so many events, and a sentence about its files."""

    def make(context: Context, account_id: int, turns: Turns) -> None:
        filler = StoreFiller(context, account_id, turns, texts=min(2 * events, TEXTS))
        filler.grow([LARGE], events)
        filler.grow([SHORT], SHORT_EVENTS)

    with tempfile.TemporaryDirectory() as name:
        folder, aside = Path(name, "data"), Path(name, "aside")
        key, _ = prepared(folder, make, data)
        wrote = write_all(folder, key)
        segments = next(folder.glob("*.indexes"))
        size = sum(path.stat().st_size for path in segments.rglob("*") if path.is_file())
        figures: dict[str, list[list[list[float]]]] = {"segments": [], "rows": []}
        for _ in range(rounds):
            for label, values in figures.items():
                if label == "rows":
                    shutil.move(segments, aside)
                searches = [searched(folder, key, *users) for users in ((LARGE,), (SHORT, LARGE))]
                values.append([*searches, started(folder, key)])
                if label == "rows":
                    shutil.rmtree(segments, ignore_errors=True)  # of the server that was started
                    shutil.move(aside, segments)
    rows = [[f"{events:,}", label, *_medians(values)] for label, values in figures.items()]
    return rows, (
        f"{events:,} events: {size / 1e6:,.1f} MB of segments, written with "
        f"{wrote:.1f} s of CPU time."
    )


def _medians(rounds: Sequence[Sequence[Sequence[float]]]) -> list[str]:
    return [
        f"{statistics.median(one[place][kind] for one in rounds):,.0f}"
        for place in range(3)
        for kind in range(2)
    ]


HEADS = [
    "events", "index from", "first search of the process, ms", "CPU ms",
    "first search of the memory, ms", "CPU ms", "until ready, ms", "CPU ms",
]  # fmt: skip


def main() -> None:
    """Measure each size and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, help="LoCoMo file")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--search", nargs="+", help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.search:
        folder, key, *users = options.search
        search(Path(folder), key, users)
        return
    rows, sentences = [], []
    for size in options.sizes:
        some, sentence = one_size(size, options.data, options.rounds)
        rows += some
        sentences.append(f"- {sentence}")
    sizes = " ".join(map(str, options.sizes))
    write_section(
        "cold",
        "Cold starts",
        f"python -m bench.cold --data locomo-dev.json --sizes {sizes} --rounds {options.rounds}",
        f"Medians of {options.rounds} new processes.\n\n{table(HEADS, rows)}\n\n"
        + "\n".join(sentences),
    )


if __name__ == "__main__":
    main()
