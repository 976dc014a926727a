"""Metrics of the store and of the process, and how often the store is counted for them."""

import itertools
from collections.abc import Callable, Iterator

from service import Http

from remembrancer.http.metrics import DUTIES, Metrics, StoreFigures
from remembrancer.protocol.agent import Figures, Part


def figures(searched: int) -> StoreFigures:
    parts = {name: Part(done=0, of=searched, share=0) for name in DUTIES}
    duties = Figures.model_construct(None, searches=0, turns=0, looks=0, **parts)
    return StoreFigures(duties=duties, records={}, store_bytes=0)


def due(metrics: Metrics) -> float | None:
    for line in metrics.text().decode().splitlines():
        if line.startswith('remembrancer_duties_due{duty="searched"}'):
            return float(line.split()[-1])
    return None


def counts() -> Callable[[], StoreFigures]:
    numbers: Iterator[int] = itertools.count(1)
    return lambda: figures(next(numbers))


def test_a_count_is_served_50_times_as_long_as_it_took() -> None:
    """A count is served for 50 times its duration (specification.md#status-metrics-duties)."""
    # start and end of the first count, one look just before it may be repeated, one at that time
    times = iter([100.0, 102.0, 201.9, 202.0, 202.1])
    metrics, count = Metrics(clock=lambda: next(times)), counts()

    values = []
    for _ in range(3):
        metrics.refresh_store(count)
        values.append(due(metrics))

    assert values == [1, 1, 2]


def test_requests_during_a_count_start_no_other() -> None:
    metrics = Metrics(lambda: 0)
    inner = counts()

    def count() -> StoreFigures:
        metrics.refresh_store(inner)  # as another request would, meanwhile
        return figures(7)

    metrics.refresh_store(count)

    assert (due(metrics), inner().duties.searched) == (7, figures(1).duties.searched)


def test_store_process_and_sandbox_have_metrics(http: Http) -> None:
    http.remember("Where is the saw?", "In the shed.", critical="The saw is red.")
    lines = dict(
        line.rsplit(" ", 1)
        for line in http.get("/metrics").text.splitlines()
        if not line.startswith("#")
    )

    for kind, n in {"turns": 1, "sessions": 1, "users": 1, "facts": 1, "files": 0}.items():
        assert float(lines[f'remembrancer_records{{kind="{kind}"}}']) == n
    for name in ("store_bytes", "process_memory_bytes", "index_memory_bytes", "workers"):
        assert float(lines[f"remembrancer_{name}"]) > (-1 if name.startswith("index") else 0)
    assert float(lines["remembrancer_requests_waiting"]) == 0
    assert float(lines['remembrancer_sandbox{state="not started"}']) == 1
