"""Dates that depend on the day they are said:

yesterday, next Friday, last month, in three days, 下周三.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from importlib import resources

from ..search.text.languages import normalize
from .values import Claim, Dates, Quantity, When, date_claim, shift

_TABLE = tomllib.loads(resources.files(__package__).joinpath("dates.toml").read_text("utf-8"))
_DAYS = {
    normalize(word.strip()): int(days)
    for days, words in _TABLE["days"].items()
    for word in words.split(",")
}
_WEEKDAYS = {
    normalize(word): int(day) for day, words in _TABLE["weekdays"].items() for word in words.split()
}
_TURNS = {
    normalize(word): int(turn) for turn, words in _TABLE["turns"].items() for word in words.split()
}
_STRETCHES = {
    normalize(word): kind for kind, words in _TABLE["stretches"].items() for word in words.split()
}


def _one_of(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_SPACED = {
    kind: [word for word in table if ord(word[0]) < 0x3400]
    for kind, table in (("t", _TURNS), ("w", _WEEKDAYS), ("s", _STRETCHES))
}
_TURN, _WEEKDAY, _STRETCH = (_one_of(_SPACED[kind]) for kind in "tws")
_DAY_WORD = re.compile(
    rf"(?<![^\W\d_])(?:{_one_of([word for word in _DAYS if ord(word[0]) < 0x3400])})(?![^\W\d_])"
    rf"|{_one_of([word for word in _DAYS if ord(word[0]) >= 0x3400])}",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"\b(?:(?P<turn>{_TURN})[ ])?(?P<weekday>{_WEEKDAY})s?(?:[ ](?:que viene|(?P<after>{_TURN})))?\b",
    re.IGNORECASE,
)
_STRETCHED = re.compile(
    rf"\b(?:(?P<turn>{_TURN})[ ](?P<what>{_STRETCH})|(?P<what_2>{_STRETCH})[ ](?P<after>{_TURN}))\b",
    re.IGNORECASE,
)
_HAN = re.compile(
    r"(?P<turn>上上|下下|上个?|下个?|这个?|本)?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])|(?P<turn_2>上个?|下个?|这个?|本)(?P<what>周|星期|月)|(?P<year>去|今|明)年"
)
_HAN_TURNS = {
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
_AGO_BEHIND = re.compile(r"[ ](?:ago|earlier|назад|атрас)\b|(?:以?前)", re.IGNORECASE)
_IN_BEFORE = re.compile(r"(?:\bin|\bdans|\ben|\bчерез)[ ]$", re.IGNORECASE)
_IN_BEHIND = re.compile(r"[ ](?:from now|later)\b|(?:以?后|之后)", re.IGNORECASE)
_DAYS_OF_WEEK = "一二三四五六日"
_DAY_SECONDS = 86_400


def relative_dates(text: str, day: date) -> Iterator[Claim]:
    """What the words of a text mean, were it said on that day."""
    for match in _DAY_WORD.finditer(text):
        yield _claim(match, day, date_claim(shift(day, _DAYS[normalize(match[0])])))
    for match in _NAMED.finditer(text):
        turn = _TURNS.get(normalize(match["turn"] or match["after"] or ""))
        if "que viene" in match[0].lower():
            turn = 1
        yield _claim(match, day, *_weekday(day, _WEEKDAYS[normalize(match["weekday"])], turn))
    for match in _STRETCHED.finditer(text):
        what = _STRETCHES[normalize(match["what"] or match["what_2"])]
        yield _claim(
            match, day, _stretch(day, what, _TURNS[normalize(match["turn"] or match["after"])])
        )
    for match in _HAN.finditer(text):
        if match["day"]:
            wanted = "一二三四五六日".find(match["day"].replace("天", "日"))
            yield _claim(match, day, *_han_weekday(day, wanted, match["turn"]))
        elif match["year"]:
            yield _claim(
                match, day, When(year=day.year + {"去": -1, "今": 0, "明": 1}[match["year"]])
            )
        else:
            what = "month" if match["what"] == "月" else "week"
            yield _claim(match, day, _stretch(day, what, _HAN_TURNS[match["turn_2"]]))


def _claim(match: re.Match[str], day: date, *options: When) -> Claim:
    return Claim("date", match.start(), match.end(), Dates(options, day.year), weak=True)


def _weekday(day: date, wanted: int, turn: int | None) -> list[When]:
    """Next Friday may be the coming one or that of the week after; a bare one any that fits."""
    ahead, behind = (wanted - day.weekday()) % 7, (day.weekday() - wanted) % 7
    coming, past = shift(day, ahead or 7), shift(day, -(behind or 7))
    if turn == 1:
        days = (
            [coming]
            if ahead == 0 or coming.isocalendar()[1] != day.isocalendar()[1]
            else [coming, shift(coming, 7)]
        )
    elif turn == -1:
        days = (
            [past]
            if behind == 0 or past.isocalendar()[1] != day.isocalendar()[1]
            else [past, shift(past, -7)]
        )
    else:
        return [
            When(weekday=wanted),
            *(date_claim(one) for one in ([coming, past] if ahead else [day])),
        ]
    return [date_claim(one) for one in days]


def _han_weekday(day: date, wanted: int, turn: str | None) -> list[When]:
    if turn is None:
        return _weekday(day, wanted, None)
    monday = shift(day, -day.weekday())
    return [date_claim(shift(monday, 7 * _HAN_TURNS[turn] + wanted))]


def _stretch(day: date, what: str, turn: int) -> When:
    if what == "year":
        return When(year=day.year + turn)
    if what == "month":
        month = day.year * 12 + day.month - 1 + turn
        return When(year=month // 12, month=month % 12 + 1)
    monday = shift(day, 7 * turn - day.weekday())
    return When(stretch=(monday, shift(monday, 6)))


def resolve(text: str, claim: Claim, day: date) -> Claim:
    """A number of days, weeks, months or years with what it says as a date:

    in three days, vor zwei Wochen.
    """
    value = claim.value
    if (
        not isinstance(value, Quantity)
        or value.dimension not in {"time", "months"}
        or len(value.readings) != 1
    ):
        return claim
    before, behind = text[max(0, claim.start - 8) : claim.start], text[claim.end : claim.end + 10]
    sign = (
        -1
        if _AGO_BEFORE.search(before) or _AGO_BEHIND.match(behind)
        else 1
        if _IN_BEFORE.search(before) or _IN_BEHIND.match(behind)
        else 0
    )
    amount = next(iter(value.amounts))
    if not sign or abs(amount) > 10**9:
        return claim
    if value.dimension == "time":
        whole = amount / _DAY_SECONDS
        if whole.denominator != 1:
            return claim
        return replace(claim, also=Dates((date_claim(shift(day, sign * int(whole))),), day.year))
    return replace(claim, also=Dates((_months_from(day, sign * int(amount)),), day.year))


def _months_from(day: date, months: int) -> When:
    month = day.year * 12 + day.month - 1 + months
    year, month = month // 12, month % 12 + 1
    if abs(months) >= 24 or not 1 <= year <= 9998:
        return When(year=year)
    last = (date(year + month // 12, month % 12 + 1, 1) - timedelta(1)).day
    return When(year, month, min(day.day, last))


def weekday_words() -> frozenset[str]:
    """The names of the days of the week, and the words for days near by."""
    return frozenset(_WEEKDAYS) | frozenset(_DAYS)
