"""What a claim can say, as values that compare:

a number with its unit, a time of day, a date, a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

Kind = Literal["number", "date", "name", "url"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its unit.

    More than one reading where the writing leaves it open: 1,250 may be 1.25 where commas are
    decimal.
    """

    readings: frozenset[Fraction]  # as written, before the unit
    dimension: str | None = None
    factor: Fraction = Fraction(1)

    @property
    def amounts(self) -> frozenset[Fraction]:
        """The readings in the dimension's base unit."""
        return frozenset(reading * self.factor for reading in self.readings)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day:

    minutes since midnight, two where nothing tells morning from evening. Written as 1h30 it may be
    a duration.
    """

    minutes: frozenset[int]
    seconds: int | None = None  # as a duration


class When(NamedTuple):
    """A day, or what is known of it; or a stretch of days, first and last included."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None  # Monday is 0
    stretch: tuple[date, date] | None = None

    @property
    def exact(self) -> date | None:
        """The day, where it is one and exists."""
        if self.year is None or self.month is None or self.day is None:
            return None
        return day_of(self.year, self.month, self.day)


@dataclass(frozen=True, slots=True)
class Dates:
    """A date: all it may mean. `next Friday` said on a Wednesday may be either of two."""

    options: tuple[When, ...]
    year_said: int | None = (
        None  # of the moment it was said: what has no year is of this one or a neighbour
    )


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text that is the same or is not:

    an address, a version, a number of a document; normalised.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name: the words that must be there, normalised; those at the beginning of a sentence are
    left out.
    """

    words: tuple[str, ...]
    unspaced: bool = False  # in a writing without spaces: found anywhere in the text


Value: TypeAlias = Quantity | Clock | Dates | Verbatim | Name


@dataclass(frozen=True, slots=True)
class Claim:
    """Something specific that a text says: `text[start:end]`."""

    kind: Kind
    start: int
    end: int
    value: Value
    also: Dates | None = None  # what "in three days" says besides
    weak: bool = (
        False  # is compared where a ref stands, but needs none: two options, today, 1. in a list
    )


def day_of(year: int, month: int, day: int) -> date | None:
    """A day of the calendar, or None where there is none."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def date_claim(day: date) -> When:
    """Exactly that day."""
    return When(day.year, day.month, day.day)


def shift(day: date, days: int) -> date:
    """So many days later; the calendar's end is not passed."""
    try:
        return day + timedelta(days)
    except OverflowError:
        return day
