"""Prometheus metrics: counts and durations by endpoint, without accounts or users."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ..models import ModelAttempt
from ..protocol.compliance import Figures, Part

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_MODEL_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120)
# Largest share of the time spent on counting duties: the count reads every step of the last day.
DUTIES_SHARE_MAX = 0.02
DUTIES = ("searched", "remembered", "sealed", "rated", "looked", "passed")

MEDIA_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The metrics of one server, in their own registry."""

    def __init__(
        self, in_flight: Callable[[], int], clock: Callable[[], float] = monotonic
    ) -> None:
        self._registry = CollectorRegistry()
        self._clock = clock
        self._duties_lock = Lock()
        self._next_duties_s = 0.0  # of the clock, when to count duties again
        labels = ("method", "route")
        self.requests = Counter(
            "remembrancer_requests",
            "Requests answered.",
            (*labels, "status"),
            registry=self._registry,
        )
        self.request_seconds = Histogram(
            "remembrancer_request_seconds",
            "Request duration in seconds.",
            labels,
            registry=self._registry,
            buckets=_SECONDS,
        )
        Gauge(
            "remembrancer_requests_in_flight", "Requests being answered.", registry=self._registry
        ).set_function(in_flight)

        model, registry = ("slot", "model"), self._registry
        self._model_calls = Counter(
            "remembrancer_model_calls",
            "Requests to language models.",
            (*model, "outcome"),
            registry=registry,
        )
        self._model_tokens = Counter(
            "remembrancer_model_tokens",
            "Prompt and completion tokens.",
            (*model, "kind"),
            registry=registry,
        )
        self._model_seconds = Histogram(
            "remembrancer_model_seconds",
            "Duration of a model request in seconds.",
            model,
            registry=registry,
            buckets=_MODEL_SECONDS,
        )

        self._due = Gauge(
            "remembrancer_duties_due",
            "Protocol duties due in the last day.",
            ("duty",),
            registry=registry,
        )
        self._done = Gauge(
            "remembrancer_duties_done",
            "Protocol duties fulfilled in the last day.",
            ("duty",),
            registry=registry,
        )

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

    def refresh_duties(self, count: Callable[[], Figures]) -> None:
        """Set the gauges of duties from a new count, unless the last one was a moment ago.

        How long a count is served depends on its duration (DUTIES_SHARE_MAX). While one runs,
        other callers keep the values before it. Raises what `count` raises.
        """
        if not self._duties_lock.acquire(blocking=False):
            return
        try:
            began_s = self._clock()
            if began_s < self._next_duties_s:
                return
            figures = count()
            ended_s = self._clock()
            self._next_duties_s = ended_s + (ended_s - began_s) / DUTIES_SHARE_MAX
        finally:
            self._duties_lock.release()
        for name in DUTIES:
            part: Part = getattr(figures, name)
            self._due.labels(name).set(part.of)
            self._done.labels(name).set(part.done)

    def text(self) -> bytes:
        """Return the metrics in the Prometheus text format."""
        return generate_latest(self._registry)
