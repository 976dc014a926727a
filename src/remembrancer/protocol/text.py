"""Text and times as they may travel:

valid Unicode without NUL, and moments that exist in every time zone.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    StringConstraints,
    WithJsonSchema,
)

# A lone surrogate needs no rule of ours: pydantic refuses it in every text.
Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]

_CHARACTERS_PER_TOKEN = 4  # of Latin text
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def _spelled(value: Any) -> Any:
    # pydantic also reads "1700000000" as a moment, even in strict mode
    if isinstance(value, datetime) or (isinstance(value, str) and _RFC_3339.fullmatch(value)):
        return value
    raise ValueError("a time is a text as RFC 3339 has it, such as 2026-03-01T09:30:00Z")


def _in_reach(moment: datetime) -> datetime:
    # the first and last day of the calendar have no name in some time zones: shifting to UTC would
    # overflow
    if not _FIRST <= moment <= _LAST:
        raise ValueError("the time is out of range")
    return moment


Moment = Annotated[
    AwareDatetime,
    Field(strict=False),  # so that text is read after `_spelled` has looked at it
    BeforeValidator(_spelled),
    AfterValidator(_in_reach),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


def day_of(ms: int) -> date:
    """The day of a time (ms since 1970), in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).date()


def tokens(text: str) -> int:
    """About how many tokens a text takes:

    four characters are one, and each beyond Latin is one of its own.
    """
    wide = sum(1 for character in text if ord(character) >= 0x0590)
    return -(-(len(text) - wide) // _CHARACTERS_PER_TOKEN) + wide


def beginning(text: str, most: int) -> str:
    """The beginning of a text, with a mark where more follows: at most so many characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def rfc3339(ms: int) -> str:
    """A time as RFC 3339 in UTC, to the millisecond."""
    return (
        datetime.fromtimestamp(ms / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


def says_nothing(text: str | None) -> bool:
    """Return True if a text is absent or only white space."""
    return text is None or not text.strip()


def _says_something(text: str) -> str:
    if says_nothing(text):
        raise ValueError("this must say something, not only white space")
    return text


# a text that must say something; the rule stands beside the pattern that every text has
Telling = Annotated[
    Text,
    AfterValidator(_says_something),
    Field(min_length=1, json_schema_extra={"allOf": [{"pattern": r"\S"}]}),
]
