"""Extract the specific claims of a text: numbers with units, dates, names, URLs.

Each finder blanks out its claims before the next one runs, so that no claim is found twice: URLs,
addresses and versions, dates, times of day, codes, numbers, names. Takes linear time.
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
from .tags import blank_out
from .times_of_day import clocks
from .values import Claim

_SAMPLE_CHARACTERS = 4_000  # of a text that determine its language
# Each replacement is one character, so that offsets stay: blanks, minus signs, full-width forms.
_UNIFIED_CHARACTERS = str.maketrans(
    dict.fromkeys("\xa0\u2007\u2009\u202f\u3000\t", " ")
    | dict.fromkeys("‐‑−", "-")
    | {
        chr(0xFF01 + n): chr(0x21 + n)
        for n in range(94)
        if chr(0x21 + n) in "%()+-./0123456789:@" or chr(0x21 + n).isalpha()
    }
    | {"\u066b": ".", "\u2024": "."}
)


def unify_characters(text: str) -> str:
    """Replace look-alike characters. Offsets stay the same."""
    return text.translate(_UNIFIED_CHARACTERS)


def language_of(text: str) -> str:
    """Return the language code of a text, detected from its beginning."""
    sample = text[:_SAMPLE_CHARACTERS]
    return detect(words(sample), sample).code


def claims_in(text: str, day: date, language: str, *, generous: bool = False) -> list[Claim]:
    """Return the claims of a text in order. Its characters must be unified.

    `day` is the day of the text. `generous` also accepts ambiguous numbers; use it for texts that
    are searched for a value.
    """
    result: list[Claim] = []

    def take(claims: Iterable[Claim]) -> None:
        nonlocal text
        new: list[Claim] = []
        for claim in sorted(claims, key=lambda claim: (claim.start, -claim.end)):
            # The two ends of a range have the same span.
            is_same_span = bool(new) and (claim.start, claim.end) == (new[-1].start, new[-1].end)
            if is_same_span or not new or claim.start >= new[-1].end:
                new.append(claim)
        result.extend(new)
        text = blank_out(text, [(claim.start, claim.end) for claim in new])

    take(urls(text))
    take(document_numbers(text))
    calendar_dates: list[Claim] = []
    _add_without_overlap(calendar_dates, dates(text, day))
    take(calendar_dates)
    take(clocks(text))
    take(codes(text))
    take(relative_dates(text, day))
    before = text
    take(numbers(text, language, generous=generous))
    number_claims = [resolve(before, claim, day) for claim in result if claim.kind == "number"]
    result = [claim for claim in result if claim.kind != "number"] + number_claims
    take(names(text, language))
    return sorted(result, key=lambda claim: (claim.start, claim.end))


def _add_without_overlap(result: list[Claim], claims: Iterable[Claim]) -> None:
    """Append the claims that do not overlap an earlier one."""
    span_at: dict[int, tuple[int, int]] = {}
    for claim in claims:
        span = (claim.start, claim.end)
        if all(span_at.get(offset, span) == span for offset in range(*span)):
            span_at |= dict.fromkeys(range(*span), span)
            result.append(claim)
