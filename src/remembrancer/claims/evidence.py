"""What a cited event says, made ready to be asked whether it holds a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import product

from ..search.text.analysis import terms
from ..search.text.languages import BY_CODE, stem
from .extract import claims_in, language_of, plain
from .names import plain_word
from .values import Claim, Clock, Dates, Name, Quantity, Verbatim, When, date_claim, shift

_WORD = re.compile(r"[^\W_\u3400-\u9fff]+(?:['’][^\W\d_]+)?")
_YEARS_APART_MAX = 1  # a date without a year is of the year it was said in, or a neighbour
_SHOWN_MAX = 3
_BEFORE_ADDRESS = frozenset({"", " ", "\n", "(", "<", '"', "'", "`"})
_GOES_ON = re.compile(r"[\w/%=&@-]|[.?#:]\w", re.ASCII)
RUSSIAN = BY_CODE["ru"].number
_CYRILLIC = re.compile("[\u0400-\u052f]")


class EventEvidence:
    """One event: its text, and the day to which its yesterday and tomorrow are to be counted."""

    def __init__(self, event_id: str, text: str, day: date) -> None:
        self.event_id, self.day = event_id, day
        self.text = plain(text)

    @cached_property
    def _claims(self) -> list[Claim]:
        return claims_in(self.text, self.day, language_of(self.text), generous=True)

    @cached_property
    def _amounts(self) -> set[tuple[str | None, Fraction]]:
        return {(q.dimension, amount) for q in self._quantities() for amount in q.amounts}

    @cached_property
    def _dimensions(self) -> set[str | None]:
        return {dimension for dimension, _ in self._amounts}

    @cached_property
    def _bare(self) -> set[Fraction]:
        """Every number as written, its unit aside."""
        return {reading for q in self._quantities() for reading in q.readings}

    @cached_property
    def _seconds(self) -> set[Fraction]:
        written = {Fraction(c.seconds) for c in self._clocks if c.seconds is not None}
        return written | {amount for dimension, amount in self._amounts if dimension == "time"}

    @cached_property
    def _clocks(self) -> list[Clock]:
        return [claim.value for claim in self._claims if isinstance(claim.value, Clock)]

    @cached_property
    def _dates(self) -> list[When]:
        said = [claim.value for claim in self._claims if isinstance(claim.value, Dates)]
        said += [claim.also for claim in self._claims if claim.also is not None]
        return [option for one in said for option in one.options]

    @cached_property
    def _facets(self) -> set[When]:
        """Everything that the dates of the event tell, in whole or in part, so that a date asked
        for is one look.
        """
        return {
            facet
            for when in {date_claim(self.day), *self._dates}
            for facet in facets(when, self.day.year)
        }

    @cached_property
    def _numbers_of_dates(self) -> set[Fraction]:
        return {
            Fraction(part)
            for when in self._dates
            for part in (when.year, when.month, when.day)
            if part is not None
        }

    @cached_property
    def _words(self) -> set[str]:
        found: set[str] = set()
        for match in _WORD.finditer(self.text):
            word = plain_word(match[0])
            found.add(word)
            if _CYRILLIC.match(word):
                found.add(stem(word, RUSSIAN))
        return found

    @cached_property
    def terms(self) -> set[int]:
        """The words that carry meaning, as search compares them."""
        return terms(self.text)

    @cached_property
    def _lower(self) -> str:
        return self.text.lower()

    @cached_property
    def _urls(self) -> set[str]:
        return {
            claim.value.text
            for claim in self._claims
            if claim.kind == "url" and isinstance(claim.value, Verbatim)
        }

    @cached_property
    def _verbatim(self) -> set[str]:
        return {claim.value.text for claim in self._claims if isinstance(claim.value, Verbatim)}

    def _quantities(self) -> Iterator[Quantity]:
        return (claim.value for claim in self._claims if isinstance(claim.value, Quantity))

    def holds(self, claim: Claim) -> bool:
        """Whether the event says what the claim says:

        numbers and dates by value, names and addresses by text.
        """
        value = claim.value
        if isinstance(value, Quantity):
            return self._holds_quantity(value) or (
                claim.also is not None and self._holds_dates(claim.also)
            )
        if isinstance(value, Clock):
            return self._holds_clock(value)
        if isinstance(value, Dates):
            return self._holds_dates(value)
        if isinstance(value, Name):
            return all(
                word in self.text if value.unspaced else self._has_word(word)
                for word in value.words
            )
        if claim.kind == "url":
            return value.text in self._urls or self._has_address(value.text)
        return value.text in self._verbatim or self._has_text(value.text)

    def _holds_quantity(self, value: Quantity) -> bool:
        if value.dimension is not None:
            if any((value.dimension, amount) in self._amounts for amount in value.amounts):
                return True
            if value.dimension == "time" and not value.amounts.isdisjoint(self._seconds):
                return True
            # "1,200 litres, and we used 90": the unit is told elsewhere in the event
            return value.dimension in self._dimensions and any(
                (None, reading) in self._amounts for reading in value.readings
            )
        return not value.readings.isdisjoint(self._bare) or not value.readings.isdisjoint(
            self._numbers_of_dates
        )

    def _holds_clock(self, value: Clock) -> bool:
        if any(not value.minutes.isdisjoint(other.minutes) for other in self._clocks):
            return True
        hours = {Fraction(minutes, 60) for minutes in value.minutes}  # "at 9" tells no unit
        bare = {q for dimension, q in self._amounts if dimension is None}
        return (
            value.seconds is not None and value.seconds in self._seconds
        ) or not hours.isdisjoint(bare)

    def _holds_dates(self, value: Dates) -> bool:
        if any(self._tells(option) for option in value.options):
            return True
        years = {Fraction(w.year) for w in value.options if w.year is not None and w.month is None}
        return not years.isdisjoint(self._bare)

    def _tells(self, wanted: When) -> bool:
        if wanted in self._facets:
            return True
        return wanted.stretch is not None and any(
            date_claim(shift(wanted.stretch[0], days)) in self._facets for days in range(7)
        )

    def _has_word(self, word: str) -> bool:
        """The word itself, with or without an ending of possession; Russian in any case."""
        if word in self._words or (
            len(word) > 3 and (word.removesuffix("s") in self._words or f"{word}s" in self._words)
        ):
            return True
        return bool(_CYRILLIC.match(word)) and stem(word, RUSSIAN) in self._words

    def _has_text(self, text: str) -> bool:
        at = self._lower.find(text)
        while at >= 0:
            around = (
                self._lower[max(0, at - 1) : at] + self._lower[at + len(text) : at + len(text) + 1]
            )
            if not any(c.isascii() and c.isalnum() for c in around):
                return True
            at = self._lower.find(text, at + 1)
        return False

    def _has_address(self, url: str) -> bool:
        """A URL that the event has without its scheme: by itself, not as a part of another."""
        at = self.text.find(url)
        while at >= 0:
            behind = self.text[at + len(url) : at + len(url) + 2]
            if self.text[max(0, at - 1) : at] in _BEFORE_ADDRESS and not _GOES_ON.match(behind):
                return True
            at = self.text.find(url, at + 1)
        return False

    def says_instead(self, claim: Claim) -> list[str]:
        """What the event says of that kind, in its own words:

        for numbers of the same unit, and dates.
        """
        value = claim.value
        if isinstance(value, Dates):
            alike = [one for one in self._claims if isinstance(one.value, Dates)]
        elif isinstance(value, Clock):
            alike = [one for one in self._claims if isinstance(one.value, Clock)]
        elif isinstance(value, Quantity):
            alike = [
                one
                for one in self._claims
                if isinstance(one.value, Quantity) and one.value.dimension == value.dimension
            ]
        else:
            return []
        return list(dict.fromkeys(self.text[one.start : one.end] for one in alike))[:_SHOWN_MAX]


def facets(said: When, year_said: int) -> Iterator[When]:
    """All that a date tells, in whole or in part.

    Without a year it is of the year in which it was said, or of one beside it.
    """
    if said.stretch is not None:
        yield said
        return
    near = range(year_said - _YEARS_APART_MAX, year_said + _YEARS_APART_MAX + 1)
    years = [said.year] if said.year is not None else list(near) if said.month is not None else []
    for year in [*years, None]:
        exact = None if year is None else said._replace(year=year).exact
        weekday = exact.weekday() if exact else said.weekday
        for month, day, named in product({said.month, None}, {said.day, None}, {weekday, None}):
            yield When(year, month, day, named)
    if said.exact:
        yield When(weekday=said.exact.weekday())
