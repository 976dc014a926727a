"""Prometheus metrics: counts and durations by endpoint, without accounts or users.

With several worker processes, each of them answers with the metrics of all: the library maps their
values into files of the folder in PROMETHEUS_MULTIPROC_DIR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, get_args

from ..models import ModelAttempt
from ..protocol.agent import Figures, Part
from ..protocol.execution import Level
from ..protocol.status import SandboxState
from ..settings import resident_bytes

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_MODEL_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120)
# Largest share of the time spent on counting what is stored, such as every step of the last day.
COUNT_SHARE_MAX = 0.02
DUTIES = ("searched", "remembered", "sealed", "rated", "looked", "passed")

SANDBOX_STATES: tuple[SandboxState, ...] = (*get_args(Level), "unavailable", "not started")

_NAMESPACE, _IN_FLIGHT = "remembrancer", "requests_in_flight"
MEDIA_TYPE = "text/plain; version=1.0.0; charset=utf-8; escaping=underscores"  # of the library


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFigures:
    """What a count of the store gave: duties of the last day, records by kind, and the size."""

    duties: Figures
    records: Mapping[str, int]
    store_bytes: int


class ServerGauges:
    """Gauges of the store, the sandbox and the processes of one server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Gauge

        # of what all processes share, so that any of them may set it
        gauge = partial(Gauge, registry=registry, namespace=_NAMESPACE)
        of_all = partial(gauge, multiprocess_mode="mostrecent")
        self._due = of_all("duties_due", "Protocol duties due in the last day.", ("duty",))
        self._done = of_all("duties_done", "Protocol duties fulfilled in the last day.", ("duty",))
        self._records = of_all("records", "Stored records by kind.", ("kind",))
        self._store_bytes = of_all("store_bytes", "Size of the store.")
        self._sandbox = of_all(
            "sandbox", "1 for the state of the sandbox, 0 for others.", ("state",)
        )
        of_each = partial(gauge, multiprocess_mode="livesum")
        self._workers = of_each("workers", "Processes that answer requests.")
        self._waiting = of_each("requests_waiting", "Requests that wait for a thread.")
        self._index_bytes = of_each("index_memory_bytes", "Memory of the loaded search indexes.")
        self._memory_bytes = of_each(
            "process_memory_bytes",
            "Resident memory of the processes; what they share counts in each.",
        )

    def set_process(self, *, waiting: int, index_bytes: int) -> None:
        """Say how this process is."""
        self._workers.set(1)
        self._waiting.set(waiting)
        self._index_bytes.set(index_bytes)
        self._memory_bytes.set(resident_bytes())

    def set_sandbox(self, state: SandboxState) -> None:
        """Say in which state the sandbox is."""
        for one in SANDBOX_STATES:
            self._sandbox.labels(one).set(one == state)

    def set_store(self, figures: StoreFigures) -> None:
        """Say what a count of the store gave."""
        for name in DUTIES:
            part: Part = getattr(figures.duties, name)
            self._due.labels(name).set(part.of)
            self._done.labels(name).set(part.done)
        for kind, n in figures.records.items():
            self._records.labels(kind).set(n)
        self._store_bytes.set(figures.store_bytes)


class Metrics:
    """The metrics of one server, in their own registry."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        # imported here: the library reads its variable once, when it is imported
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = CollectorRegistry()
        self._clock = clock
        self._count_lock = Lock()
        self._next_count_s = 0.0  # of the clock, when to count what is stored again
        route, model = ("method", "route"), ("slot", "model")
        counter = partial(Counter, registry=self._registry, namespace=_NAMESPACE)
        histogram = partial(Histogram, registry=self._registry, namespace=_NAMESPACE)
        gauge = partial(Gauge, registry=self._registry, namespace=_NAMESPACE)
        self.requests = counter("requests", "Requests answered.", (*route, "status"))
        self.request_seconds = histogram(
            "request_seconds", "Request duration in seconds.", route, buckets=_SECONDS
        )
        self.in_flight = gauge(_IN_FLIGHT, "Requests being answered.", multiprocess_mode="livesum")
        calls, tokens = (*model, "outcome"), (*model, "kind")
        self._model_calls = counter("model_calls", "Requests to language models.", calls)
        self._model_tokens = counter("model_tokens", "Prompt and completion tokens.", tokens)
        self._model_seconds = histogram(
            "model_seconds",
            "Duration of a model request in seconds.",
            model,
            buckets=_MODEL_SECONDS,
        )
        self._backups = counter("backups", "Scheduled backups.", ("outcome",))
        self._backup_time = gauge(
            "backup_timestamp_seconds",
            "Unix time of the newest scheduled backup; 0 without one.",
            multiprocess_mode="mostrecent",
        )
        self.server = ServerGauges(self._registry)

    def count_model(self, attempt: ModelAttempt) -> None:
        """Count one request to a language model.

        Model names come from the settings, so callers cannot create new label values.
        """
        self._model_calls.labels(attempt.slot, attempt.model, attempt.outcome).inc()
        self._model_seconds.labels(attempt.slot, attempt.model).observe(attempt.ms / 1000)
        self._model_tokens.labels(attempt.slot, attempt.model, "prompt").inc(attempt.prompt_tokens)
        self._model_tokens.labels(attempt.slot, attempt.model, "completion").inc(
            attempt.completion_tokens
        )

    def count_backup(self, outcome: str, newest: datetime | None) -> None:
        """Count a scheduled backup (`written`, `failed`, or empty for none) and date the newest."""
        if outcome:
            self._backups.labels(outcome).inc()
        if newest is not None:
            self._backup_time.set(newest.timestamp())

    def families(self) -> list[Metric]:
        """Return all metrics with their samples, of all processes of this server."""
        return list(self._everywhere().collect())

    def refresh_store(self, count: Callable[[], StoreFigures]) -> None:
        """Set the gauges of the store from a new count, unless the last one was a moment ago.

        How long a count is served depends on its duration (COUNT_SHARE_MAX). While one runs,
        other callers keep the values before it. Raises what `count` raises.
        """
        if not self._count_lock.acquire(blocking=False):
            return
        try:
            began_s = self._clock()
            if began_s < self._next_count_s:
                return
            figures = count()
            ended_s = self._clock()
            self._next_count_s = ended_s + (ended_s - began_s) / COUNT_SHARE_MAX
        finally:
            self._count_lock.release()
        self.server.set_store(figures)

    def text(self) -> bytes:
        """Return the metrics of the server's processes in the Prometheus text format."""
        from prometheus_client import generate_latest

        return generate_latest(self._everywhere())

    def requests_in_flight(self) -> int:
        """Return the number of requests that the server's processes are answering."""
        return round(self._everywhere().get_sample_value(f"{_NAMESPACE}_{_IN_FLIGHT}") or 0)

    def _everywhere(self) -> CollectorRegistry:
        """Return a registry of all processes of this server."""
        from prometheus_client import CollectorRegistry, multiprocess, values

        if values.ValueClass is values.MutexValue:
            return self._registry
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)
        return registry
