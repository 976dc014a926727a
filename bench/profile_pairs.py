"""Compare a search of this checkout with another one: CPU time, memory, and every answer.

    python -m bench.profile_pairs CHECKOUT [--data locomo-dev.json] [--sizes 10000] [--pairs 15]
        [--stores FOLDER]

CHECKOUT is a checkout of this project at another commit. Both serve copies of the same store
(bench/profile_store.py) at the same time and get the same requests in turn, SEARCHES at a time,
so that other load of the machine meets both. Each block of requests is sent twice: the second
time, the vectors of its questions are known. CPU time is that of all threads of the server.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.__main__ import data_folder
from bench.http import Server, posted
from bench.profile import SEARCH, WARM_UP, FilledStore, filled_store
from bench.report import table, write_section

HERE = Path(__file__).parents[1]
SEARCHES = 20  # in a block
COMPARED, EXPLAINED = 300, 60  # questions whose answers are compared, and explanations
ROUNDING = 2e-4  # numbers of an answer have four digits
KINDS = ("embedded", "vector cached")
EXPLAIN = "/api/v7/memory/explain"


@dataclass(slots=True)
class BlockTimes:
    """CPU ms of a search and wall ms of each, by block."""

    cpu_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)


def cpu_ms(server: Server) -> float:
    """Return the CPU time of all threads that a server has now."""
    total = 0
    for file in Path(f"/proc/{server.process.pid}/task").glob("*/schedstat"):
        try:
            total += int(file.read_text("ascii").split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / 1e6


def timed_blocks(
    servers: Sequence[Server], store: FilledStore, pairs: int
) -> dict[str, list[BlockTimes]]:
    """Return the times of each server, by kind of block."""
    times = {kind: [BlockTimes() for _ in servers] for kind in KINDS}
    questions = store.searches[WARM_UP:]
    for pair in range(pairs):
        start = pair * SEARCHES % (len(questions) - SEARCHES)
        block = questions[start : start + SEARCHES]
        order = list(range(len(servers)))
        for place in order if pair % 2 else reversed(order):
            for kind in KINDS:
                before = cpu_ms(servers[place])
                wall = posted(servers[place], SEARCH, block)
                one = times[kind][place]
                one.cpu_ms.append((cpu_ms(servers[place]) - before) / len(block))
                one.wall_ms.append(statistics.median(wall))
    return times


def differences(servers: Sequence[Server], store: FilledStore) -> tuple[int, int, list[str]]:
    """Return how many answers are equal, equal to rounding, and what differs in the others."""
    requests = [(SEARCH, body) for body in store.searches[-COMPARED:]]
    requests += [(EXPLAIN, body) for body in store.searches[-EXPLAINED:]]
    equal = close = 0
    different: list[str] = []
    for path, body in requests:
        first, second = (
            json.loads(server.request("POST", path, {**body, "interact": False, "top_k": 10})[1])
            for server in servers
        )
        for answer in (first, second):
            answer.pop("stages", None)
        if first == second:
            equal += 1
        elif not (places := list(_differing(first, second, ""))):
            close += 1
        else:
            different.append(f"{path} {body['query_text']!r}: {'; '.join(places[:3])}")
    return equal, close, different


def _differing(first: Any, second: Any, place: str) -> Iterator[str]:
    """Yield the places where two answers differ by more than rounding."""
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        for key, value in first.items():
            yield from _differing(value, second[key], f"{place}/{key}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, value in enumerate(first):
            yield from _differing(value, second[number], f"{place}/{number}")
    elif isinstance(first, int | float) and isinstance(second, int | float):
        if abs(first - second) > ROUNDING:
            yield f"{place}: {first} and {second}"
    elif first != second:
        yield f"{place}: {str(first)[:60]!r} and {str(second)[:60]!r}"


def rows_of(
    size: int, times: dict[str, list[BlockTimes]], rss_mb: Sequence[float]
) -> list[list[str]]:
    """Return a table row for each kind of block."""
    rows = []
    for kind, (other, own) in times.items():
        saved = [before - now for before, now in zip(other.cpu_ms, own.cpu_ms, strict=True)]
        rows.append(
            [
                f"{size:,}",
                kind,
                *(_with_spread(values) for values in (other.cpu_ms, own.cpu_ms, saved)),
                *(f"{statistics.median(one.wall_ms):.2f}" for one in (other, own)),
                *(f"{value:.0f}" for value in rss_mb),
            ]
        )
    return rows


def _with_spread(values: Sequence[float]) -> str:
    """Return the median, and the quartiles in brackets."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def copies(stack: ExitStack, store: FilledStore, checkouts: Sequence[Path]) -> list[Server]:
    """Start a server of each checkout on a copy of the store."""
    servers = []
    for checkout in checkouts:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "data"
        shutil.copytree(store.folder, folder)
        settings = {"PYTHONPATH": str(checkout / "src")}
        servers.append(stack.enter_context(Server(folder, store.key, settings)))
    for server in servers:
        posted(server, SEARCH, store.searches[:WARM_UP])
        server.settle()
    return servers


def main() -> None:
    """Measure each size, print what differs, and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--data", type=Path, help="LoCoMo file. Default: as for python -m bench")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--stores", type=Path, help="folder that keeps the stores between runs")
    options = parser.parse_args()
    data = data_folder(options.data)
    if data is None:
        sys.exit("No LoCoMo file: name it with --data (bench/locomo.py names the source).")
    rows, lines = [], []
    with ExitStack() as outer:
        folder = options.stores or Path(outer.enter_context(tempfile.TemporaryDirectory()))
        for size in options.sizes:
            store = filled_store(folder / str(size), data, size)
            with ExitStack() as stack:
                servers = copies(stack, store, (options.checkout, HERE))
                times = timed_blocks(servers, store, options.pairs)
                rows += rows_of(size, times, [server.rss_mb() for server in servers])
                equal, close, different = differences(servers, store)
            lines.append(
                f"{size:,} events: {equal} answers equal, {close} equal to rounding, "
                f"{len(different)} different."
            )
            print(*different, sep="\n", file=sys.stderr)
    heads = ["events", "search", "other checkout, CPU ms", "this one", "saved, in pairs"]
    heads += ["other p50 ms", "this one", "other RSS MB", "this one"]
    write_section(
        "profile_pairs",
        "A search beside another commit",
        "python -m bench.profile_pairs CHECKOUT",
        f"Medians with quartiles.\n\n{table(heads, rows)}\n\n" + "\n".join(lines),
    )


if __name__ == "__main__":
    main()
