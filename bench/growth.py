"""Measure how the cost of searches and added turns grows with a store, and draw the curves.

    python -m bench.growth --data locomo-dev.json [--sizes 1000 ... 3000000] [--users 1 ... 100000]

Two stores grow step by step: the memory of one user, and the number of users with 20 turns each.
Their rows are written directly (bench/profile_store.py), which takes an hour for all sizes, and
20 GB of disk. `index_memory_bytes` is enough for three million events.
After each step the same user's memory is searched and grows by some turns, in this process, with a
warm index. Figures are CPU ms and wall ms a call, disk bytes an event, and resident memory. A line
`fixed + growing * n` is fitted to each curve (least squares of relative errors): its slope on the
log-log picture goes from 0 to 1, and the crossover is the n at which both parts cost the same.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench.http import disk_mb, searches
from bench.load import Turns
from bench.profile_store import TEXTS, StoreFiller
from bench.report import arguments_of, table, write_section
from remembrancer.accounts import keys
from remembrancer.context import Caller, Context, assemble
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.settings import Settings, read

SEARCHES, ADDS, USER_TURNS = 120, 40, 20
INDEX_BYTES = 8 << 30
IMAGES = Path(__file__).parents[1] / "docs" / "images"
PARTS = ("events", "users")
CROSSOVER = (
    "Crossover: where the part that grows with the size costs as much as the part that does not; – "
    "if it is far beyond the last size."
)
CURVES = {
    "search CPU ms": "searches: CPU ms",
    "search p50 ms": "searches: median ms",
    "add CPU ms": "added turns: CPU ms",
    "add p50 ms": "added turns: median ms",
    "disk bytes": "disk bytes an event",
    "RSS MB": "resident MB",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The figures of a store of one size, by their names in CURVES."""

    size: int
    figures: dict[str, float]


def resident_mb() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 1e6


def cost(calls: Sequence[Callable[[], object]]) -> tuple[float, float]:
    """Return the CPU ms a call, and the median of the wall ms."""
    took, before = [], time.process_time()
    for call in calls:
        start = time.perf_counter()
        call()
        took.append((time.perf_counter() - start) * 1e3)
    return (time.process_time() - before) / len(calls) * 1e3, float(np.median(took))


def measure(
    context: Context, caller: Caller, turns: Turns, folder: Path, user_id: str, events: int
) -> Point:
    """Search and enlarge the memory of a user; `events` are those of the store."""
    bodies = searches(turns, user_id, interact=False)[:SEARCHES]
    queries = [MemoryQuery.model_validate(body) for body in bodies]
    for query in queries[:20]:
        recall(context, caller, query)
    search_cpu, search_ms = cost([partial(recall, context, caller, query) for query in queries])
    added = [
        Turn(query=turns.text(), response=turns.text(), user_id=user_id) for _ in range(ADDS + 5)
    ]
    for turn in added[:5]:
        remember(context, caller, turn)
    add_cpu, add_ms = cost([partial(remember, context, caller, turn) for turn in added[5:]])
    figures = (search_cpu, search_ms, add_cpu, add_ms, disk_mb(folder) * 1e6 / events)
    return Point(size=events, figures=dict(zip(CURVES, (*figures, resident_mb()), strict=True)))


def one_user(folder: Path, data: Path, sizes: Sequence[int]) -> list[Point]:
    """Return the figures of a growing memory of one user."""
    points = []
    with closing(assemble(_settings(folder))) as context:
        caller, turns = _prepare(context, data)
        filler = StoreFiller(context, caller.account_id, turns, texts=TEXTS)
        for size in sizes:
            filler.grow(["u0"], size)
            points.append(measure(context, caller, turns, folder, "u0", size))
    return points


def many_users(folder: Path, data: Path, users: Sequence[int]) -> list[Point]:
    """Return the figures of one user's memory while the number of other users grows."""
    points, size = [], 0
    with closing(assemble(_settings(folder))) as context:
        caller, turns = _prepare(context, data)
        filler = StoreFiller(context, caller.account_id, turns, texts=TEXTS)
        for target in users:
            filler.grow([f"u{number}" for number in range(size, target)], USER_TURNS)
            size = target
            newest, events = f"u{target - 1}", target * USER_TURNS
            point = measure(context, caller, turns, folder, newest, events)
            points.append(replace(point, size=target))
    return points


def _settings(folder: Path) -> Settings:
    return replace(read(data=folder), index_memory_bytes=INDEX_BYTES)


def _prepare(context: Context, data: Path) -> tuple[Caller, Turns]:
    key = keys.create(context, account="bench").key.reveal()
    return keys.authenticate(context, key), Turns(data, context)


def line(points: Sequence[Point], name: str) -> tuple[float, float]:
    """Return `fixed` and `growing` (per event or user) of a curve, neither below 0."""
    sizes = np.array([point.size for point in points], float)
    values = np.array([point.figures[name] for point in points])
    design = np.stack([1 / values, sizes / values], axis=1)
    fixed, growing = np.linalg.lstsq(design, np.ones(len(values)), rcond=None)[0]
    if growing < 0:
        return float(np.exp(np.log(values).mean())), 0.0
    return max(float(fixed), 0.0), float(growing)


def slope(points: Sequence[Point], name: str) -> float:
    """Return the slope of the curve's last half on the log-log picture."""
    last = points[len(points) // 2 :] if len(points) > 3 else points
    sizes = np.log([point.size for point in last])
    return float(np.polyfit(sizes, np.log([point.figures[name] for point in last]), 1)[0])


def draw(points: Sequence[Point], unit: str, path: Path) -> None:
    """Draw all curves on logarithmic axes."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5))
    sizes = [point.size for point in points]
    for name, label in CURVES.items():
        axes.loglog(sizes, [point.figures[name] for point in points], marker="o", label=label)
    axes.set_xlabel(unit)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend(fontsize=8)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)


def rows(points: Sequence[Point]) -> list[list[str]]:
    """Return the table of a curve: a row for each size, then slopes and crossovers."""
    body = [
        [f"{point.size:,}", *(f"{point.figures[name]:.2f}" for name in CURVES)] for point in points
    ]
    crossovers = []
    for name in CURVES:
        fixed, growing = line(points, name)
        beyond = growing == 0 or fixed / growing > 100 * points[-1].size
        crossovers.append("–" if beyond else f"{fixed / growing:,.0f}")
    body.append(["slope at the end", *(f"{slope(points, name):.2f}" for name in CURVES)])
    body.append(["crossover", *crossovers])
    return body


def main() -> None:
    """Measure both stores, draw, and write the tables."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000],
    )
    parser.add_argument(
        "--users",
        type=int,
        nargs="+",
        default=[1, 10, 100, 1_000, 3_000, 10_000, 30_000, 100_000],
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    for part in options.parts:
        measure_part, sizes, unit, sentence = {
            "events": (one_user, options.sizes, "events of one user", "Events of one user:"),
            "users": (
                many_users,
                options.users,
                f"users with {USER_TURNS} events each",
                f"Users with {USER_TURNS} events each; the searches and turns are of one of them:",
            ),
        }[part]
        # In a process of its own, whose memory is that of this part alone.
        with tempfile.TemporaryDirectory() as name, get_context("spawn").Pool(1) as process:
            points = process.apply(measure_part, (Path(name), options.data, sizes))
        draw(points, unit, IMAGES / f"growth-{part}.png")
        write_section(
            f"growth-{part}",
            f"Growth: {unit}",
            f"python -m bench.growth --data locomo-dev.json --parts {part}",
            f"{sentence}\n\n{table([part, *CURVES], rows(points))}\n\n{CROSSOVER}",
        )


if __name__ == "__main__":
    main()
