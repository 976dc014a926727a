"""Traces and metrics for an OpenTelemetry collector, by OTLP over HTTP.

A request is one span, named by its route, with the attributes of the semantic conventions for HTTP
(opentelemetry.io/docs/specs/semconv/http). It has no text of a request, no user and no key. A
caller's `traceparent` (W3C Trace Context) becomes its parent. The metrics are those of `/metrics`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..settings import SettingInvalid, Settings

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.sdk.metrics import MeterProvider

    from .metrics import Metrics

NAME = "remembrancer"
TIMEOUT_S = 5.0  # of one export; requests never wait for it
# of the samples to export, by type of metric
_ENDINGS = {"gauge": ("",), "counter": ("_total",), "histogram": ("_count", "_sum")}


class Telemetry:
    """Reports spans and metrics in the background. Close it to send what is left."""

    def __init__(self, settings: Settings, metrics: Metrics | None) -> None:
        """Connect to the collector of the settings; `metrics` None: only spans are reported.

        Raises SettingInvalid without the extra.
        """
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.metrics import MeterProvider as Meters
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise SettingInvalid(
                "otlp_endpoint needs the extra `otel`: python -m pip install 'remembrancer[otel]'"
            ) from error
        base = settings.otlp_endpoint.rstrip("/")
        resource = Resource.create({"service.name": NAME, "service.version": __version__})
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=TIMEOUT_S))
        )
        self._tracer = self._traces.get_tracer(NAME, __version__)
        self._meters: MeterProvider | None = None
        if metrics is not None:
            reader = PeriodicExportingMetricReader(
                OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=TIMEOUT_S),
                export_interval_millis=settings.otlp_metrics_seconds * 1000,
            )
            self._meters = Meters([reader], resource=resource, shutdown_on_exit=False)
            _observe(self._meters, metrics)

    def report(
        self, fields: Mapping[str, Any], route: str, seconds: float, traceparent: str
    ) -> None:
        """Report a request that has just ended; `fields` are those of the access log."""
        from opentelemetry.trace import SpanKind, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        end_ns = time.time_ns()
        parent = TraceContextTextMapPropagator().extract({"traceparent": traceparent})
        span = self._tracer.start_span(
            f"{fields['method']} {route}",
            context=parent,
            kind=SpanKind.SERVER,
            start_time=end_ns - round(seconds * 1e9),
            attributes={
                "http.request.method": fields["method"],
                "http.route": route,
                "http.response.status_code": fields["status"],
                "remembrancer.request_id": fields["request_id"],
            },
        )
        if fields["status"] >= 500:
            span.set_status(StatusCode.ERROR)
        span.end(end_ns)

    def close(self) -> None:
        """Send what is left, and stop. Waits for the collector TIMEOUT_S at most."""
        self._traces.shutdown()
        if self._meters is not None:
            self._meters.shutdown(timeout_millis=TIMEOUT_S * 1000)


def _observe(meters: Any, metrics: Metrics) -> None:
    """Make an instrument for each metric: its values are read when they are exported.

    Buckets of histograms are left out; their sums and counts are counters.
    """
    from opentelemetry.metrics import Observation

    meter = meters.get_meter(NAME, __version__)
    for family in metrics.families():
        is_gauge = family.type == "gauge"
        for name in (f"{family.name}{ending}" for ending in _ENDINGS[family.type]):

            def read(
                _options: CallbackOptions, name: str = name, family_name: str = family.name
            ) -> Iterable[Observation]:
                return [
                    Observation(sample.value, sample.labels)
                    for one in metrics.families()
                    if one.name == family_name
                    for sample in one.samples
                    if sample.name == name
                ]

            make = meter.create_observable_gauge if is_gauge else meter.create_observable_counter
            make(name, callbacks=[read], description=family.documentation)
