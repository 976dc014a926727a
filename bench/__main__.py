"""Run every benchmark.

    python -m bench --data FOLDER

FOLDER has the LoCoMo conversations; bench/locomo.py says where to get them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

FILES = ("locomo-dev.json", "locomo10.json")
PARTS = (
    "bench.retrieval",
    "bench.headlines",
    "bench.screening",
    "bench.second_look",
    "bench.chat",
    "bench.http",
    "bench.neighbours",
    "bench.engines",
    "bench.sizes",
    "bench.copying",
    "bench.signs",
    "bench.crash",
    "bench.servers",
    "bench.forget",
    "bench.sandbox",
    "bench.repair",
    "bench.beginners",
    "bench.permissions",
    "bench.hooks",
    "bench.console",
    "bench.mcp",
    "bench.lines",
    "bench.runtime",
    "bench.model_repair",
)


def data_folder(folder: Path | None) -> Path | None:
    """Return the conversations in `folder`, REMEMBRANCER_BENCH_DATA or the default folder."""
    named = os.environ.get("REMEMBRANCER_BENCH_DATA")
    for place in (
        folder,
        Path(named) if named else None,
        Path(__file__).parents[2] / "shared" / "data",
    ):
        if place is not None and place.is_file():
            return place
        for file in FILES:
            if place is not None and (place / file).is_file():
                return place / file
    return None


def main() -> None:
    """Run them one after another; what a part prints it also keeps in bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", choices=[part.partition(".")[2] for part in PARTS])
    arguments = parser.parse_args()
    data = data_folder(arguments.data)
    if data is None:
        sys.exit(
            "No conversations: get locomo10.json from the repository snap-research/locomo, then: "
            "make bench DATA=FOLDER"
        )
    for part in PARTS:
        if arguments.only in (None, part.partition(".")[2]):
            subprocess.run([sys.executable, "-m", part, "--data", str(data)], check=True)


if __name__ == "__main__":
    main()
