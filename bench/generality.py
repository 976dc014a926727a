"""Measure evidence recall on every set, to see whether the ranking suits kinds of conversations.

    python -m bench.generality FOLDER [--sets LoCoMo,RealMem] [--against REVISION]

FOLDER contains files in LoCoMo's format (bench/sets.py). `--against` also measures the ranking of
another commit, and the difference for the same questions. A mean over sets counts each set once.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np

from bench.evidence import DEPTHS, Array, evaluate, formatted, present, systems
from bench.locomo import Conversation
from bench.report import arguments_of, table, write_section
from bench.sets import FILES, read_sets
from bench.spaces import load_vectors, save_vectors
from remembrancer.search import open_embedder

ROOT = Path(__file__).parents[1]
Recalls: TypeAlias = dict[str, Array]  # of each set: (questions, len(DEPTHS))


def report(
    sets: Mapping[str, Sequence[Conversation]], embedder_name: str, other: Recalls | None
) -> str:
    """Return a table of each set and of their mean; `other` are recalls of another commit."""
    embedder = open_embedder(embedder_name)
    results: dict[str, Recalls] = {
        name: {key: evaluate(spaces, system) for key, spaces in sets.items()}
        for name, system in systems(embedder).items()
    }
    rows = []
    if other is not None:
        results["the other commit"] = other
    for name, recalls in results.items():
        rows.append(
            [name, *(formatted([recalls[key]]) for key in sets), formatted(list(recalls.values()))]
        )
    if other is not None:
        now = results["Remembrancer"]
        gains = {key: now[key] - other[key] for key in sets}
        rows.append(
            [
                "Remembrancer less the other commit",
                *(formatted([gains[key]], "+") for key in sets),
                formatted(list(gains.values()), "+"),
            ]
        )
    heads = [f"{key} ({len(results['oracle'][key])} questions)" for key in sets]
    depths = "/".join(f"@{depth}" for depth in DEPTHS)
    return (
        f"Embedder `{embedder.name}`. Evidence recall{depths} with a bootstrap 95 % interval of "
        "each; two turns per event. The ranker was trained on these files but tc-event-hard: the "
        "section about it says what it does on conversations and sets it has not seen.\n\n"
        + table(["system", *heads, "mean of the sets"], rows)
    )


def recalls_at(revision: str, arguments: argparse.Namespace) -> Recalls:
    """Return the recalls of the ranking of another commit, measured by its own bench."""
    git = shutil.which("git") or "git"
    archive = subprocess.run(
        [git, "archive", revision, "src", "bench"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as file:
            file.extractall(folder, filter="data")
        target = Path(folder) / "recalls.json"
        command = [sys.executable, "-m", "bench.generality", str(arguments.folder.resolve())]
        command += ["--recalls", str(target), "--embedder", arguments.embedder]
        command += ["--sets", arguments.sets]
        if arguments.cache:
            command += ["--cache", str(arguments.cache.resolve())]
        paths = os.pathsep.join([str(Path(folder) / "src"), folder])
        environment = {**os.environ, "PYTHONPATH": paths}
        subprocess.run(command, cwd=folder, env=environment, check=True)
        recalls = json.loads(target.read_text("utf-8"))
    return {key: np.array(values) for key, values in recalls.items()}


def main() -> None:
    """Measure and write the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default=",".join(FILES), help="default: %(default)s")
    parser.add_argument("--embedder", default="multilingual", help="default: %(default)s")
    parser.add_argument("--against", metavar="REVISION", help="commit whose ranking is compared")
    parser.add_argument("--cache", type=Path, help="file that keeps the vectors between runs")
    parser.add_argument("--recalls", type=Path, help="only write the recalls of this ranking")
    arguments = parser.parse_args()
    sets = read_sets(arguments.folder)
    sets = {name: sets[name] for name in arguments.sets.split(",") if name in sets}
    if not sets:
        parser.exit(2, f"{arguments.folder} has none of {', '.join(FILES.values())}\n")
    if arguments.cache:
        load_vectors(arguments.cache)
    if arguments.recalls:
        embedder = open_embedder(arguments.embedder)
        recalls = {
            key: evaluate(spaces, lambda one: present(one, embedder)).tolist()
            for key, spaces in sets.items()
        }
        arguments.recalls.write_text(json.dumps(recalls), "utf-8")
    else:
        other = recalls_at(arguments.against, arguments) if arguments.against else None
        text = report(sets, arguments.embedder, other)
        against = f" --against {arguments.against}" if arguments.against else ""
        command = f"python -m bench.generality FOLDER --sets {','.join(sets)}{against}"
        write_section("generality", "Evidence recall on several sets", command, text)
    if arguments.cache:
        save_vectors(arguments.cache)


if __name__ == "__main__":
    main()
