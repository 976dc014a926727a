"""Traces and metrics reach an OpenTelemetry collector, without anything of the memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer.context import Context
from remembrancer.server.app import make_app


@dataclass
class Collector:
    """A collector of OTLP over HTTP, and what it received."""

    port: int = 0
    bodies: list[bytes] = field(default_factory=list)
    spans: list[Any] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    resources: list[dict[str, str]] = field(default_factory=list)

    def take(self, path: str, body: bytes) -> None:
        """Parse an export."""
        self.bodies.append(body)
        if path == "/v1/traces":
            for one in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(
                    {part.key: part.value.string_value for part in one.resource.attributes}
                )
                self.spans += [span for scope in one.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for one in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in one.scope_metrics:
                    self.metrics |= {metric.name: metric for metric in scope.metrics}


@contextmanager
def collecting() -> Iterator[Collector]:
    """Serve a collector on loopback."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["content-type"] == "application/x-protobuf"
            collector.take(self.path, self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    collector.port = server.server_port
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving_to(context: Context, collector: Collector) -> Iterator[Http]:
    """Serve with a collector; at the end everything has been sent."""
    settings = replace(
        context.settings, otlp_endpoint=f"http://127.0.0.1:{collector.port}/", log_level="error"
    )
    reporting = replace(context, settings=settings)
    with TestClient(make_app(reporting), base_url="http://127.0.0.1:8460") as client:
        yield Http(client, reporting, new_key(reporting))


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Return a collector that is served."""
    with collecting() as one:
        yield one


def attributes(span: Any) -> dict[str, Any]:
    """Return the attributes of a span."""
    return {part.key: part.value.string_value or part.value.int_value for part in span.attributes}


def test_nothing_of_memory_users_and_keys_is_exported(
    context: Context, collector: Collector
) -> None:
    with serving_to(context, collector) as http:
        key = http.key or ""
        http.post(
            "/api/v7/remember",
            {"query": "The zebra's name?", "response": "Quagga.", "user_id": "okapi"},
        )
        http.get("/api/v7/event/tapir?user_id=okapi")

    exported = b"".join(collector.bodies).lower()
    assert exported
    for word in ("zebra", "quagga", "okapi", "tapir", key.lower()):
        assert word.encode() not in exported


def test_collector_that_is_away_fails_no_request(context: Context) -> None:
    with collecting() as collector:
        pass

    with serving_to(context, collector) as http:
        assert http.get("/healthz").status_code == 200


def test_nothing_is_exported_by_default(context: Context, http: Http) -> None:
    http.get("/healthz")

    assert context.settings.otlp_endpoint == ""
    assert "remembrancer-otlp" not in {thread.name for thread in threading.enumerate()}
