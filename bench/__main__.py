"""Run all benchmarks, or one, and write the results to bench/results.md.

    python -m bench --data FOLDER [--only NAME]

FOLDER contains the LoCoMo conversations; bench/locomo.py names their source.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.report import arguments_of

FILES = ("locomo-dev.json", "locomo10.json")
PARTS = (
    "bench.retrieval",
    "bench.everyday",
    "bench.coding",
    "bench.languages",
    "bench.second_look",
    "bench.second_look.closings",
    "bench.second_look.statements",
    "bench.instructions",
    "bench.changes",
    "bench.http",
    "bench.servers",
    "bench.sandbox",
    "bench.repair",
    "bench.hooks",
    "bench.lesson_fit",
)


def data_folder(folder: Path | None) -> Path | None:
    """Return the file of conversations in `folder`, REMEMBRANCER_BENCH_DATA or shared/data."""
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
    """Run the benchmarks one after another, each in a new process."""
    parser = arguments_of(__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        help="LoCoMo file, or a folder that contains it. Default: REMEMBRANCER_BENCH_DATA",
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        choices=[part.partition(".")[2] for part in PARTS],
        help="run only this benchmark: %(choices)s",
    )
    arguments = parser.parse_args()
    data = data_folder(arguments.data)
    if data is None:
        sys.exit(
            "No LoCoMo file. Get locomo10.json from the repository snap-research/locomo, then run: "
            "make bench DATA=FOLDER"
        )
    for part in PARTS:
        if arguments.only in (None, part.partition(".")[2]):
            subprocess.run([sys.executable, "-m", part, "--data", str(data)], check=True)


if __name__ == "__main__":
    main()
