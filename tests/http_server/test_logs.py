"""Keys are redacted in logs, in text and in JSON lines."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from service import Http

from remembrancer.server.logs import Redaction, redact, start_logging

KEY = "sk_" + "0123456789abcdef" * 4


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """Yield the output of the only log handler of the process."""
    before = logging.root.handlers[:], logging.root.level
    start_logging("debug")
    stream = io.StringIO()
    logging.root.handlers[0].setStream(stream)  # type: ignore[attr-defined]
    yield stream
    logging.root.handlers[:], logging.root.level = before


@pytest.fixture
def json_lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Yield a function that returns the JSON lines of the only log handler so far."""
    before = logging.root.handlers[:], logging.root.level
    start_logging("info", "json")
    stream = io.StringIO()
    logging.root.handlers[0].setStream(stream)  # type: ignore[attr-defined]
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.root.handlers[:], logging.root.level = before


def test_json_log_has_one_object_a_request(
    json_lines: Callable[[], list[dict[str, Any]]], http: Http
) -> None:
    answer = http.get("/api/v7/event/none?key=secret")

    line = next(one for one in json_lines() if one["logger"] == "remembrancer.access")
    assert line.keys() == {
        *("time", "level", "logger", "message"),
        *("request_id", "method", "path", "status", "duration_ms"),
    }
    assert line["request_id"] == answer.headers["x-request-id"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/api/v7/event/none", 404)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_json_log_keeps_a_traceback_in_its_line_without_the_key(
    json_lines: Callable[[], list[dict[str, Any]]],
) -> None:
    try:
        raise ValueError(f"bad\nheader Bearer {KEY}")  # noqa: TRY301 - the test needs a traceback
    except ValueError:
        logging.getLogger("remembrancer").exception("failed")

    [line] = json_lines()
    assert line["message"] == "failed"
    assert "header Bearer sk_***" in line["exception"]


@pytest.mark.parametrize(
    "logger", ["remembrancer.http", "uvicorn.error", "uvicorn.access", "anything.else"]
)
def test_key_in_a_message_or_its_arguments_is_redacted(written: io.StringIO, logger: str) -> None:
    logging.getLogger(logger).warning(f"key %s and {KEY}", KEY)  # noqa: G004 - simulates a careless log call

    assert "key sk_*** and sk_***" in written.getvalue()
    assert KEY not in written.getvalue()


def test_key_in_a_traceback_is_redacted(written: io.StringIO) -> None:
    try:
        raise ValueError(f"bad header Bearer {KEY}")  # noqa: TRY301 - the test needs a traceback
    except ValueError:
        logging.getLogger("remembrancer").exception("failed")

    assert "bad header Bearer sk_***" in written.getvalue()
    assert KEY not in written.getvalue()


def test_uvicorn_logs_go_through_the_redacting_handler(written: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").error("logged once")

    assert len(re.findall("logged once", written.getvalue())) == 1
    assert any(isinstance(f, Redaction) for f in logging.root.handlers[0].filters)


def test_strings_that_resemble_keys_are_not_redacted() -> None:
    assert redact("task_1 sk_ sk_12 ask_me") == "task_1 sk_ sk_12 ask_me"
