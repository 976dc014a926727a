"""The specific claims of a text: numbers with units, dates, names, URLs.

Each finder takes its share out of the text before the next one looks, so that nothing is found
twice: URLs, then addresses and versions, dates, times of day, words of letters and digits, numbers,
names. Time grows with the text and no faster.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from ..search.text.analysis import words
from ..search.text.languages import detect
from .addresses import codes, document_numbers, urls
from .dates import dates
from .names import names
from .numbers import numbers
from .relative_dates import relative_dates, resolve
from .tags import without
from .times_of_day import clocks
from .values import Claim

_SAMPLE_CHARACTERS = 4_000  # of a text that its language is told by
# One character each, so that places stay: blanks, minus signs, full-width forms.
_PLAIN = str.maketrans(
    dict.fromkeys("\xa0\u2007\u2009\u202f\u3000\t", " ")
    | dict.fromkeys("‐‑−", "-")
    | {
        chr(0xFF01 + n): chr(0x21 + n)
        for n in range(94)
        if chr(0x21 + n) in "%()+-./0123456789:@" or chr(0x21 + n).isalpha()
    }
    | {"\u066b": ".", "\u2024": "."}
)


def plain(text: str) -> str:
    """The text with look-alike characters unified, place by place."""
    return text.translate(_PLAIN)


def language_of(text: str) -> str:
    """The code of the language a text is in, told by its beginning."""
    sample = text[:_SAMPLE_CHARACTERS]
    return detect(words(sample), sample).code


def claims_in(text: str, day: date, language: str, *, generous: bool = False) -> list[Claim]:
    """The claims of a text that was made `plain`, in order.

    `day` is when it was said. `generous` is for texts in which a value is looked for: what may be a
    number is taken for one.
    """
    found: list[Claim] = []

    def take(claims: Iterable[Claim]) -> None:
        nonlocal text
        new: list[Claim] = []
        for claim in sorted(claims, key=lambda one: (one.start, -one.end)):
            same = bool(new) and (claim.start, claim.end) == (
                new[-1].start,
                new[-1].end,
            )  # both ends of a range
            if same or not new or claim.start >= new[-1].end:
                new.append(claim)
        found.extend(new)
        text = without(text, [(claim.start, claim.end) for claim in new])

    take(urls(text))
    take(document_numbers(text))
    by_pattern: list[Claim] = []
    _first_wins(by_pattern, dates(text, day))
    take(by_pattern)
    take(clocks(text))
    take(codes(text))
    take(relative_dates(text, day))
    before = text
    take(numbers(text, language, generous=generous))
    at_numbers = [resolve(before, claim, day) for claim in found if claim.kind == "number"]
    found = [claim for claim in found if claim.kind != "number"] + at_numbers
    take(names(text, language))
    return sorted(found, key=lambda one: (one.start, one.end))


def _first_wins(kept: list[Claim], claims: Iterable[Claim]) -> None:
    """Keep claims that overlap none kept before them: what was given first is the better one."""
    taken: dict[int, tuple[int, int]] = {}
    for claim in claims:
        span = (claim.start, claim.end)
        if all(taken.get(place, span) == span for place in range(*span)):
            taken |= dict.fromkeys(range(*span), span)
            kept.append(claim)
