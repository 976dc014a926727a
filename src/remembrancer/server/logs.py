"""Logging to standard error as text or as JSON lines, with API keys redacted."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime

_KEY = re.compile(r"sk_[0-9a-fA-F]{6,}")
_FORMAT = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


def redact(text: str) -> str:
    """Replace every API key in a text."""
    return _KEY.sub("sk_***", text)


class Redaction(logging.Filter):
    """A filter that redacts keys in messages, arguments and tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record. Return True: records are never dropped."""
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = _FORMAT.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object on one line.

    `time` is RFC 3339 in UTC. A request in the access log also has `request_id`, `method`, `path`,
    `status` and `duration_ms`; a record with a traceback has `exception`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_text:
            line["exception"] = record.exc_text
        return redact(json.dumps(line, ensure_ascii=False))


def start_logging(level: str, layout: str = "text") -> None:
    """Configure one handler on standard error for every logger, including the web server's.

    `layout` is `text` or `json`.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if layout == "json" else _FORMAT)
    handler.addFilter(Redaction())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):  # their own handlers don't redact
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
