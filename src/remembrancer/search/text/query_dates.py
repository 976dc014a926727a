"""Dates in queries: an ISO date, or a month with a day or a year, in the languages of the table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .languages import LANGUAGES, MONTH_WORDS, Language, normalize

_ISO_DATE = re.compile(r"\b((?:19|20)\d\d)-(\d\d?)(?:-(\d\d?))?\b")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_UNSPACED_DATE = re.compile(r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(?:(\d{1,2})\s*[日일])?")


@dataclass(frozen=True, slots=True)
class DateHint:
    """A date in a query: year, month and day of the month, each optional."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


def date_in(
    query_words: Sequence[str], text: str, candidates: Sequence[Language]
) -> DateHint | None:
    """Return the date in a query, if it names a month or a full date.

    `query_words` are the normalised words of `text`, `candidates` its possible languages.
    """
    if iso := _ISO_DATE.search(text):
        month = int(iso[2])
        return (
            DateHint(int(iso[1]), month, int(iso[3]) if iso[3] else None)
            if 1 <= month <= 12
            else None
        )
    year = next(
        (int(word) for word in query_words if len(word) == 4 and _YEAR.fullmatch(word)), None
    )
    for place, word in enumerate(query_words):
        if word not in MONTH_WORDS:
            continue
        near = [
            query_words[i] for i in (place - 1, place + 1, place - 2) if 0 <= i < len(query_words)
        ]
        days = [
            int(day[1])
            for other in near
            if (day := _DAY.fullmatch(other)) and 1 <= int(day[1]) <= 31
        ]
        # A month name of another language counts only next to a number: "mars" is also a planet.
        languages = LANGUAGES if days else candidates
        month = next(
            (language.months[word] for language in languages if word in language.months), 0
        )
        if month and not (word == "may" and "May" not in text):
            return DateHint(year, month, next(iter(days), None))
    if text.isascii():
        return None
    if unspaced := _UNSPACED_DATE.search(normalize(text)):
        month = int(unspaced[2])
        named_year, named_day = unspaced[1], unspaced[3]
        return (
            DateHint(
                int(named_year) if named_year else year,
                month,
                int(named_day) if named_day else None,
            )
            if 1 <= month <= 12
            else None
        )
    return None
