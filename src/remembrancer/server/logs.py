"""Logging to standard error, with API keys redacted."""

from __future__ import annotations

import logging
import re
import sys

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


def start_logging(level: str) -> None:
    """Configure one handler on standard error for every logger, including the web server's."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMAT)
    handler.addFilter(Redaction())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):  # their own handlers don't redact
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
