"""Where the log goes, and that no key goes with it."""

from __future__ import annotations

import logging
import re
import sys

_KEY = re.compile(r"sk_[0-9a-fA-F]{6,}")
_FORMAT = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


def redact(text: str) -> str:
    """The text with every API key in it made unreadable."""
    return _KEY.sub("sk_***", text)


class Redaction(logging.Filter):
    """Takes keys out of a record before any handler writes it:

    out of its message, its values and its trace.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true: the record is changed, never dropped."""
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = _FORMAT.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


def start_logging(level: str) -> None:
    """One handler, on standard error, for every logger of the process, the web server's included."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMAT)
    handler.addFilter(Redaction())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in (
        "uvicorn",
        "uvicorn.error",
        "uvicorn.access",
    ):  # their own handlers, if something gave them any, do not redact
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
