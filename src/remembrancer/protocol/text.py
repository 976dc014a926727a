"""Text and times of messages: valid Unicode without NUL, and times valid in every time zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    StringConstraints,
    WithJsonSchema,
)

from .line import says_none

# A character that is not white space: for Python, some control characters are.
NOT_BLANK = r"[^\s\x1c-\x1f\x85]"

# Lone surrogates need no rule: pydantic rejects them.
Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]

_CHARACTERS_PER_TOKEN = 4  # of Latin text
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def _is_rfc_3339(value: Any) -> Any:
    # pydantic also reads "1700000000" as a time, even in strict mode
    if isinstance(value, datetime) or (isinstance(value, str) and _RFC_3339.fullmatch(value)):
        return value
    raise ValueError("a time must be a string in RFC 3339, such as 2026-03-01T09:30:00Z")


def _in_range(moment: datetime) -> datetime:
    # on the first and last day of the calendar, a shift to another time zone would overflow
    if not _FIRST <= moment <= _LAST:
        raise ValueError("the time is out of range")
    return moment


Moment = Annotated[
    AwareDatetime,
    Field(strict=False),  # strings are parsed after `_is_rfc_3339`
    BeforeValidator(_is_rfc_3339),
    AfterValidator(_in_range),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


def day_of(ms: int, offset_minutes: int = 0) -> date:
    """Return the date of a time (ms since 1970) in a zone, minutes east of UTC. Default: UTC."""
    return (datetime.fromtimestamp(ms / 1000, UTC) + timedelta(minutes=offset_minutes)).date()


def tokens(text: str) -> int:
    """Return the approximate number of tokens of a text.

    Four characters are one token; characters beyond Latin scripts count as one each.
    """
    wide = sum(1 for character in text if ord(character) >= 0x0590)
    return -(-(len(text) - wide) // _CHARACTERS_PER_TOKEN) + wide


def beginning(text: str, most: int) -> str:
    """Return the beginning of a text, at most `most` characters, ending in … if it was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def rfc3339(ms: int) -> str:
    """Return a time (ms since 1970) in RFC 3339, UTC, with milliseconds."""
    return (
        datetime.fromtimestamp(ms / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


def says_nothing(text: str | None) -> bool:
    """Return True if a text is absent or only white space."""
    return text is None or not text.strip()


def is_placeholder(text: str | None) -> bool:
    """Return True if a text is absent, blank, or only says that there is nothing to say."""
    return text is None or says_none(text)


def _is_not_blank(text: str) -> str:
    if says_nothing(text):
        raise ValueError("this must not be blank")
    return text


# a text that is not blank, with the rule in its schema
Telling = Annotated[
    Text,
    AfterValidator(_is_not_blank),
    Field(min_length=1, json_schema_extra={"allOf": [{"pattern": NOT_BLANK}]}),
]


def _is_no_placeholder(text: str) -> str:
    if is_placeholder(text):
        raise ValueError("this must say something: leave the whole out if there is nothing to say")
    return text


# characters beside which a text must have others to say something
EMPTY_PATTERN = r"\s.\u2026!\"'`()\[\]<>\u2013\u2014_*-"
# a text that is not blank and no word such as "none"
Saying = Annotated[
    Text,
    AfterValidator(_is_no_placeholder),
    Field(min_length=1, json_schema_extra={"allOf": [{"pattern": f"[^{EMPTY_PATTERN}]"}]}),
]
