"""Times as other products write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

MS_FROM = 100_000_000_000  # a larger number is in ms: as seconds it would be after the year 5138
YEAR_FIRST, YEAR_LAST = 2, 9998  # the first and last year overflow in other time zones
_FRACTION = re.compile(r"(\.\d{6})\d+")  # more digits than microseconds


class TimeUnknown(ValueError):
    """A time that cannot be read. The message quotes its beginning."""


def moment(value: object) -> datetime | None:
    """Return a time in UTC or with its own offset; None for an absent or empty value.

    Reads ISO 8601 with any number of fractional digits, a date alone, and seconds or milliseconds
    since 1970 as a number or as digits. A time without an offset is in UTC. Raises TimeUnknown.
    """
    if value is None or value == "":
        return None
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        raise TimeUnknown(f"cannot read a time of type {type(value).__name__}")
    try:
        when = _written(value.strip()) if isinstance(value, str) else _since_1970(float(value))
    except (ValueError, OverflowError, OSError) as error:
        quoted = repr(value[:40]) if isinstance(value, str) else "of this number"
        raise TimeUnknown(f"cannot read the time {quoted}") from error
    if not YEAR_FIRST <= when.year <= YEAR_LAST:
        raise TimeUnknown(f"the year {when.year} is out of range")
    return when


def start_before(start: datetime | None, end: datetime | None) -> datetime | None:
    """Return the start of a period, 1 ms before its end if it is the time of a later record."""
    if start is None or end is None or start < end:
        return start
    return end - timedelta(milliseconds=1)


def _since_1970(number: float) -> datetime:
    seconds = number / 1000 if abs(number) > MS_FROM else number
    return datetime.fromtimestamp(seconds, UTC)


def _written(text: str) -> datetime:
    if re.fullmatch(r"-?\d{9,14}(\.\d{1,9})?", text, re.ASCII):
        return _since_1970(float(text))
    parsed = datetime.fromisoformat(_FRACTION.sub(r"\1", text).replace(" UTC", "+00:00"))
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
