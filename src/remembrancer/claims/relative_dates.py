"""Find relative dates: yesterday, next Friday, last month, in three days, 下周三."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from importlib import resources

from ..search.text.languages import normalize
from .values import Claim, Dates, PartialDate, Quantity, exact_date, shift

_TABLE = tomllib.loads(resources.files(__package__).joinpath("dates.toml").read_text("utf-8"))
_DAYS = {
    normalize(word.strip()): int(days)
    for days, words in _TABLE["days"].items()
    for word in words.split(",")
}
_WEEKDAYS = {
    normalize(word): int(day) for day, words in _TABLE["weekdays"].items() for word in words.split()
}
_OFFSETS = {
    normalize(word): int(offset)
    for offset, words in _TABLE["offsets"].items()
    for word in words.split()
}
_PERIODS = {
    normalize(word): kind for kind, words in _TABLE["periods"].items() for word in words.split()
}


def _one_of(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_SPACED = {
    kind: [word for word in table if ord(word[0]) < 0x3400]
    for kind, table in (("t", _OFFSETS), ("w", _WEEKDAYS), ("s", _PERIODS))
}
_OFFSET, _WEEKDAY, _PERIOD = (_one_of(_SPACED[kind]) for kind in "tws")
_DAY_WORD = re.compile(
    rf"(?<![^\W\d_])(?:{_one_of([word for word in _DAYS if ord(word[0]) < 0x3400])})(?![^\W\d_])"
    rf"|{_one_of([word for word in _DAYS if ord(word[0]) >= 0x3400])}",
    re.IGNORECASE,
)
_WEEKDAY_PHRASE = re.compile(
    rf"\b(?:(?P<offset>{_OFFSET})[ ])?(?P<weekday>{_WEEKDAY})s?"
    rf"(?:[ ](?:que viene|(?P<after>{_OFFSET})))?\b",
    re.IGNORECASE,
)
_PERIOD_PHRASE = re.compile(
    rf"\b(?:(?P<offset>{_OFFSET})[ ](?P<period>{_PERIOD})"
    rf"|(?P<period_2>{_PERIOD})[ ](?P<after>{_OFFSET}))\b",
    re.IGNORECASE,
)
_HAN = re.compile(
    r"(?P<offset>上上|下下|上个?|下个?|这个?|本)?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])"
    r"|(?P<offset_2>上个?|下个?|这个?|本)(?P<period>周|星期|月)|(?P<year>去|今|明)年"
)
_HAN_OFFSETS = {
    "上上": -2,
    "上": -1,
    "上个": -1,
    "这": 0,
    "这个": 0,
    "本": 0,
    "下": 1,
    "下个": 1,
    "下下": 2,
}
_AGO_BEFORE = re.compile(r"(?:\bvor|\bil y a|\bhace)[ ]$", re.IGNORECASE)
_AGO_AFTER = re.compile(r"[ ](?:ago|earlier|назад|атрас)\b|(?:以?前)", re.IGNORECASE)
_IN_BEFORE = re.compile(r"(?:\bin|\bdans|\ben|\bчерез)[ ]$", re.IGNORECASE)
_IN_AFTER = re.compile(r"[ ](?:from now|later)\b|(?:以?后|之后)", re.IGNORECASE)
_DAYS_OF_WEEK = "一二三四五六日"
_DAY_SECONDS = 86_400


def relative_dates(text: str, day: date) -> Iterator[Claim]:
    """Yield the relative dates of a text of that day, resolved to calendar dates."""
    for match in _DAY_WORD.finditer(text):
        yield _claim(match, day, exact_date(shift(day, _DAYS[normalize(match[0])])))
    for match in _WEEKDAY_PHRASE.finditer(text):
        offset = _OFFSETS.get(normalize(match["offset"] or match["after"] or ""))
        if "que viene" in match[0].lower():
            offset = 1
        yield _claim(
            match, day, *_weekday_dates(day, _WEEKDAYS[normalize(match["weekday"])], offset)
        )
    for match in _PERIOD_PHRASE.finditer(text):
        period = _PERIODS[normalize(match["period"] or match["period_2"])]
        yield _claim(
            match,
            day,
            _period_date(day, period, _OFFSETS[normalize(match["offset"] or match["after"])]),
        )
    for match in _HAN.finditer(text):
        if match["day"]:
            weekday = "一二三四五六日".find(match["day"].replace("天", "日"))
            yield _claim(match, day, *_han_weekday_dates(day, weekday, match["offset"]))
        elif match["year"]:
            yield _claim(
                match, day, PartialDate(year=day.year + {"去": -1, "今": 0, "明": 1}[match["year"]])
            )
        else:
            period = "month" if match["period"] == "月" else "week"
            yield _claim(match, day, _period_date(day, period, _HAN_OFFSETS[match["offset_2"]]))


def _claim(match: re.Match[str], day: date, *options: PartialDate) -> Claim:
    return Claim("date", match.start(), match.end(), Dates(options, day.year), weak=True)


def _weekday_dates(day: date, weekday: int, offset: int | None) -> list[PartialDate]:
    """Return the possible dates of a weekday: "next Friday" may be this week or the following."""
    days_ahead, days_behind = (weekday - day.weekday()) % 7, (day.weekday() - weekday) % 7
    coming, past = shift(day, days_ahead or 7), shift(day, -(days_behind or 7))
    if offset == 1:
        days = (
            [coming]
            if days_ahead == 0 or coming.isocalendar()[1] != day.isocalendar()[1]
            else [coming, shift(coming, 7)]
        )
    elif offset == -1:
        days = (
            [past]
            if days_behind == 0 or past.isocalendar()[1] != day.isocalendar()[1]
            else [past, shift(past, -7)]
        )
    else:
        return [
            PartialDate(weekday=weekday),
            *(exact_date(date) for date in ([coming, past] if days_ahead else [day])),
        ]
    return [exact_date(date) for date in days]


def _han_weekday_dates(day: date, weekday: int, offset: str | None) -> list[PartialDate]:
    if offset is None:
        return _weekday_dates(day, weekday, None)
    monday = shift(day, -day.weekday())
    return [exact_date(shift(monday, 7 * _HAN_OFFSETS[offset] + weekday))]


def _period_date(day: date, period: str, offset: int) -> PartialDate:
    if period == "year":
        return PartialDate(year=day.year + offset)
    if period == "month":
        month = day.year * 12 + day.month - 1 + offset
        return PartialDate(year=month // 12, month=month % 12 + 1)
    monday = shift(day, 7 * offset - day.weekday())
    return PartialDate(period=(monday, shift(monday, 6)))


def resolve(text: str, claim: Claim, day: date) -> Claim:
    """Add the date to a number of days, weeks, months or years: in three days, vor zwei Wochen."""
    value = claim.value
    if (
        not isinstance(value, Quantity)
        or value.dimension not in {"time", "months"}
        or len(value.readings) != 1
    ):
        return claim
    before, after = text[max(0, claim.start - 8) : claim.start], text[claim.end : claim.end + 10]
    sign = (
        -1
        if _AGO_BEFORE.search(before) or _AGO_AFTER.match(after)
        else 1
        if _IN_BEFORE.search(before) or _IN_AFTER.match(after)
        else 0
    )
    amount = next(iter(value.amounts))
    if not sign or abs(amount) > 10**9:
        return claim
    if value.dimension == "time":
        whole = amount / _DAY_SECONDS
        if whole.denominator != 1:
            return claim
        return replace(claim, also=Dates((exact_date(shift(day, sign * int(whole))),), day.year))
    return replace(claim, also=Dates((_add_months(day, sign * int(amount)),), day.year))


def _add_months(day: date, months: int) -> PartialDate:
    month = day.year * 12 + day.month - 1 + months
    year, month = month // 12, month % 12 + 1
    if abs(months) >= 24 or not 1 <= year <= 9998:
        return PartialDate(year=year)
    last = (date(year + month // 12, month % 12 + 1, 1) - timedelta(1)).day
    return PartialDate(year, month, min(day.day, last))


def weekday_words() -> frozenset[str]:
    """Return the names of weekdays and words such as "yesterday"."""
    return frozenset(_WEEKDAYS) | frozenset(_DAYS)
