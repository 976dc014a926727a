"""How fast programs run: warm print and plot against a process per run with the same imports, interleaved, and 10,000 benign runs.

python -m bench.sandbox [--rounds 50] [--runs 10000]
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from remembrancer.settings import Settings
from remembrancer.tools.sandbox.sandbox import Sandbox

PRINT = "print(1)"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.savefig('a.png')\nplt.close()"
IMPORTS = "import numpy, numpy.random, numpy.linalg, numpy.fft\ntry: import matplotlib; matplotlib.use('Agg'); import matplotlib.pyplot\nexcept ImportError: pass\n"


def main() -> None:
    """Measure and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=50)
    asked.add_argument("--runs", type=int, default=10_000)
    given = asked.parse_args()
    logging.basicConfig(level="WARNING")
    with tempfile.TemporaryDirectory() as folder:
        box = Sandbox(Settings(data=Path(folder)))
        began = time.perf_counter()
        level = box.start()
        print(f"level {level}, ready with self-test in {time.perf_counter() - began:.2f} s")
        try:
            compared(box, "print", PRINT, given.rounds, folder)
            if box.run(PLOT).exit_code == 0:
                compared(box, "plot", PLOT, given.rounds, folder)
            else:
                print("plot: matplotlib is not installed")
            many(box, given.runs)
        finally:
            box.close()


def compared(box: Sandbox, name: str, code: str, rounds: int, folder: str) -> None:
    """One figure for the sandbox, one for a process per run with the same imports, taken in turn."""
    words = [sys.executable, "-I", "-c", IMPORTS + code]

    def ours() -> None:
        assert box.run(code).exit_code == 0

    def process() -> None:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=folder)

    ours(), process()
    times: dict[str, list[float]] = {"sandbox": [], "process": []}
    for _ in range(rounds):
        times["sandbox"].append(timed(ours))
        times["process"].append(timed(process))
    for which, taken in times.items():
        print(f"{name:6} {which:8} {shown(taken)}")
    ratio = statistics.median(times["process"]) / statistics.median(times["sandbox"])
    print(f"{name:6} ratio of the medians {ratio:.1f}")


def timed(act: Callable[[], None]) -> float:
    """Milliseconds it takes."""
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1_000


def shown(times: list[float]) -> str:
    """Median, tail and best."""
    ranked = sorted(times)
    return f"p50 {statistics.median(ranked):7.2f}  p99 {ranked[int(len(ranked) * 0.99)]:7.2f}  min {ranked[0]:7.2f} ms"


def many(box: Sandbox, runs: int) -> None:
    """So many ordinary programs one after another: none may fail for no reason, and nothing may grow."""
    table = Path(__file__).parents[1] / "tests" / "tools" / "benign-programs.json"
    programs = [one["code"] for one in json.loads(table.read_text("utf-8")) if not one["needs"]]
    failed: Counter[str] = Counter()
    began = time.perf_counter()
    for number in range(runs):
        run = box.run(programs[number % len(programs)])
        if run.exit_code != 0:
            failed[f"{programs[number % len(programs)][:60]!r}: {run.stopped or run.signal or run.error}"] += 1
    seconds = time.perf_counter() - began
    print(f"{runs} ordinary programs: {sum(failed.values())} failed, {runs / seconds:.0f} a second by one client")
    for what, count in failed.most_common(10):
        print(f"  {count} x {what}")


if __name__ == "__main__":
    main()
