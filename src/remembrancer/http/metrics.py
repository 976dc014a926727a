"""What an operator's Prometheus may know: counts and times by endpoint, never who."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ..models import ModelAttempt
from ..protocol.compliance import Figures, Part

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_MODEL_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120)
DUTIES = ("searched", "remembered", "sealed", "rated", "looked", "passed")

MEDIA_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The counters of one server, in a registry of its own."""

    def __init__(self, in_flight: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        self.requests = Counter(
            "remembrancer_requests",
            "Requests answered.",
            (*labels, "status"),
            registry=self._registry,
        )
        self.request_seconds = Histogram(
            "remembrancer_request_seconds",
            "Time to answer.",
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
            "Calls of language models.",
            (*model, "outcome"),
            registry=registry,
        )
        self._model_tokens = Counter(
            "remembrancer_model_tokens",
            "Tokens read and written.",
            (*model, "kind"),
            registry=registry,
        )
        self._model_seconds = Histogram(
            "remembrancer_model_seconds",
            "Time of a call.",
            model,
            registry=registry,
            buckets=_MODEL_SECONDS,
        )

        self._due = Gauge(
            "remembrancer_duties_due",
            "What the protocol asked of agents in the last day.",
            ("duty",),
            registry=registry,
        )
        self._done = Gauge(
            "remembrancer_duties_done", "What of that they did.", ("duty",), registry=registry
        )

    def count_model(self, tried: ModelAttempt) -> None:
        """One call of a language model.

        Models are named by settings, so that a caller cannot make new ones.
        """
        self._model_calls.labels(tried.slot, tried.model, tried.outcome).inc()
        self._model_seconds.labels(tried.slot, tried.model).observe(tried.ms / 1000)
        self._model_tokens.labels(tried.slot, tried.model, "prompt").inc(tried.prompt_tokens)
        self._model_tokens.labels(tried.slot, tried.model, "completion").inc(
            tried.completion_tokens
        )

    def show_compliance(self, figures: Figures) -> None:
        """What agents did of what was due, as counted just now."""
        for name in DUTIES:
            part: Part = getattr(figures, name)
            self._due.labels(name).set(part.of)
            self._done.labels(name).set(part.done)

    def text(self) -> bytes:
        """All of them in the Prometheus text format."""
        return generate_latest(self._registry)
