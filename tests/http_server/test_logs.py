"""Keys are redacted in logs, in text and in JSON lines."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest
from service import Http

from remembrancer.server.run import start_logging

KEY = "sk_" + "0123456789abcdef" * 4


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
