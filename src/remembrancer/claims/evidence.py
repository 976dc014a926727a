"""The values that a cited event contains, indexed to check claims against them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import islice, product

from ..protocol.patterns import regex
from ..search.text.analysis import terms
from ..search.text.languages import BY_CODE, stem
from .extract import claims_in, language_of, normalize_name, sentences, unify_characters
from .statements import Statement
from .values import Claim, Clock, Dates, Name, PartialDate, Quantity, Verbatim, exact_date, shift

_WORD = regex(r"[^\W_\u3400-\u9fff]+(?:['’][^\W\d_]+)?")
_YEAR_DISTANCE_MAX = 1  # a date without a year is within one year of the event
_ALTERNATIVES_MAX = 3
_BEFORE_ADDRESS = frozenset({"", " ", "\n", "(", "<", '"', "'", "`"})
_URL_CONTINUES = regex(r"[\w/%=&@-]|[.?#:]\w", re.ASCII)
RUSSIAN = BY_CODE["ru"].number
STATEMENTS_MAX = 5_000  # sentences of one event that are compared with a sentence of a draft
STATEMENT_CHARACTERS_MAX = 400  # of such a sentence
STATEMENTS_COMPARED_MAX = 10  # the most similar ones
_PLACES_VISITED_MAX = 10_000  # of words in sentences, for one sentence of a draft
_WORD_OR_SIGN = regex(r"[^\W_\u3400-\u9fff]+|[\u3400-\u9fff]")
_BEGINNING_CHARACTERS = 4
_CYRILLIC = regex("[\u0400-\u052f]")


class EventEvidence:
    """One event: its text, and the day to which its relative dates refer."""

    def __init__(self, event_id: str, text: str, day: date) -> None:
        self.event_id, self.day = event_id, day
        self.text = unify_characters(text)

    @cached_property
    def _claims(self) -> list[Claim]:
        return claims_in(self.text, self.day, self.language, generous=True)

    @cached_property
    def language(self) -> str:
        """Return the code of the language of the text."""
        return language_of(self.text)

    @cached_property
    def _statements(self) -> list[Statement]:
        """Return the sentences of the text that are no questions, with their claims."""
        values = [claim for claim in self._claims if claim.kind != "name"]
        starts = [claim.start for claim in values]
        unbreakable = [(claim.start, claim.end) for claim in values]
        return [
            Statement(
                self.text[one.start : one.end],
                values[bisect_left(starts, one.start) : bisect_left(starts, one.end)],
                one.start,
            )
            for one in islice(sentences(self.text, (), unbreakable), STATEMENTS_MAX)
            if not one.is_question and one.end - one.start <= STATEMENT_CHARACTERS_MAX
        ]

    @cached_property
    def _statements_of_word(self) -> dict[str, list[int]]:
        """Return the places in `_statements` of each beginning of a word."""
        places: dict[str, list[int]] = {}
        for place, statement in enumerate(self._statements):
            for word in _beginnings(statement.text):
                places.setdefault(word, []).append(place)
        return places

    def statements_like(self, text: str) -> list[tuple[int, Statement]]:
        """Return the sentences with most words of a text, and the number of those words.

        At most ten sentences, each with two words and half of the words of the shorter one.
        """
        index, own_words = self._statements_of_word, _beginnings(text)
        shared: Counter[int] = Counter()
        visited = 0
        for places in sorted((index.get(word, []) for word in own_words), key=len):
            visited += len(places)
            if visited > _PLACES_VISITED_MAX:
                break  # the remaining words are in so many sentences that they distinguish none
            shared.update(places)
        similar = []
        for place, words in shared.most_common(STATEMENTS_COMPARED_MAX):
            statement = self._statements[place]
            shorter = min(len(own_words), len(_beginnings(statement.text)))
            if words >= 2 and 2 * words >= shorter:
                similar.append((words, statement))
        return similar

    @cached_property
    def _amounts(self) -> set[tuple[str | None, Fraction]]:
        return {(q.dimension, amount) for q in self._quantities() for amount in q.amounts}

    @cached_property
    def _dimensions(self) -> set[str | None]:
        return {dimension for dimension, _ in self._amounts}

    @cached_property
    def _plain_numbers(self) -> set[Fraction]:
        """Return the numbers as written, without their units."""
        return {reading for q in self._quantities() for reading in q.readings}

    @cached_property
    def _seconds(self) -> set[Fraction]:
        clock_seconds = {Fraction(c.seconds) for c in self._clocks if c.seconds is not None}
        return clock_seconds | {
            amount for dimension, amount in self._amounts if dimension == "time"
        }

    @cached_property
    def _clocks(self) -> list[Clock]:
        return [claim.value for claim in self._claims if isinstance(claim.value, Clock)]

    @cached_property
    def _dates(self) -> list[PartialDate]:
        dates = [claim.value for claim in self._claims if isinstance(claim.value, Dates)]
        dates += [claim.also for claim in self._claims if claim.also is not None]
        return [option for date in dates for option in date.options]

    @cached_property
    def _facets(self) -> set[PartialDate]:
        """Return all partial dates that the event implies, for checks by one lookup."""
        return {
            facet
            for when in {exact_date(self.day), *self._dates}
            for facet in facets(when, self.day.year)
        }

    @cached_property
    def _date_numbers(self) -> set[Fraction]:
        return {
            Fraction(part)
            for when in self._dates
            for part in (when.year, when.month, when.day)
            if part is not None
        }

    @cached_property
    def _words(self) -> set[str]:
        words: set[str] = set()
        for match in _WORD.finditer(self.text):
            word = normalize_name(match[0])
            words.add(word)
            if _CYRILLIC.match(word):
                words.add(stem(word, RUSSIAN))
        return words

    @cached_property
    def terms(self) -> set[int]:
        """Return the hashes of the terms of the text, as search uses them."""
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

    def supports(self, claim: Claim) -> bool:
        """Return True if the event contains the claim.

        Numbers and dates are compared by value, names and addresses by text.
        """
        value = claim.value
        if isinstance(value, Quantity):
            return self._has_quantity(value) or (
                claim.also is not None and self._has_date(claim.also)
            )
        if isinstance(value, Clock):
            return self._has_clock(value)
        if isinstance(value, Dates):
            return self._has_date(value)
        if isinstance(value, Name):
            return all(
                word in self.text if value.unspaced else self._has_word(word)
                for word in value.words
            )
        if claim.kind == "url":
            return value.text in self._urls or self._has_address(value.text)
        return value.text in self._verbatim or self._has_text(value.text)

    def _has_quantity(self, value: Quantity) -> bool:
        if value.dimension is not None:
            if any((value.dimension, amount) in self._amounts for amount in value.amounts):
                return True
            if value.dimension == "time" and not value.amounts.isdisjoint(self._seconds):
                return True
            # "1,200 litres, and we used 90": the unit is elsewhere in the event
            return value.dimension in self._dimensions and any(
                (None, reading) in self._amounts for reading in value.readings
            )
        return not value.readings.isdisjoint(self._plain_numbers) or not value.readings.isdisjoint(
            self._date_numbers
        )

    def _has_clock(self, value: Clock) -> bool:
        if any(not value.minutes.isdisjoint(other.minutes) for other in self._clocks):
            return True
        hours = {Fraction(minutes, 60) for minutes in value.minutes}  # "at 9" has no unit
        unitless = {q for dimension, q in self._amounts if dimension is None}
        return (
            value.seconds is not None and value.seconds in self._seconds
        ) or not hours.isdisjoint(unitless)

    def _has_date(self, value: Dates) -> bool:
        if any(self._implies_date(option) for option in value.options):
            return True
        years = {Fraction(w.year) for w in value.options if w.year is not None and w.month is None}
        return not years.isdisjoint(self._plain_numbers)

    def _implies_date(self, date: PartialDate) -> bool:
        if date in self._facets:
            return True
        return date.period is not None and any(
            exact_date(shift(date.period[0], days)) in self._facets for days in range(7)
        )

    def _has_word(self, word: str) -> bool:
        """Return True if the event has the word, its possessive or a Russian inflection of it."""
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
        """Return True if the event has the URL without its scheme, not as a part of another URL."""
        at = self.text.find(url)
        while at >= 0:
            following = self.text[at + len(url) : at + len(url) + 2]
            if self.text[max(0, at - 1) : at] in _BEFORE_ADDRESS and not _URL_CONTINUES.match(
                following
            ):
                return True
            at = self.text.find(url, at + 1)
        return False

    def alternatives(self, claim: Claim) -> list[str]:
        """Return excerpts with values of the same kind: dates, times, or the same unit."""
        value = claim.value
        if not isinstance(value, Dates | Clock | Quantity):
            return []
        similar = (other for other in self._claims if type(other.value) is type(value))
        excerpts = dict.fromkeys(
            self.text[other.start : other.end]
            for other in similar
            if getattr(other.value, "dimension", None) == getattr(value, "dimension", None)
        )
        return list(excerpts)[:_ALTERNATIVES_MAX]


def _beginnings(text: str) -> frozenset[str]:
    words = _WORD_OR_SIGN.findall(text.lower())
    return frozenset(word[:_BEGINNING_CHARACTERS] for word in words)


def facets(date_: PartialDate, year_said: int) -> Iterator[PartialDate]:
    """Yield the partial dates that a date implies.

    A date without a year may be in the year of the text, or one year before or after it.
    """
    if date_.period is not None:
        yield date_
        return
    years = {date_.year, None}
    if date_.year is None and date_.month is not None:
        years |= set(range(year_said - _YEAR_DISTANCE_MAX, year_said + _YEAR_DISTANCE_MAX + 1))
    for year in years:
        exact = None if year is None else date_._replace(year=year).exact
        weekday = exact.weekday() if exact else date_.weekday
        for month, day, weekday_ in product(
            {date_.month, None}, {date_.day, None}, {weekday, None}
        ):
            yield PartialDate(year, month, day, weekday_)
    if date_.exact:
        yield PartialDate(weekday=date_.exact.weekday())
