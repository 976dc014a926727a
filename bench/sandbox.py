"""Measure the latency, throughput and memory of the sandbox, and failures of ordinary programs.

    python -m bench.sandbox [--rounds 100] [--runs 10000]

The baseline is one process per run with the same imports. It alternates with the sandbox.
"""

from __future__ import annotations

import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from bench.http import Server
from bench.processes import family
from bench.report import arguments_of, table, timed, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.sandbox.sandbox import PLOTTING, PRELOAD, Sandbox
from remembrancer.sandbox.zygote_runner import ZygoteRunner
from remembrancer.settings import Settings

PRINT = "print(1)"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.savefig('a.png')\nplt.close()"
BASELINE = f"import {', '.join((*PRELOAD, PLOTTING))}\n"
PATH = "/api/execute/code"
SLOTS, STARTS, CLIENTS = 8, 5, 2
HEAVY_RUNS = 20  # of each program that needs a large package


def main() -> None:
    """Measure and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument(
        "--rounds", type=int, default=100, help="runs for each latency. Default: 100"
    )
    parser.add_argument(
        "--runs", type=int, default=10_000, help="runs of ordinary programs. Default: 10000"
    )
    parser.add_argument("--data", help="ignored")
    options = parser.parse_args()
    logging.basicConfig(level="WARNING")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = [starts(folder)]
        sandbox = Sandbox(Settings(data=folder / "speed"))
        sandbox.start()
        try:
            parts += [
                compared(sandbox, options.rounds, folder),
                over_http(folder / "http", options.rounds),
                many(sandbox, options.runs),
            ]
        finally:
            sandbox.close()
    write_section(
        "sandbox",
        "Sandbox",
        f"python -m bench.sandbox --rounds {options.rounds} --runs {options.runs}",
        "\n\n".join(parts),
    )


def starts(folder: Path) -> str:
    """Measure the start-up time and the memory of a warm slot."""
    ready, private = [], []
    for slots in [1] * STARTS + [1 + SLOTS]:
        sandbox = Sandbox(Settings(data=folder / "start", sandbox_parallel=slots))
        start = time.perf_counter()
        zygote = sandbox._create_tested_runner("ns")  # noqa: SLF001 - what `start` does for each level
        ready.append(time.perf_counter() - start)
        assert isinstance(zygote, ZygoteRunner)
        private.append(private_kb(zygote._process.pid, expected=1 + 2 * slots))  # noqa: SLF001 - its memory is measured from outside
        zygote.close()
    bare = []
    for _ in range(STARTS):
        sandbox = Sandbox(Settings(data=folder / "start", sandbox_parallel=1))
        start = time.perf_counter()
        plan = sandbox._plan("ns")  # noqa: SLF001 - a start without the self-test
        zygote = ZygoteRunner(plan)
        bare.append(time.perf_counter() - start)
        zygote.close()
    slot = (private[-1] - statistics.median(private[:-1])) / SLOTS / 1024
    return (
        f"Start-up of the zygote: p50 {statistics.median(bare):.2f} s; with the self-test of "
        f"hostile programs {statistics.median(ready[:-1]):.2f} s. "
        f"Memory (USS): {slot:.2f} MB per warm slot, "
        f"{statistics.median(private[:-1]) / 1024:.0f} MB for the zygote."
    )


def private_kb(first: int, expected: int | None = None) -> int:
    """Return the private memory of a process and its descendants, in KiB.

    With `expected`, wait until there are that many processes.
    """
    while True:
        sizes = []
        for pid in family(first):
            with suppress(OSError):
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                sizes.append(
                    sum(int(line.split()[1]) for line in lines if line.startswith("Private"))
                )
        if expected in (None, len(sizes)):
            return sum(sizes)


def compared(sandbox: Sandbox, rounds: int, folder: Path) -> str:
    """Compare the sandbox with one process per run, for a print and a plot."""
    rows = []
    for name, code in (("print", PRINT), ("plot", PLOT)):
        command = [sys.executable, "-I", "-c", BASELINE + code]

        def sandboxed(code: str = code) -> None:
            if sandbox.run(code).exit_code != 0:
                raise SystemExit("an ordinary program failed")

        def process(command: list[str] = command) -> None:
            subprocess.run(
                command,
                check=True,
                stdout=subprocess.DEVNULL,
                cwd=folder,
                env=os.environ | {"MPLBACKEND": "Agg"},
            )

        sandboxed()
        process()
        times: dict[str, list[float]] = {"sandbox": [], "process": []}
        for _ in range(rounds):
            times["sandbox"].append(timed(sandboxed))
            times["process"].append(timed(process))
        ratio = statistics.median(times["process"]) / statistics.median(times["sandbox"])
        rows.append([name, "sandbox", *figures(times["sandbox"]), f"{ratio:.1f}x"])
        rows.append([name, "baseline: one process per run", *figures(times["process"]), ""])
    return table(["program", "executed by", "p50 ms", "p99 ms", "min ms", "speedup"], rows)


def figures(times: list[float]) -> list[str]:
    """Return p50, p99 and minimum."""
    ranked = sorted(times)
    return [
        f"{statistics.median(ranked):.1f}",
        f"{ranked[int(len(ranked) * 0.99)]:.1f}",
        f"{ranked[0]:.1f}",
    ]


def over_http(folder: Path, rounds: int) -> str:
    """Measure the same over HTTP, on one connection."""
    records = open_records(Settings(data=folder))
    key = keys.create(records, account="bench").key.reveal()
    records.close()
    rows = []
    with Server(folder, key) as server:
        for name, code in (("print", PRINT), ("plot", PLOT)):
            connection, took = server.connection(), []
            for number in range(rounds + 5):
                start = time.perf_counter()
                status, answer = server.request("POST", PATH, {"code": code}, connection)
                if status != 200 or json.loads(answer)["status"] != "ok":
                    raise SystemExit(f"{PATH} returned status {status}: {answer[:300]!r}")
                if number >= 5:
                    took.append((time.perf_counter() - start) * 1_000)
            rows.append([name, *figures(took)])
    return table(["program, over HTTP", "p50 ms", "p99 ms", "min ms"], rows)


def many(sandbox: Sandbox, runs: int) -> str:
    """Run many ordinary programs. None may fail, and memory must not grow."""
    programs = json.loads(
        (Path(__file__).parents[1] / "tests" / "sandbox" / "benign-programs.json").read_text(
            "utf-8"
        )
    )
    light = [one["code"] for one in programs if not one["needs"]]
    heavy = [one["code"] for one in programs if one["needs"]]
    failed: Counter[str] = Counter()

    def once(code: str) -> None:
        run = sandbox.run(code, seconds=60)
        if run.exit_code != 0:
            failed[f"{code[:60]!r}: {run.stopped or run.signal or run.error}"] += 1

    def all_of(codes: list[str]) -> None:
        with ThreadPoolExecutor(CLIENTS) as clients:
            # In batches: a future for every run would count as memory growth.
            for at in range(0, len(codes), 500):
                list(clients.map(once, codes[at : at + 500]))

    all_of(heavy * HEAVY_RUNS)
    all_of([light[number % len(light)] for number in range(runs // 10)])
    settled = 2 + 2 * (os.cpu_count() or 1)  # this process, the zygote and two per warm slot
    before, start = private_kb(os.getpid(), settled), time.perf_counter()
    all_of([light[number % len(light)] for number in range(runs - runs // 10)])
    rate = (runs - runs // 10) / (time.perf_counter() - start)
    grown = (private_kb(os.getpid(), settled) - before) / 1024
    total = runs + len(heavy) * HEAVY_RUNS
    worst = "".join(f"\n- {count} times {what}" for what, count in failed.most_common(10))
    return (
        f"{total:,} runs of ordinary programs by {CLIENTS} clients ({len(light)} programs with "
        f"numpy or the standard library, {len(heavy)} with larger packages): "
        f"{sum(failed.values())} failed. Throughput of the former: {rate:.0f} runs/s. "
        f"Memory growth of the server and its sandbox from run {runs // 10:,} to run {runs:,}: "
        f"{grown:+.1f} MB.{worst}"
    )


if __name__ == "__main__":
    main()
