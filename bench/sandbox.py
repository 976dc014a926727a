"""Measure the speed and memory of sandboxed programs, and whether ordinary ones ever fail.

    python -m bench.sandbox [--rounds 100] [--runs 10000]

The floor is one process per run with the same imports, alternating with the sandbox.
"""

from __future__ import annotations

import argparse
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
from bench.report import table, timed, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.sandbox.sandbox import PRELOAD, Sandbox
from remembrancer.sandbox.zygote_runner import ZygoteRunner
from remembrancer.settings import Settings

PRINT = "print(1)"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.savefig('a.png')\nplt.close()"
FLOOR = f"import {', '.join(PRELOAD)}\n"
PATH = "/api/execute/code"
SLOTS, STARTS, CLIENTS = 8, 5, 2
RARE = 20  # runs of each program that needs a large package, beside those of the others


def main() -> None:
    """Measure, print and write the section of bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--data", help="not used: programs need no conversations")
    options = parser.parse_args()
    logging.basicConfig(level="WARNING")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = [starts(folder)]
        box = Sandbox(Settings(data=folder / "speed"))
        box.start()
        try:
            parts += [
                compared(box, options.rounds, folder),
                over_http(folder / "http", options.rounds),
                many(box, options.runs),
            ]
        finally:
            box.close()
    write_section(
        "sandbox",
        "Programs in the sandbox",
        f"python -m bench.sandbox --rounds {options.rounds} --runs {options.runs}",
        "\n\n".join(parts),
    )


def starts(folder: Path) -> str:
    """Measure the start-up time and the memory of a warm slot."""
    ready, private = [], []
    for slots in [1] * STARTS + [1 + SLOTS]:
        box = Sandbox(Settings(data=folder / "start", sandbox_parallel=slots))
        start = time.perf_counter()
        zygote = box._create_tested_runner("ns")  # noqa: SLF001 - what `start` does for each level
        ready.append(time.perf_counter() - start)
        assert isinstance(zygote, ZygoteRunner)
        private.append(private_kb(zygote._process.pid, expected=1 + 2 * slots))  # noqa: SLF001 - to look at it from outside
        zygote.close()
    bare = []
    for _ in range(STARTS):
        box = Sandbox(Settings(data=folder / "start", sandbox_parallel=1))
        start = time.perf_counter()
        plan = box._plan("ns")  # noqa: SLF001 - a start without the self-test
        zygote = ZygoteRunner(plan)
        bare.append(time.perf_counter() - start)
        zygote.close()
    slot = (private[-1] - statistics.median(private[:-1])) / SLOTS / 1024
    return (
        f"Zygote ready in {statistics.median(bare):.2f} s, with the self-test of hostile programs "
        f"{statistics.median(ready[:-1]):.2f} s. "
        f"A warm slot takes {slot:.2f} MB of its own (USS), the zygote "
        f"{statistics.median(private[:-1]) / 1024:.0f} MB."
    )


def private_kb(first: int, expected: int | None = None) -> int:
    """Memory that no other process shares, of a process and all that it is the ancestor of, once
    there are as many as `expected`.
    """
    while True:
        matches = []
        for pid in family(first):
            with suppress(OSError):
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                matches.append(
                    sum(int(line.split()[1]) for line in lines if line.startswith("Private"))
                )
        if expected in (None, len(matches)):
            return sum(matches)


def family(first: int) -> set[int]:
    """Return a process and its descendants."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(process.parent.name)] = int(
                process.read_text("utf-8", "replace").rpartition(")")[2].split()[1]
            )
    ours = {first}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return ours


def compared(box: Sandbox, rounds: int, folder: Path) -> str:
    """Print and plot: the sandbox against a process per run with the same imports, in turn."""
    rows = []
    for name, code in (("print", PRINT), ("plot", PLOT)):
        words = [sys.executable, "-I", "-c", FLOOR + code]

        def ours(code: str = code) -> None:
            if box.run(code).exit_code != 0:
                raise SystemExit("a harmless program failed")

        def process(words: list[str] = words) -> None:
            subprocess.run(
                words,
                check=True,
                stdout=subprocess.DEVNULL,
                cwd=folder,
                env=os.environ | {"MPLBACKEND": "Agg"},
            )

        ours()
        process()
        times: dict[str, list[float]] = {"sandbox": [], "process": []}
        for _ in range(rounds):
            times["sandbox"].append(timed(ours))
            times["process"].append(timed(process))
        ratio = statistics.median(times["process"]) / statistics.median(times["sandbox"])
        rows.append([name, "sandbox", *figures(times["sandbox"]), f"{ratio:.1f}x"])
        rows.append([name, "floor: a process per run", *figures(times["process"]), ""])
    return table(["program", "run by", "p50 ms", "p99", "min", "faster"], rows)


def figures(times: list[float]) -> list[str]:
    """Return median, tail and best."""
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
                    raise SystemExit(f"{PATH} answered {status}: {answer[:300]!r}")
                if number >= 5:
                    took.append((time.perf_counter() - start) * 1_000)
            rows.append([name, *figures(took)])
    return table(["over HTTP", "p50 ms", "p99", "min"], rows)


def many(box: Sandbox, runs: int) -> str:
    """Run many ordinary programs: none may fail, and memory must not grow."""
    programs = json.loads(
        (Path(__file__).parents[1] / "tests" / "sandbox" / "benign-programs.json").read_text(
            "utf-8"
        )
    )
    light = [one["code"] for one in programs if not one["needs"]]
    heavy = [one["code"] for one in programs if one["needs"]]
    failed: Counter[str] = Counter()

    def once(code: str) -> None:
        run = box.run(code, seconds=60)
        if run.exit_code != 0:
            failed[f"{code[:60]!r}: {run.stopped or run.signal or run.error}"] += 1

    def all_of(codes: list[str]) -> None:
        with ThreadPoolExecutor(CLIENTS) as clients:
            for at in range(
                0, len(codes), 500
            ):  # a future for each at once would be the memory that is measured
                list(clients.map(once, codes[at : at + 500]))

    all_of(heavy * RARE)
    all_of([light[number % len(light)] for number in range(runs // 10)])
    settled = 2 + 2 * (os.cpu_count() or 1)  # this process, the zygote, and two for each warm slot
    before, start = private_kb(os.getpid(), settled), time.perf_counter()
    all_of([light[number % len(light)] for number in range(runs - runs // 10)])
    rate = (runs - runs // 10) / (time.perf_counter() - start)
    grown = (private_kb(os.getpid(), settled) - before) / 1024
    total = runs + len(heavy) * RARE
    worst = "".join(f"\n- {count} times {what}" for what, count in failed.most_common(10))
    return (
        f"{total:,} ordinary programs by {CLIENTS} clients ({len(light)} kinds with numpy or the "
        f"standard library, {len(heavy)} with "
        f"larger packages): {sum(failed.values())} failed; {rate:.0f} a second of the former. "
        f"Memory of the server and its sandbox from run {runs // 10:,} to run {runs:,}: "
        f"{grown:+.1f} MB.{worst}"
    )


if __name__ == "__main__":
    main()
