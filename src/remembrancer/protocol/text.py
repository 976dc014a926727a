"""Text and times of messages: valid Unicode without NUL, and times valid in every time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from .line import says_none
from .recalled import imitated_line

# A character that is not white space: for Python, some control characters are.
NOT_BLANK = r"[^\s\x1c-\x1f\x85]"

# Lone surrogates need no rule: pydantic rejects them.
WITHOUT_NUL = r"^[^\x00]*$"
Text = Annotated[str, StringConstraints(pattern=WITHOUT_NUL)]

# Of character classes: control characters without and with line break and tab; marks, embeddings,
# overrides and isolates of the bidirectional algorithm (UAX 9), and separators of lines.
_CONTROL_AND_LINES = (r"\x00-\x1f\x7f-\x9f", r"\x00-\x08\x0b-\x1f\x7f-\x9f")
_BIDIRECTIONAL = r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CHARACTERS_PER_TOKEN = 4  # of Latin text
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


# Times without a zone that a message was read with, by field, as they were read; None: not noted
LOCAL_TIMES: ContextVar[dict[str, list[str]] | None] = ContextVar("LOCAL_TIMES", default=None)


@contextmanager
def local_times() -> Iterator[dict[str, list[str]]]:
    """Yield the times without a zone that are read in the block, by field, as they were read."""
    times: dict[str, list[str]] = {}
    token = LOCAL_TIMES.set(times)
    try:
        yield times
    finally:
        LOCAL_TIMES.reset(token)


def notes_on_times(times: dict[str, list[str]]) -> list[str]:
    """Return a note for each field whose times had no zone."""
    return [
        f"{name} has no zone and was read as local time: {first}."
        + (f" So were {len(more)} more." if more else "")
        for name, (first, *more) in sorted(times.items())
    ]


def _in_rfc_3339(value: Any, info: ValidationInfo) -> Any:
    """Return a time with its zone. One without, and a day, is local time."""
    # pydantic also reads "1700000000" as a time, even in strict mode
    is_text = isinstance(value, str)
    if is_text and _RFC_3339.fullmatch(value):
        return value
    try:
        if is_text and _LOCAL.fullmatch(value):
            value = datetime.fromisoformat(value.upper())
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - made local
        if isinstance(value, datetime):
            return value if value.tzinfo else _in_local_zone(value, info.field_name or "A time")
    except OverflowError:
        raise ValueError("the time is out of range") from None
    except ValueError:
        pass  # no day of the calendar
    raise ValueError("a time must be a string in RFC 3339, such as 2026-03-01T09:30:00Z")


def _in_local_zone(naive: datetime, name: str) -> datetime:
    moment = naive.astimezone()
    if (times := LOCAL_TIMES.get()) is not None:
        one = times.setdefault(name, [])
        one += [moment.isoformat()] if moment.isoformat() not in one else []
    return moment


def _in_range(moment: datetime) -> datetime:
    # on the first and last day of the calendar, a shift to another time zone would overflow
    if not _FIRST <= moment <= _LAST:
        raise ValueError("the time is out of range")
    return moment


@dataclass(frozen=True, slots=True)
class Readable:
    """Marks a text that people must read as it is: no control or bidirectional characters.

    Such characters hide parts of a text or turn it around. `has_lines` permits line breaks and
    tabs.
    """

    has_lines: bool = False

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Check the text after its other rules."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Replace the pattern of `Text`, which this one includes."""
        return {**handler(schema), "pattern": self._pattern}

    @property
    def _pattern(self) -> str:
        return f"^[^{_CONTROL_AND_LINES[self.has_lines]}{_BIDIRECTIONAL}]*$"

    def _check(self, text: str) -> str:
        if re.fullmatch(self._pattern, text, re.DOTALL) is None:
            lines = ", besides line breaks and tabs" if self.has_lines else ""
            raise ValueError(
                f"text must not contain control characters{lines}, or characters that change the "
                "direction of writing"
            )
        return text


Moment = Annotated[
    AwareDatetime,
    Field(strict=False),  # strings are parsed after `_in_rfc_3339`
    BeforeValidator(_in_rfc_3339),
    AfterValidator(_in_range),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


DAY_MS = 24 * 60 * 60 * 1000


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


def _imitates_no_line(text: str) -> str:
    if line := imitated_line(text):
        raise ValueError(
            f"this must not contain a line that begins like one of the service: {line}. Begin the "
            "line with another word, or leave out the brackets."
        )
    return text


# of texts that other agents read as lessons
UNLABELLED = AfterValidator(_imitates_no_line)

# a text that is not blank, with the rule in its schema
Telling = Annotated[
    Text,
    AfterValidator(_is_not_blank),
    Field(min_length=1, json_schema_extra={"allOf": [{"pattern": NOT_BLANK}]}),
]


def _is_no_placeholder(text: str) -> str:
    if is_placeholder(text):
        raise ValueError("must say something; it is blank or a word for nothing")
    return text


# characters beside which a text must have others to say something
EMPTY_PATTERN = r"\s.\u2026!\"'`()\[\]<>\u2013\u2014_*-"
# a text that is not blank and no word such as "none"
Saying = Annotated[
    Text,
    AfterValidator(_is_no_placeholder),
    Field(min_length=1, json_schema_extra={"allOf": [{"pattern": f"[^{EMPTY_PATTERN}]"}]}),
]
