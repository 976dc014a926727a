"""The values of claims, which can be compared: quantities, times of day, dates, names, texts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

Kind = Literal["number", "date", "name", "url"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its unit.

    An ambiguous notation has several readings: 1,250 may be 1.25 in a language with decimal commas.
    """

    readings: frozenset[Fraction]  # as written, before the unit
    dimension: str | None = None
    factor: Fraction = Fraction(1)

    @property
    def amounts(self) -> frozenset[Fraction]:
        """Return the readings in the dimension's base unit."""
        return frozenset(reading * self.factor for reading in self.readings)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day in minutes since midnight; two values if it may be a.m. or p.m.

    The notation 1h30 may also be a duration.
    """

    minutes: frozenset[int]
    seconds: int | None = None  # as a duration


class PartialDate(NamedTuple):
    """A date of which some parts may be unknown, or a period of days (both ends included)."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None  # Monday is 0
    period: tuple[date, date] | None = None

    @property
    def exact(self) -> date | None:
        """Return the calendar day, or None if it is incomplete or does not exist."""
        if self.year is None or self.month is None or self.day is None:
            return None
        return calendar_date(self.year, self.month, self.day)


@dataclass(frozen=True, slots=True)
class Dates:
    """A date with all its possible meanings: `next Friday` on a Wednesday may be either of two."""

    options: tuple[PartialDate, ...]
    # Year of the text. A date without a year is within one year of it.
    year_said: int | None = None


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A normalized text that is compared for equality: an address, a version, a code."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name: the normalized words that an event must contain.

    A word at the beginning of a sentence is left out, since its capital may not mean a name.
    """

    words: tuple[str, ...]
    unspaced: bool = False  # in a script without spaces: matches anywhere in the text


Value: TypeAlias = Quantity | Clock | Dates | Verbatim | Name


@dataclass(frozen=True, slots=True)
class Claim:
    """A specific statement of a text: `text[start:end]`."""

    kind: Kind
    start: int
    end: int
    value: Value
    also: Dates | None = None  # the date that "in three days" implies
    # Needs no ref, but is checked if it has one: two options, today, 1. in a list.
    weak: bool = False


def calendar_date(year: int, month: int, day: int) -> date | None:
    """Return a calendar day, or None if it does not exist."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def exact_date(day: date) -> PartialDate:
    """Return a complete partial date for a day."""
    return PartialDate(day.year, day.month, day.day)


def shift(day: date, days: int) -> date:
    """Return the day this many days later, or the same day if that exceeds the calendar."""
    try:
        return day + timedelta(days)
    except OverflowError:
        return day
