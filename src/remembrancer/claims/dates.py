"""Find dates and times of day, calendar or relative, in many languages: 14 May, 下周三, 8 Uhr."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from ..protocol.patterns import regex
from ..protocol.tables import read_table
from ..search.text.languages import LANGUAGES, normalize
from .numbers import CHINESE, parse_chinese
from .values import Claim, Clock, Dates, PartialDate, Quantity, exact_date, shift

# --- Find calendar dates in many languages: 2026-05-14, 14 May 2026, 14.–16. Mai, 5月14日 ----

_MONTHS = {
    name: month
    for language in LANGUAGES
    for name, month in language.months.items()
    if ord(name[0]) < 0x530 and len(name) > 2
}
_MONTH = "|".join(re.escape(name) for name in sorted(_MONTHS, key=len, reverse=True))
_NAME = rf"(?=[^\W\d_])(?P<mn>{_MONTH})"  # the lookahead skips most positions quickly
_Y, _D = r"(?P<y>\d{4})", r"(?P<d>\d{1,2})"
_ORDINAL = r"(?:st|nd|rd|th|er|\.|º|ª|-?го)?"
_OF = r"(?:(?:of|de|del|du|d['’])[ ])?"
_SPAN = (
    r"(?:(?P<d0>\d{1,2})(?:st|nd|rd|th|er|\.|-?го)?[ ]?"
    r"(?:-|\u2013|\u2014|to|bis|und|and|et|au|al|y|по|и)[ ]?(?:le[ ])?)?"
)
_PATTERNS = [
    regex(
        rf"(?<![\w.-])(?P<y>\d{{4}})(?P<s>[-/.])(?P<m>\d{{1,2}})(?P=s){_D}(?![\d-]|[./]\d)",
        re.ASCII,
    ),
    regex(r"(?<![\w.-])(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\d-])", re.ASCII),
    regex(
        r"(?<![\w./-])(?P<dm>\d{1,2})(?P<s>[-/.])(?P<md>\d{1,2})(?P=s)"
        r"(?P<y>\d{4}|\d\d)(?!\d|[./-]\d)",
        re.ASCII,
    ),
    regex(
        rf"(?<![\w.]){_SPAN}{_D}{_ORDINAL}[ ]?{_OF}{_NAME}(?![^\W\d_])\.?,?"
        rf"(?:[ ](?:(?:de|del|of)[ ])?{_Y}(?!\d|[.,]\d)(?:[ ]г(?:ода|\.))?)?",
        re.IGNORECASE,
    ),
    regex(
        rf"(?<![^\W_]){_NAME}\.?[ ](?:the[ ])?{_D}(?:st|nd|rd|th)?"
        rf"(?:[ ]?(?:-|\u2013|to|and)[ ]?(?P<d0>\d{{1,2}})(?:st|nd|rd|th)?)?"
        rf"(?!\d|[.,:]\d|[^\W\d_])(?:,?[ ]{_Y}(?!\d|[.,]\d))?",
        re.IGNORECASE,
    ),
    regex(rf"(?<![^\W_]){_NAME}\.?,?[ ]{_OF}{_Y}(?!\d|[.,]\d)(?:[ ]г(?:ода|\.))?", re.IGNORECASE),
    regex(
        rf"(?:(?<![^\W_])(?:in|im|en|since|until|till|by|before|after|of|seit|anfang|mitte|ende|ab"
        rf"|bis|early|mid|late|last|next|this|fin|début"
        rf"|в|во|до|с|к|начале|конце|середине)[ ]){_NAME}(?![^\W\d_]|[ ]\d)",
        re.IGNORECASE,
    ),
    regex(r"(?<![\w./-])(?P<d>0?[1-9]|[12]\d|3[01])\.(?P<m>0?[1-9]|1[0-2])\.(?!\d)", re.ASCII),
    regex(
        rf"(?:(?:(?P<y>\d{{4}}|[零〇一二三四五六七八九]{{4}})|(?P<near>去|今|明))年[ ]?)?"
        rf"(?P<m>\d{{1,2}}|{CHINESE})月(?:[ ]?(?P<d>\d{{1,2}}|{CHINESE})[日号號]?"
        rf"(?:[ ]?(?:至|到|-|\u2013|\u2014|~)[ ]?(?P<d0>\d{{1,2}})[日号號])?)?"
    ),
    regex(r"(?P<y>\d{4}|[零〇一二三四五六七八九]{4})年(?!\w?级)"),
]
_AMBIGUOUS_PATTERN = 2  # index of the pattern in which day and month may be in either order
_OF_NAMES = range(3, 7)  # indexes of the patterns with the name of a month
_HAN_PATTERNS = range(8, 10)
_NEAR_YEARS = {"去": -1, "今": 0, "明": 1}
_WORD, _LINE = regex(r"[^\W\d_]+"), regex(r"[^\n]+")


def _needed_words(names: Iterable[str]) -> frozenset[str]:
    """Return the longest word of each name, and its plural in s.

    Where a line has none of them, it has none of the names, and looking for each name at each
    place takes 20 times as long. No date spans two lines.
    """
    words = [max(_WORD.findall(name.lower()), key=len) for name in names]
    return frozenset([*words, *(f"{word}s" for word in words)])


def _matches(
    pattern: re.Pattern[str], text: str, needed: frozenset[str]
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern in the lines that have one of the words."""
    for line in _LINE.finditer(text):
        if not needed.isdisjoint(_WORD.findall(line[0].lower())):
            yield from pattern.finditer(text, *line.span())


_MONTH_WORDS = _needed_words(_MONTHS)
_HAN_CHARACTER = regex(r"[\u3400-\u9fff]")


def dates(text: str, day: date) -> Iterator[Claim]:
    """Yield the dates of a text, which may overlap: those of earlier patterns are more reliable.

    `day` is the day of the text.
    """
    has_han = bool(_HAN_CHARACTER.search(text))
    for index, pattern in enumerate(_PATTERNS):
        if index in _HAN_PATTERNS and not has_han:
            continue
        is_named = index in _OF_NAMES
        for match in _matches(pattern, text, _MONTH_WORDS) if is_named else pattern.finditer(text):
            parts = match.groupdict()
            options = (
                _both_orders(parts) if index == _AMBIGUOUS_PATTERN else _parse_parts(parts, day)
            )
            if not options:
                continue
            start = match.start("mn") if "d" not in parts and parts.get("mn") else match.start()
            end = match.end() - (match[0][-1] in ",.") * _ends_sentence(match)
            yield from _claims(match, start, end, options, day)


def _ends_sentence(match: re.Match[str]) -> bool:
    """Return True if a final punctuation mark belongs to the sentence, as after a month's name."""
    return not match[0][-2:-1].isdigit()


def _claims(
    match: re.Match[str], start: int, end: int, options: list[PartialDate], day: date
) -> Iterator[Claim]:
    yield Claim("date", start, end, Dates(tuple(options), day.year))
    other = match.groupdict().get("d0")
    if other and 1 <= int(other) <= 31:
        first = Dates(tuple(option._replace(day=int(other)) for option in options), day.year)
        yield Claim("date", start, end, first)


def _number(digits: str | None) -> int | None:
    if not digits:
        return None
    return int(digits) if digits.isascii() and digits.isdigit() else int(parse_chinese(digits))


def _parse_parts(parts: dict[str, str | None], day: date) -> list[PartialDate]:
    name, near = parts.get("mn"), parts.get("near")
    month = _MONTHS.get(normalize(name), 0) if name else _number(parts.get("m"))
    year = day.year + _NEAR_YEARS[near] if near else _number(parts.get("y"))
    return _valid(PartialDate(year, month, _number(parts.get("d"))))


def _both_orders(parts: dict[str, str | None]) -> list[PartialDate]:
    first, second, year_digits = int(parts["dm"] or 0), int(parts["md"] or 0), parts["y"] or ""
    year = int(year_digits) + (2000 if len(year_digits) == 2 else 0)
    orders = [PartialDate(year, second, first)]
    if parts["s"] != ".":
        orders.append(PartialDate(year, first, second))
    return [option for order in dict.fromkeys(orders) for option in _valid(order)]


def _valid(when: PartialDate) -> list[PartialDate]:
    month, day = when.month, when.day
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return []
    if when.year is not None and (
        not 1 <= when.year <= 9998 or (day is not None and when.exact is None)
    ):
        return []
    return [when]


# --- Find relative dates: yesterday, next Friday, last month, in three days, 下周三 ----------

_TABLE = read_table(__package__, "dates.toml")


def _by_word(name: str, separator: str | None = None) -> dict[str, str]:
    """Return the key of each word of a table."""
    rows = _TABLE[name].items()
    return {normalize(one.strip()): key for key, words in rows for one in words.split(separator)}


_DAYS = {word: int(days) for word, days in _by_word("days", ",").items()}
_WEEKDAYS = {word: int(day) for word, day in _by_word("weekdays").items()}
_OFFSETS = {word: int(offset) for word, offset in _by_word("offsets").items()}
_PERIODS = _by_word("periods")


def _one_of(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_SPACED = {
    kind: [word for word in table if ord(word[0]) < 0x3400]
    for kind, table in (("t", _OFFSETS), ("w", _WEEKDAYS), ("s", _PERIODS))
}
_OFFSET, _WEEKDAY, _PERIOD = (_one_of(_SPACED[kind]) for kind in "tws")
_SPACED_DAYS = [word for word in _DAYS if ord(word[0]) < 0x3400]
_DAY_WORD = regex(rf"(?<![^\W\d_])(?:{_one_of(_SPACED_DAYS)})(?![^\W\d_])", re.IGNORECASE)
_HAN_DAY = regex(_one_of([word for word in _DAYS if ord(word[0]) >= 0x3400]))
_WEEKDAY_PHRASE = regex(
    rf"\b(?:(?P<offset>{_OFFSET})[ ])?(?P<weekday>{_WEEKDAY})s?"
    rf"(?:[ ](?:que viene|(?P<after>{_OFFSET})))?\b",
    re.IGNORECASE,
)
_PERIOD_PHRASE = regex(
    rf"\b(?:(?P<offset>{_OFFSET})[ ](?P<period>{_PERIOD})"
    rf"|(?P<period_2>{_PERIOD})[ ](?P<after>{_OFFSET}))\b",
    re.IGNORECASE,
)
_HAN = regex(
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
_AGO_BEFORE = regex(r"(?:\bvor|\bil y a|\bhace)[ ]$", re.IGNORECASE)
_AGO_AFTER = regex(r"[ ](?:ago|earlier|назад|атрас)\b|(?:以?前)", re.IGNORECASE)
_IN_BEFORE = regex(r"(?:\bin|\bdans|\ben|\bчерез)[ ]$", re.IGNORECASE)
_IN_AFTER = regex(r"[ ](?:from now|later)\b|(?:以?后|之后)", re.IGNORECASE)
_DAY_SECONDS = 86_400


_DAY_WORDS = _needed_words(_SPACED_DAYS)
_WEEKDAY_WORDS, _PERIOD_WORDS = _needed_words(_SPACED["w"]), _needed_words(_SPACED["s"])


def relative_dates(text: str, day: date) -> Iterator[Claim]:
    """Yield the relative dates of a text of that day, resolved to calendar dates."""
    for match in _matches(_DAY_WORD, text, _DAY_WORDS):
        yield _claim(match, day, exact_date(shift(day, _DAYS[normalize(match[0])])))
    for match in _matches(_WEEKDAY_PHRASE, text, _WEEKDAY_WORDS):
        offset = _OFFSETS.get(normalize(match["offset"] or match["after"] or ""))
        if "que viene" in match[0].lower():
            offset = 1
        weekday = _WEEKDAYS[normalize(match["weekday"])]
        yield _claim(match, day, *_weekday_dates(day, weekday, offset))
    for match in _matches(_PERIOD_PHRASE, text, _PERIOD_WORDS):
        period = _PERIODS[normalize(match["period"] or match["period_2"])]
        offset = _OFFSETS[normalize(match["offset"] or match["after"])]
        yield _claim(match, day, _period_date(day, period, offset))
    if not _HAN_CHARACTER.search(text):
        return
    for match in _HAN_DAY.finditer(text):
        yield _claim(match, day, exact_date(shift(day, _DAYS[match[0]])))
    for match in _HAN.finditer(text):
        if match["day"]:
            weekday = "一二三四五六日".find(match["day"].replace("天", "日"))
            yield _claim(match, day, *_han_weekday_dates(day, weekday, match["offset"]))
        elif match["year"]:
            yield _claim(match, day, PartialDate(year=day.year + _NEAR_YEARS[match["year"]]))
        else:
            period = "month" if match["period"] == "月" else "week"
            yield _claim(match, day, _period_date(day, period, _HAN_OFFSETS[match["offset_2"]]))


def _claim(match: re.Match[str], day: date, *options: PartialDate) -> Claim:
    return Claim("date", match.start(), match.end(), Dates(options, day.year), weak=True)


def _weekday_dates(day: date, weekday: int, offset: int | None) -> list[PartialDate]:
    """Return the possible dates of a weekday: "next Friday" may be this week or the following."""
    days_ahead, days_behind = (weekday - day.weekday()) % 7, (day.weekday() - weekday) % 7
    coming, past = shift(day, days_ahead or 7), shift(day, -(days_behind or 7))
    if offset not in (1, -1):
        named = [coming, past] if days_ahead else [day]
        return [PartialDate(weekday=weekday), *map(exact_date, named)]
    near = coming if offset == 1 else past
    is_certain = days_ahead == 0 or near.isocalendar()[1] != day.isocalendar()[1]
    return [exact_date(one) for one in ([near] if is_certain else [near, shift(near, 7 * offset)])]


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
    sign = 1 if _IN_BEFORE.search(before) or _IN_AFTER.match(after) else 0
    if _AGO_BEFORE.search(before) or _AGO_AFTER.match(after):
        sign = -1
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


# --- Find times of day: 14:30, 2:30 pm, 8 Uhr, 14h15, 9 утра, 下午2点半 ----------------------

_HALF_DAYS = {"am": 0, "pm": 12, "утра": 0, "ночи": 0, "дня": 12, "вечера": 12, "mañana": 0,
    "madrugada": 0, "tarde": 12, "noche": 12,
              "matin": 0, "soir": 12, "après-midi": 12, "morgens": 0, "vormittags": 0,
              "nachmittags": 12, "abends": 12}  # fmt: skip
_PART = (
    r"(?:[ ]?(?P<half>[ap]\.?[ ]?m\b\.?)"
    r"|[ ](?P<part>утра|ночи|дня|вечера|morgens|vormittags|nachmittags|abends"
    r"|(?:in the )?(?:morning|afternoon|evening)|(?:de|por) la (?:mañana|madrugada|tarde|noche)"
    r"|du (?:matin|soir)|de l['’]après-midi))"
)
_PART_2 = _PART.replace("?P<half>", "?P<half_2>").replace("?P<part>", "?P<part_2>")
_COLON = regex(
    rf"(?<![\w:.,/-])(?P<h>[01]?\d|2[0-4])"
    rf"(?P<mark>[:\uff1a]|[ ]?[hH][ ]?|\.(?=\d\d[ ]?(?:Uhr|[ap]\.?m)))"
    rf"(?P<m>[0-5]\d)(?::[0-5]\d)?(?![\d:]|[.,]\d|[ ]?(?:min|мин))"
    rf"(?:[ ]?(?:Uhr|ч(?![^\W\d_])))?{_PART}?",
    re.ASCII,
)
_HOUR = regex(
    rf"(?<![\w:.,/-])(?P<h>[01]?\d|2[0-4])(?:[ ]Uhr(?:[ ](?P<m>[0-5]\d)(?!\d))?(?:{_PART})?"
    rf"|(?:[ ]?(?:heures?|час(?:ов|а)?|часу?))?{_PART_2})",
    re.ASCII,
)
_HAN_HOURS = regex(
    rf"(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里)?"
    rf"(?P<h>\d{{1,2}}|{CHINESE})[点點时](?!间|候|代|刻|常)"
    rf"(?:(?P<quarter>[一三])刻|(?P<m>\d{{1,2}}|{CHINESE})分?|(?P<half>半)|整|钟)?"
)
_RUSSIAN_PREPOSITIONS = ("в ", "к ", "до ", "с ", "около ")
_AFTERNOON = frozenset({"下午", "傍晚", "晚上", "夜里", "中午"})
_PART_WORD = regex(r"[^\W\d_]+(?:-[^\W\d_]+)?")


def clocks(text: str) -> Iterator[Claim]:
    """Yield the times of day of a text, grouped by notation."""
    for match in _COLON.finditer(text):
        minute = int(match["h"]) * 60 + int(match["m"])
        duration = minute * 60 if "h" in match["mark"].lower() and not match["half"] else None
        half = _half_day(match["half"], match["part"])
        yield _clock(match.start(), match.end(), minute, half, duration)
    for match in _HOUR.finditer(text):
        minute = int(match["h"]) * 60 + int(match["m"] or 0)
        before = text[max(0, match.start() - 6) : match.start()]
        if match["part_2"] == "дня" and not before.endswith(_RUSSIAN_PREPOSITIONS):
            continue  # "3 дня" is a duration of three days
        half = _half_day(match["half"] or match["half_2"], match["part"] or match["part_2"])
        yield _clock(match.start(), match.end(), minute, half, None)
    for match in _HAN_HOURS.finditer(text):
        hour = _number(match["h"]) or 0
        minutes = 30 if match["half"] else _number(match["m"]) or 0
        if match["quarter"]:
            minutes = 15 * int(parse_chinese(match["quarter"]))
        if hour <= 24 and minutes < 60 and not (match["part"] is None and "点" in match["h"]):
            half = None if match["part"] is None else 12 if match["part"] in _AFTERNOON else 0
            yield _clock(match.start(), match.end(), hour * 60 + minutes, half, None)


def _half_day(half: str | None, part: str | None) -> int | None:
    if half:
        return _HALF_DAYS[half[0].lower() + "m"]
    if part:
        last = _PART_WORD.findall(part)[-1].lower()
        return _HALF_DAYS.get(last, 0 if last == "morning" else 12)
    return None


def _clock(start: int, end: int, minute: int, half: int | None, seconds: int | None) -> Claim:
    hour, rest = divmod(minute, 60)
    if half is not None and hour <= 12:
        readings = {(hour % 12 + half) * 60 + rest}
    elif half is None and 0 < hour <= 12:
        readings = {minute, (minute + 720) % 1440}
    else:
        readings = {minute % 1440}
    return Claim("number", start, end, Clock(frozenset(readings), seconds))
