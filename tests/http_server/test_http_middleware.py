"""Headers of every response, error handling, access log, metrics and rate limits."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from service import Http
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.http.dispatch import Call, Dispatcher, handles
from remembrancer.http.middleware import RequestMiddleware
from remembrancer.http.problems import respond
from remembrancer.protocol.errors import ProblemBody
from remembrancer.protocol.operation import PlainOperation
from remembrancer.protocol.operations import OPERATIONS
from remembrancer.search import EmbedderUnavailable, SymmetricEmbedder
from remembrancer.server.app import make_app
from remembrancer.server.run import start_logging
from remembrancer.store import OutcomeUnknown, StoreUnavailable, StoreUnreachable

PROXY_HEADERS = (
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
)
EVERYWHERE = [(e.method, e.path) for e in OPERATIONS]
KEY = "sk_" + "ab" * 32


def problem(answer: Any) -> dict[str, Any]:
    """Return the body of a response, which must be a complete problem document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body: dict[str, Any] = answer.json()
    ProblemBody.model_validate(body)
    assert body["status"] == answer.status_code
    assert body["type"] == f"urn:remembrancer:error:{body['error']}"
    assert body["instance"] == answer.headers["x-request-id"]
    return body


def test_responses_have_a_request_id_and_security_headers(shared: Http) -> None:
    """Every response has these headers.

    See specification.md#api-request-id, specification.md#api-security-headers.
    """
    for method, path in (*EVERYWHERE, ("GET", "/nothing"), ("DELETE", "/docs")):
        headers = shared.ask(method, path).headers

        assert len(headers["x-request-id"]) == 16
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert path == "/docs/style.css" or headers["cache-control"] == "no-store", path
        assert not any(name.startswith("access-control-") for name in headers)


def test_unexpected_error_is_500_without_traceback_and_is_logged(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(_call: Call[None]) -> Any:
        """Raise an unexpected error."""
        raise ZeroDivisionError("secret inner matter")

    routes = (
        handles(
            PlainOperation[Any](
                "GET",
                "/break",
                media_type="text/plain",
                needs_key=False,
                operation_id="break_down",
            ),
            break_down,
        ),
    )
    with (
        TestClient(make_app(context, routes), base_url="http://127.0.0.1:8460") as client,
        caplog.at_level(logging.ERROR),
    ):
        answer = client.get("/break")

    assert answer.status_code == 500
    assert problem(answer)["error"] == "internal"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["x-request-id"] in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_unavailable_store_is_503_and_named(http: Http, context: Context) -> None:
    """A 503 names the missing part (specification.md#error-503-names-part)."""
    context.store.close()
    body = {"query": "a", "response": "b", "query_text": "a", "user_id": "owner"}

    for method, path in (
        ("POST", "/api/v7/memory"),
        ("POST", "/api/v7/remember"),
        ("GET", "/api/v7/event/ev_1"),
    ):
        answer = http.ask(method, path, json=body)
        assert (answer.status_code, problem(answer)["error"]) == (503, "unavailable")
        assert "store" in answer.json()["detail"]


class BrokenEmbedder(SymmetricEmbedder):
    """An embedder whose model is missing."""

    name = "broken/1"
    dimensions = 4

    def encode(self, texts: Any) -> Any:
        """Raise EmbedderUnavailable."""
        raise EmbedderUnavailable("the weights are gone from /secret/place")


def test_broken_embedder_makes_readyz_503(folder: Path) -> None:
    context = testing.context(folder, embedder=BrokenEmbedder())
    with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
        answer = client.get("/readyz")
    context.close()

    assert answer.status_code == 503
    assert "embedder" in problem(answer)["detail"]
    assert (answer.json()["store"], answer.json()["embedder"]) == (
        "ok",
        "the embedder does not work",
    )
    assert "/secret" not in answer.text


def test_requests_over_capacity_are_503(context: Context) -> None:
    async def never(*_: object) -> None:
        pytest.fail("a request over capacity was accepted")

    answer = TestClient(
        RequestMiddleware(never, Dispatcher(context, in_flight_max=0)),
        base_url="http://127.0.0.1:8460",
    ).get("/healthz")

    assert answer.status_code == 503
    assert problem(answer)["error"] == "unavailable"


def test_access_log_has_a_line_per_request_and_no_query_string(
    shared: Http, caplog: pytest.LogCaptureFixture
) -> None:
    """A path cannot inject a line."""
    with caplog.at_level(logging.INFO, "remembrancer.access"):
        shared.get(f"/healthz?key={KEY}&user_id=ada", headers={"X-Request-Id": "r-1"})
        shared.get("/a%0Ar-2%20GET%20/healthz%20200")

    records = [one for one in caplog.records if one.name == "remembrancer.access"]
    first, second = (record.getMessage() for record in records)
    assert first.startswith("r-1 GET /healthz 200 ")
    assert "ada" not in first
    assert KEY not in first
    assert "\n" not in second


class TestMetrics:
    """Loopback clients and the owner's keys read metrics (specification.md#status-metrics)."""

    @staticmethod
    def client(http: Http, host: str) -> TestClient:
        return TestClient(http.client.app, client=(host, 5000), base_url="http://127.0.0.1:8460")

    def test_proxied_requests_do_not_count_as_loopback(self, shared: Http) -> None:
        """See specification.md#status-metrics-proxied."""
        for header in PROXY_HEADERS:
            for value in ("for=10.1.1.1", ""):
                answer = self.client(shared, "127.0.0.1").get("/metrics", headers={header: value})
                assert answer.status_code == 401, header

    @pytest.mark.parametrize(("open_metrics", "status"), [("loopback", 200), ("none", 401)])
    def test_setting_opens_or_closes_metrics(
        self, context: Context, open_metrics: str, status: int
    ) -> None:
        """See specification.md#status-metrics-proxied."""
        settings = replace(context.settings, open_metrics=open_metrics)
        app = make_app(replace(context, settings=settings))
        with TestClient(app, client=("127.0.0.1", 1), base_url="http://127.0.0.1:8460") as local:
            answers = [local.get("/metrics", headers={"Via": "1.1 a"}), local.get("/metrics")]

        assert [answer.status_code for answer in answers] == [status, status]

    def test_remote_clients_need_the_owners_key(self, shared: Http) -> None:
        far = self.client(shared, "10.1.1.1")

        statuses = [far.get("/metrics").status_code]
        for key in (shared.as_account("bob").key, shared.key):
            headers = {"Authorization": f"Bearer {key}"}
            statuses.append(far.get("/metrics", headers=headers).status_code)

        assert statuses == [401, 403, 200]

    def test_metrics_use_route_templates_and_no_identifiers(self, http: Http) -> None:
        for path in ("/api/v7/event/ev_secret", "/unknown-ada", "/healthz"):
            http.get(path)
        http.ask("FROBNICATE", "/healthz")

        text = http.get("/metrics").text

        count = 'remembrancer_requests_total{method="GET",route="%s",status="404"} 1.0'
        assert count % "/api/v7/event/{event_id}" in text
        assert count % "none" in text
        assert 'remembrancer_request_seconds_count{method="GET",route="/healthz"} 1.0' in text
        assert "remembrancer_requests_in_flight 1.0" in text
        assert 'method="other"' in text
        assert "ev_secret" not in text
        assert "ada" not in text


@pytest.mark.settings(rate_memory_per_minute=2)
def test_request_over_the_rate_limit_is_429_with_retry_after(http: Http) -> None:
    """The key is checked before, the body after; other keys and public paths go on.

    See specification.md#rate-headers, specification.md#rate-429.
    """
    allowed = [http.get("/api/v7/event/ev_none") for _ in range(2)]
    answer = http.get("/api/v7/event/ev_none")

    assert [a.status_code for a in allowed] == [404, 404]
    assert [a.headers["ratelimit"].split(";")[1] for a in allowed] == ["r=1", "r=0"]
    assert (answer.status_code, problem(answer)["error"]) == (429, "too_many_requests")
    assert 1 <= int(answer.headers["retry-after"]) <= 30
    assert answer.headers["ratelimit-policy"] == '"memory";q=2;w=60'
    assert http.with_key(KEY).post_bytes("/api/v7/memory", b"not json").status_code == 401
    assert http.post_bytes("/api/v7/memory", b"not json").status_code == 429
    assert http.as_account("owner").get("/api/v7/event/ev_none").status_code == 404
    assert [http.get("/api/v7/status").status_code for _ in range(5)] == [200] * 5


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StoreUnavailable("down at db:5432"), "Nothing was stored"),
        (StoreUnreachable("down at db:5432"), "Nothing was stored"),
        (
            OutcomeUnknown("down at db:5432"),
            "stored completely or not at all. Send the request again with the same Idempotency-Key",
        ),
        (EmbedderUnavailable("down at db:5432"), "embedder"),
    ],
)
def test_unavailable_component_is_503_with_retry_after_and_outcome(
    error: Exception, message: str
) -> None:
    """The outcome may be unknown.

    See specification.md#error-503-names-part, specification.md#error-outcome-unknown.
    """
    answer = respond(error, {"path": "/api/v7/memory", "request_id": "r1"})

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert message in json.loads(bytes(answer.body))["detail"]
    assert "db:5432" not in json.loads(bytes(answer.body))["detail"]


@pytest.fixture(params=["text", "json"])
def written(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """Yield the output of the only log handler of the process, in each format."""
    before = logging.root.handlers[:], logging.root.level
    start_logging("info", request.param)
    stream = io.StringIO()
    logging.root.handlers[0].setStream(stream)  # type: ignore[attr-defined]
    yield stream
    logging.root.handlers[:], logging.root.level = before


@pytest.mark.parametrize("written", ["json"], indirect=True)
def test_json_log_has_one_object_a_request(written: io.StringIO, http: Http) -> None:
    answer = http.get("/api/v7/event/none?key=secret")

    lines = map(json.loads, written.getvalue().splitlines())
    line = next(one for one in lines if one["logger"] == "remembrancer.access")
    assert line.keys() == {
        *("time", "level", "logger", "message"),
        *("request_id", "method", "path", "status", "duration_ms"),
    }
    assert line["request_id"] == answer.headers["x-request-id"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/api/v7/event/none", 404)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_log_has_no_name_of_a_file(written: io.StringIO, http: Http) -> None:
    """See specification.md#forget-no-trace."""
    body = {"filename": "xylophone", "content": "a", "type": "txt"}
    url = http.post("/api/v7/tools/create-file", body).json()["url"]

    for method in ("GET", "DELETE", "GET"):
        http.ask(method, url)

    lines = [line for line in written.getvalue().splitlines() if "remembrancer.access" in line]
    assert any("DELETE /download/{filename} 200" in line for line in lines)
    assert not any("xylophone" in line for line in lines)


@pytest.mark.parametrize(
    "logger", ["remembrancer.http", "uvicorn.error", "uvicorn.access", "anything.else"]
)
def test_key_in_a_message_its_arguments_or_a_traceback_is_redacted(
    written: io.StringIO, logger: str
) -> None:
    """Once, also by a logger that has handlers of its own."""
    try:
        raise ValueError(f"bad\nheader Bearer {KEY}")  # noqa: TRY301 - the test needs a traceback
    except ValueError:
        logging.getLogger(logger).exception(f"key %s and {KEY}", KEY)  # noqa: G004 - a careless call

    assert written.getvalue().count("key sk_*** and sk_***") == 1
    assert "header Bearer sk_***" in written.getvalue()
    assert KEY not in written.getvalue()
