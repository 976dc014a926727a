"""Serve with timed stages: the server process of bench.profile.

    python -m bench.profile_stages serve --port 0

Functions of the service are replaced by timed ones before the server starts, so the service has no
code for it. Each line on standard input prints the times since the last one: REPORT and JSON.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from remembrancer.cli.app import main as command_line

T = TypeVar("T")
REPORT = "profile: "
READS, WRITES = "store reads", "store writes"


class Stage(NamedTuple):
    """A stage and its functions: `module:name` below the package.

    Of a closed stage, the stages within it are not told apart.
    """

    name: str
    functions: tuple[str, ...]
    is_closed: bool = False


STAGES = (
    Stage("authentication and rate limit", ("http.dispatch:Dispatcher._check",), is_closed=True),
    Stage("validation", ("http.bodies:parse",)),
    Stage(
        READS,
        (
            "store.sqlite.store:SqliteStore.read",
            "store.sqlite.store:SqliteTransaction._execute",
        ),
    ),
    Stage("query analysis", ("search.text.analysis:parse_query", "search.scoring:embedding_text")),
    Stage(
        "embedder",
        (
            "search.embedders.serving:QueryVectors.prepare",
            "search.embedders.multilingual:MultilingualEmbedder.encode",
        ),
    ),
    Stage("index", ("memory.spaces:space_view",), is_closed=True),
    Stage("word scores", ("search.scoring:lexical_scores",)),
    Stage("vector scan", ("search.scoring:cosines",)),
    Stage("fusion and pool", ("search.ranking:Ranking.__init__",)),
    Stage(
        "features and ranking network",
        (
            "search.ranking:Ranking.answerable",
            "search.ranking:Ranking.ranked",
            "search.ranking:Ranking.reasons",
            "search.ranking:Ranking.matching",
        ),
    ),
    Stage("facts and summaries", ("memory.recall.layer_hits:layer_hits",), is_closed=True),
    Stage("what holds now", ("search.ranking:said_again",)),
    Stage("snippets", ("memory.recall.hits:hit_text",)),
    Stage("cubes", ("cubes.serving:relevant_cubes",), is_closed=True),
    Stage("duties and step", ("memory.duties:count_search", "memory.tasks:shown_tasks")),
    Stage("search, rest", ("memory.recall.recall:recall",)),
    Stage("screening of texts", ("memory.intake:Intake.take",)),
    Stage(
        "words and flags of the turn",
        ("search.index.entries:_analysis",),
    ),
    Stage("links to earlier turns", ("memory.links:link_related",), is_closed=True),
    Stage(WRITES, ("store.sqlite.store:SqliteWriter._commit",)),
    Stage("remember, rest", ("memory.remember:remember",)),
    Stage("response JSON and dispatch, rest", ("http.dispatch:Dispatcher._respond",)),
)
CLOSED = frozenset(stage.name for stage in STAGES if stage.is_closed)
# CPU time of threads outside of all stages, by the beginning of the thread's name.
THREADS = {
    "MainThread": "connection, HTTP, routing",
    "search-": "hand-over to threads",
    "write-": "hand-over to threads",
    "remembrancer-writer": "hand-over to threads",
    "remembrancer-scan": "vector scan",
}
BACKGROUND = "background threads"


class ThreadMeter:
    """The stages that a thread is in, and the time of each."""

    def __init__(self) -> None:
        self.ns: dict[str, list[int]] = defaultdict(lambda: [0, 0])  # CPU and wall, by stage
        self.staged_cpu_ns = 0
        self._stages: list[str] = []
        self._cpu_ns = self._wall_ns = 0

    @property
    def is_closed(self) -> bool:
        """True within a closed stage."""
        return bool(self._stages) and self._stages[-1] in CLOSED

    def enter(self, stage: str) -> None:
        """Begin a stage within the current one."""
        self._charge()
        if stage == READS and self._stages and self._stages[0] == WRITES:
            stage = WRITES
        self._stages.append(stage)

    def leave(self) -> None:
        """End the current stage."""
        self._charge()
        self._stages.pop()

    def _charge(self) -> None:
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        if self._stages:
            row = self.ns[self._stages[-1]]
            row[0] += cpu - self._cpu_ns
            row[1] += wall - self._wall_ns
            self.staged_cpu_ns += cpu - self._cpu_ns
        self._cpu_ns, self._wall_ns = cpu, wall


class StageMeter:
    """The time of each stage in all threads. A stage within another counts for itself alone."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._meters: dict[int, ThreadMeter] = {}
        self._before: dict[str, list[int]] = {}

    def timed(self, stage: str, function: Callable[..., T]) -> Callable[..., T]:
        """Return the function with its time counted for a stage."""

        @functools.wraps(function)
        def call(*values: Any, **options: Any) -> T:
            meter = self._meter()
            if meter.is_closed:
                return function(*values, **options)
            meter.enter(stage)
            try:
                return function(*values, **options)
            finally:
                meter.leave()

        return call

    def _meter(self) -> ThreadMeter:
        meter: ThreadMeter | None = getattr(self._local, "meter", None)
        if meter is None:
            meter = self._local.meter = self._meters[threading.get_ident()] = ThreadMeter()
        return meter

    def report(self) -> dict[str, list[int]]:
        """Return the CPU and wall ns of each stage, and of threads outside, since the last call."""
        totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        threads_ns = 0
        for thread in threading.enumerate():
            cpu = time.clock_gettime_ns(time.pthread_getcpuclockid(thread.ident or 0))
            threads_ns += cpu
            meter = self._meters.get(thread.ident or 0)
            outside = next(
                (name for start, name in THREADS.items() if thread.name.startswith(start)),
                BACKGROUND,
            )
            totals[outside][0] += cpu - (meter.staged_cpu_ns if meter else 0)
        totals[BACKGROUND][0] += time.process_time_ns() - threads_ns  # threads of libraries
        for meter in list(self._meters.values()):
            for stage, (cpu, wall) in list(meter.ns.items()):
                totals[stage][0] += cpu
                totals[stage][1] += wall
        result = {
            name: [
                now - earlier
                for now, earlier in zip(row, self._before.get(name, (0, 0)), strict=True)
            ]
            for name, row in totals.items()
        }
        self._before = dict(totals)
        return result


def owner_of(function: str) -> tuple[Any, str]:
    """Return the module or class that holds a function of STAGES, and the name it has there."""
    module, _, name = function.partition(":")
    owner: Any = importlib.import_module(f"remembrancer.{module}")
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    getattr(owner, last)
    return owner, last


def replace_functions(meter: StageMeter) -> None:
    """Replace the functions of all stages wherever the package has imported them."""
    owners = [(stage, *owner_of(name)) for stage in STAGES for name in stage.functions]
    for stage, owner, name in owners:
        function = getattr(owner, name)
        timed = meter.timed(stage.name, function)
        setattr(owner, name, timed)
        if isinstance(owner, type):
            continue
        for module_name, module in list(sys.modules.items()):
            if module_name.startswith("remembrancer") and vars(module).get(name) is function:
                setattr(module, name, timed)


def main() -> None:
    """Serve like the command line, with timed stages."""
    meter = StageMeter()
    replace_functions(meter)

    def answer() -> None:
        for _ in sys.stdin:
            print(REPORT + json.dumps(meter.report()), flush=True)

    threading.Thread(target=answer, name="profile-report", daemon=True).start()
    command_line()


if __name__ == "__main__":
    main()
