"""Traces and metrics reach an OpenTelemetry collector, without anything of the memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat

from client.scripted_server import ScriptedServer, answer
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer.context import Context
from remembrancer.server.app import make_app


@contextmanager
def serving_to(context: Context, collector: str) -> Iterator[Http]:
    """Serve with a collector at an address; at the end everything has been sent."""
    settings = replace(context.settings, otlp_endpoint=f"{collector}/", log_level="error")
    reporting = replace(context, settings=settings)
    with TestClient(make_app(reporting), base_url="http://127.0.0.1:8460") as client:
        yield Http(client, reporting, new_key(reporting))


def test_nothing_of_memory_users_and_keys_is_exported(context: Context) -> None:
    with (
        ScriptedServer(repeat(answer(200, ""))) as collector,
        serving_to(context, collector.url) as http,
    ):
        key = http.key or ""
        http.post(
            "/api/v7/remember",
            {"query": "The zebra's name?", "response": "Quagga.", "user_id": "okapi"},
        )
        http.get("/api/v7/event/tapir?user_id=okapi")

    assert {one.line.split()[1] for one in collector.requests} == {"/v1/traces", "/v1/metrics"}
    kinds = {one.headers["content-type"] for one in collector.requests}
    assert kinds == {"application/x-protobuf"}
    exported = b"".join(one.body for one in collector.requests).lower()
    assert b"/api/v7/event/{event_id}" in exported
    for word in ("zebra", "quagga", "okapi", "tapir", key.lower()):
        assert word.encode() not in exported


def test_collector_that_is_away_fails_no_request(context: Context) -> None:
    with ScriptedServer([]) as collector:
        address = collector.url

    with serving_to(context, address) as http:
        assert http.get("/healthz").status_code == 200


def test_nothing_is_exported_by_default(context: Context, http: Http) -> None:
    http.get("/healthz")

    assert context.settings.otlp_endpoint == ""
    assert "remembrancer-otlp" not in {thread.name for thread in threading.enumerate()}
