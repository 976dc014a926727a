"""Measure the throughput and the memory of an export and its import.

    python -m bench.exchange --data locomo-dev.json [--events 10000]

Each step runs in its own process, so that its peak memory is its own. The service's own memory
(libraries, the embedder) is in it: `opening` is a process that only opens the store and embeds one
text.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Self

from bench.load import Turns, fill
from bench.report import table, write_section
from remembrancer.accounts import caller_for
from remembrancer.context import Context, assemble, open_records
from remembrancer.memory.exchange.export import export
from remembrancer.memory.exchange.restore import restore
from remembrancer.settings import Settings

SAMPLE_SECONDS = 0.05
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
    head = ("events", "step", "seconds", "CPU s", "events/CPU s", "peak MB (anonymous)")
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
    rows: list[tuple[str, ...]] = []
    for title, words in steps:
        command = [sys.executable, "-m", "bench.exchange", "--step", *words]
        output = subprocess.run(
            [*command, str(folder / "memory.zip")], capture_output=True, text=True, check=True
        ).stdout
        seconds, processor, peak = map(float, output.split())
        rate = "" if words[0] == "open" else f"{events / processor:,.0f}"
        rows.append(
            (f"{events:,}", title, f"{seconds:.1f}", f"{processor:.1f}", rate, f"{peak:.0f}")
        )
    return rows


def run_step(step: str, folder: str, embedder: str, path: str) -> tuple[float, ...]:
    """Run one step in this process; return its seconds, those of the CPU, and the peak in MB."""
    settings = Settings(data=Path(folder), embedder=embedder)
    with Sampler() as memory:
        start, processor = time.perf_counter(), time.process_time()
        if step == "export":
            records = open_records(settings)
            export(records, caller_for(records), Path(path))
            records.close()
        else:
            with closing(assemble(settings)) as context:
                start, processor = time.perf_counter(), time.process_time()
                run_import(context, step, Path(path))
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - processor
    return seconds, cpu_seconds, memory.peak_mb


class Sampler:
    """Samples the anonymous memory of this process: without the pages of mapped files, which are
    the cache of the system, such as those of the SQLite file.
    """

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            status = Path("/proc/self/status").read_text()
            anonymous = int(status.partition("RssAnon:")[2].split()[0]) / 1024
            self.peak_mb = max(self.peak_mb, anonymous)
            if self._ended.wait(SAMPLE_SECONDS):
                return


def run_import(context: Context, step: str, path: Path) -> None:
    """Import the file, or only embed a text."""
    if step == "import":
        restore(context, caller_for(context), path)
    else:
        context.embedder.encode(["warm up"])


if __name__ == "__main__":
    main()
