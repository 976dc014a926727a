"""The count of duties in the metrics, which reads every step of the last day."""

import itertools
from collections.abc import Callable, Iterator

from remembrancer.http.metrics import DUTIES, Metrics
from remembrancer.protocol.agent import Figures, Part


def figures(searched: int) -> Figures:
    parts = {name: Part(done=0, of=searched, share=0) for name in DUTIES}
    return Figures.model_construct(None, searches=0, turns=0, looks=0, **parts)


def due(metrics: Metrics) -> float | None:
    for line in metrics.text().decode().splitlines():
        if line.startswith('remembrancer_duties_due{duty="searched"}'):
            return float(line.split()[-1])
    return None


def counts() -> Callable[[], Figures]:
    numbers: Iterator[int] = itertools.count(1)
    return lambda: figures(next(numbers))


def test_a_count_is_served_50_times_as_long_as_it_took() -> None:
    """A count is served for 50 times its duration (specification.md#status-metrics-duties)."""
    # start and end of the first count, one look just before it may be repeated, one at that time
    times = iter([100.0, 102.0, 201.9, 202.0, 202.1])
    metrics, count = Metrics(clock=lambda: next(times)), counts()

    values = []
    for _ in range(3):
        metrics.refresh_duties(count)
        values.append(due(metrics))

    assert values == [1, 1, 2]


def test_requests_during_a_count_start_no_other() -> None:
    metrics = Metrics(lambda: 0)
    inner = counts()

    def count() -> Figures:
        metrics.refresh_duties(inner)  # as another request would, meanwhile
        return figures(7)

    metrics.refresh_duties(count)

    assert (due(metrics), inner().searched) == (7, figures(1).searched)
