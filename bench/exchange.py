"""Measure the throughput and the memory of an export and its import.

    python -m bench.exchange --data locomo-dev.json [--events 10000]

Each step runs in its own process, so that its peak memory is its own. The service's own memory
(libraries, the embedder) is in it: `opening` is a process that only opens the store.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench.load import Turns, fill
from bench.report import table, write_section
from remembrancer.accounts import caller_for
from remembrancer.context import Context, assemble, open_records
from remembrancer.memory.exchange.export import export
from remembrancer.memory.exchange.restore import restore
from remembrancer.settings import Settings

EMBEDDERS = ("none", "multilingual")


def main() -> None:
    """Fill a store, export it, import it with two embedders, and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="LoCoMo file")
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(*run_step(*options.step))
        return
    rows, sizes = [], []
    for events in (options.events // 4, options.events):
        with tempfile.TemporaryDirectory() as name:
            rows += measure(Path(name), options.data, events)
            sizes.append((events, (Path(name) / "memory.zip").stat().st_size))
    head = ("events", "step", "seconds", "events/s", "peak MB")
    listed = ", ".join(f"{size / 1e6:.1f} MB for {events:,}" for events, size in sizes)
    write_section(
        "exchange",
        "Export and import",
        f"python -m bench.exchange --data {options.data.name} --events {options.events}",
        f"{table(head, rows)}\n\nSize of the file: {listed}.",
    )


def measure(folder: Path, data: Path, events: int) -> list[tuple[str, ...]]:
    """Return the rows of the table for one size."""
    with closing(assemble(Settings(data=folder / "source", embedder="none"))) as context:
        caller = caller_for(context, None)
        fill(context, caller.account_id, "owner", Turns(data, context), events)
    steps = [("export", ("export", str(folder / "source"), "none"))]
    for embedder in EMBEDDERS:
        target = str(folder / embedder)
        steps.append((f"opening, `{embedder}`", ("open", target, embedder)))
        steps.append((f"import, `{embedder}`", ("import", target, embedder)))
        steps.append((f"same import again, `{embedder}`", ("import", target, embedder)))
    rows = []
    for title, words in steps:
        command = [sys.executable, "-m", "bench.exchange", "--step", *words]
        output = subprocess.run(
            [*command, str(folder / "memory.zip")], capture_output=True, text=True, check=True
        ).stdout
        seconds, peak = map(float, output.split())
        rate = "" if words[0] == "open" else f"{events / seconds:,.0f}"
        rows.append((f"{events:,}", title, f"{seconds:.1f}", rate, f"{peak:.0f}"))
    return rows


def run_step(step: str, folder: str, embedder: str, path: str) -> tuple[float, float]:
    """Run one step in this process; return its seconds and the peak memory in MB."""
    settings = Settings(data=Path(folder), embedder=embedder)
    start = time.perf_counter()
    if step == "export":
        records = open_records(settings)
        export(records, caller_for(records), Path(path))
        records.close()
    else:
        with closing(assemble(settings)) as context:
            start = time.perf_counter()
            run_import(context, step, Path(path))
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_import(context: Context, step: str, path: Path) -> None:
    """Import the file, or only embed a text."""
    if step == "import":
        restore(context, caller_for(context), path)
    else:
        context.embedder.encode(["warm up"])


if __name__ == "__main__":
    main()
