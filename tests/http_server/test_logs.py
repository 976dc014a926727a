"""Keys are redacted in logs."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator

import pytest

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
