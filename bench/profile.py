"""Profile a search and an added turn over HTTP: CPU and wall time by stage, and flame graphs.

    python -m bench.profile [--data locomo-dev.json] [--sizes 100 10000 100000] [--stores FOLDER]
        [--py-spy PROGRAM] [--flames FOLDER]

One user has so many events; the account has the starter pack of cubes. A search counts a step, and
an added turn is `POST /api/v7/remember`; one client sends one request after another. Totals are
those of an unchanged server. Stages are those of a second one, whose functions are timed
(bench/profile_stages.py): CPU time of a stage is that of the thread in it, without the stages
within it. Cold is the first search of a new process, which loads the index. `make profile` draws
the flame graphs with py-spy; without that program there are none.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from bench.__main__ import data_folder
from bench.http import Server, posted
from bench.load import SEED, Turns
from bench.profile_stages import BACKGROUND, REPORT, STAGES, THREADS
from bench.profile_store import fill_store
from bench.report import arguments_of, table, write_section
from remembrancer.accounts import keys
from remembrancer.context import assemble
from remembrancer.settings import read

SIZES = (100, 10_000, 100_000)
SEARCHES, ADDED, WARM_UP = 120, 60, 20
USER_ID = "u0"
SEARCH, ADD = "/api/v7/memory", "/api/v7/remember"
FLAME_EVENTS, FLAME_SECONDS, SAMPLES_PER_SECOND = 10_000, 5, 500
Stages: TypeAlias = Mapping[str, Sequence[float]]  # by stage: CPU ms and wall ms of a request


@dataclass(frozen=True, slots=True)
class FilledStore:
    """A store on disk, its key, and requests to it."""

    folder: Path
    key: str
    searches: Sequence[dict[str, Any]]
    adds: Sequence[dict[str, Any]]


@dataclass(slots=True)
class RequestTimes:
    """Times of one kind of request on one store."""

    cpu_ms: float = 0.0
    p50_ms: float = 0.0
    stages: dict[str, list[float]] = field(default_factory=dict)


def filled_store(folder: Path, data: Path, events: int) -> FilledStore:
    """Return the store in a folder; fill it first if it is new."""
    record = folder / "requests.json"
    if not record.exists():
        folder.mkdir(parents=True, exist_ok=True)
        context = assemble(read(data=folder / "data", durability="normal"))
        try:
            key = keys.create(context, account="bench", label="bench").key.reveal()
            turns = Turns(data, context)
            fill_store(context, USER_ID, turns, events)
        finally:
            context.close()
        questions = np.random.default_rng(SEED).permutation(turns.questions).tolist()
        adds = [{"query": turns.text(), "response": turns.text()} for _ in range(4 * ADDED)]
        record.write_text(json.dumps({"key": key, "questions": questions, "adds": adds}), "utf-8")
    row = json.loads(record.read_text("utf-8"))
    return FilledStore(
        folder / "data",
        row["key"],
        [{"query_text": text, "user_id": USER_ID} for text in row["questions"]],
        [{**body, "user_id": USER_ID} for body in row["adds"]],
    )


def report_of(server: Server, requests: int) -> dict[str, list[float]]:
    """Return the CPU and wall ms of each stage for one request, since the last report."""
    stdin, stdout = server.process.stdin, server.process.stdout
    assert stdin is not None
    assert stdout is not None
    stdin.write("\n")
    stdin.flush()
    while not (line := stdout.readline()).startswith(REPORT):
        if not line:
            raise SystemExit("the server ended")
    rows = json.loads(line.removeprefix(REPORT))
    return {name: [ns / 1e6 / requests for ns in row] for name, row in rows.items()}


def measured(
    store: FilledStore, *, stages: bool
) -> tuple[RequestTimes, RequestTimes, RequestTimes]:
    """Return the times of a cold search, of warm searches and of adds, on a new server.

    With `stages`, those of each stage; else the totals.
    """
    cold, search, add = RequestTimes(), RequestTimes(), RequestTimes()
    module = "bench.profile_stages" if stages else "remembrancer"
    with Server(store.folder, store.key, module=module) as server:
        if stages:
            report_of(server, 1)
        before = server.cpu_ms()
        cold.p50_ms = posted(server, SEARCH, store.searches[:1])[0]
        cold.cpu_ms = server.cpu_ms() - before
        if stages:
            cold.stages = report_of(server, 1)
        posted(server, SEARCH, store.searches[1:WARM_UP])
        posted(server, ADD, store.adds[:1])
        server.settle()
        for kind, path, bodies in (
            (search, SEARCH, store.searches[WARM_UP : WARM_UP + SEARCHES]),
            (add, ADD, store.adds[1 : 1 + ADDED]),
        ):
            if stages:
                report_of(server, 1)
            before = server.cpu_ms()
            kind.p50_ms = float(np.median(posted(server, path, bodies)))
            kind.cpu_ms = (server.cpu_ms() - before) / len(bodies)
            if stages:
                kind.stages = report_of(server, len(bodies))
    return cold, search, add


def draw_flames(store: FilledStore, program: str, folder: Path) -> list[Path]:
    """Draw a flame graph of searches and one of added turns; return the files."""
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    with Server(store.folder, store.key) as server:
        posted(server, SEARCH, store.searches[:WARM_UP])
        server.settle()
        for name, path, bodies in (
            ("search", SEARCH, store.searches),
            ("add", ADD, store.adds[1 + ADDED :]),
        ):
            file = folder / f"{name}.svg"
            command = [program, "record", "--pid", str(server.process.pid), "--output", str(file)]
            command += ["--rate", str(SAMPLES_PER_SECOND), "--duration", str(FLAME_SECONDS)]
            sampler = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            place = 0
            while sampler.poll() is None:
                posted(server, path, [bodies[place % len(bodies)]])
                place += 1
            assert sampler.stderr is not None
            if sampler.returncode:
                print(f"{program}: {sampler.stderr.read().decode()}", file=sys.stderr)
            else:
                files.append(file)
    return files


def stage_table(sizes: Sequence[int], times: Sequence[RequestTimes]) -> str:
    """Return the table of one kind of request: a row for each stage, columns for each size."""
    order = [stage.name for stage in STAGES]
    order += [*THREADS.values(), BACKGROUND]
    names = [
        name for name in dict.fromkeys(order) if any(sum(one.stages.get(name, ())) for one in times)
    ]
    rows = [
        [name, *(text for one in times for text in _formatted(one.stages.get(name, (0.0, 0.0))))]
        for name in names
    ]
    # No sum of wall times: a thread waits while another one works for it.
    totals = [sum(cpu for cpu, _ in one.stages.values()) for one in times]
    rows.append(["all stages", *(text for cpu in totals for text in (f"{cpu:.2f}", ""))])
    rows.append(
        [
            "total without timed stages",
            *(t for one in times for t in _formatted((one.cpu_ms, one.p50_ms))),
        ]
    )
    heads = [f"{size:,} events, {kind} ms" for size in sizes for kind in ("CPU", "wall")]
    return table(["stage", *heads], rows)


def _formatted(row: Sequence[float]) -> list[str]:
    return [f"{value:.2f}" for value in row]


def _parser() -> argparse.ArgumentParser:
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, help="LoCoMo file. Default: as for python -m bench")
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=SIZES,
        help="events of the user. Default: %(default)s",
    )
    parser.add_argument("--stores", type=Path, help="folder that keeps the stores between runs")
    parser.add_argument("--py-spy", default="py-spy", help="program that samples. Default: py-spy")
    parser.add_argument(
        "--flames", type=Path, default=Path(".profile"), help="folder of the flame graphs"
    )
    return parser


def main() -> None:
    """Profile every size, draw the flame graphs, and write the section."""
    options = _parser().parse_args()
    data = data_folder(options.data)
    if data is None:
        sys.exit("No LoCoMo file: name it with --data (bench/locomo.py names the source).")
    columns: list[list[RequestTimes]] = []
    with ExitStack() as stack:
        folder = options.stores or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for size in options.sizes:
            store = filled_store(folder / str(size), data, size)
            totals, staged = measured(store, stages=False), measured(store, stages=True)
            for total, one in zip(totals, staged, strict=True):
                one.cpu_ms, one.p50_ms = total.cpu_ms, total.p50_ms
            columns.append(list(staged))
            if size == FLAME_EVENTS and (program := shutil.which(options.py_spy)):
                for file in draw_flames(store, program, options.flames):
                    print(f"flame graph: {file}")
    kinds = ("First search of a new process", "Search", "Added turn")
    text = "\n\n".join(
        f"**{kind}**\n\n{stage_table(options.sizes, times)}"
        for kind, times in zip(kinds, zip(*columns, strict=True), strict=True)
    )
    write_section("profile", "Where the time of a request goes", "python -m bench.profile", text)


if __name__ == "__main__":
    main()
