"""Find times of day: 14:30, 2:30 pm, 8 Uhr, 14h15, 9 утра, 下午2点半."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .number_words import CHINESE, parse_chinese
from .values import Claim, Clock

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
_COLON = re.compile(
    rf"(?<![\w:.,/-])(?P<h>[01]?\d|2[0-4])"
    rf"(?P<mark>[:\uff1a]|[ ]?[hH][ ]?|\.(?=\d\d[ ]?(?:Uhr|[ap]\.?m)))"
    rf"(?P<m>[0-5]\d)(?::[0-5]\d)?(?![\d:]|[.,]\d|[ ]?(?:min|мин))"
    rf"(?:[ ]?(?:Uhr|ч(?![^\W\d_])))?{_PART}?",
    re.ASCII,
)
_HOUR = re.compile(
    rf"(?<![\w:.,/-])(?P<h>[01]?\d|2[0-4])(?:[ ]Uhr(?:[ ](?P<m>[0-5]\d)(?!\d))?(?:{_PART})?"
    rf"|(?:[ ]?(?:heures?|час(?:ов|а)?|часу?))?{_PART_2})",
    re.ASCII,
)
_HAN = re.compile(
    rf"(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里)?"
    rf"(?P<h>\d{{1,2}}|{CHINESE})[点點时](?!间|候|代|刻|常)"
    rf"(?:(?P<quarter>[一三])刻|(?P<m>\d{{1,2}}|{CHINESE})分?|(?P<half>半)|整|钟)?"
)
_RUSSIAN_PREPOSITIONS = ("в ", "к ", "до ", "с ", "около ")
_AFTERNOON = frozenset({"下午", "傍晚", "晚上", "夜里", "中午"})
_PART_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")


def clocks(text: str) -> Iterator[Claim]:
    """Yield the times of day of a text, grouped by notation."""
    for match in _COLON.finditer(text):
        minute = int(match["h"]) * 60 + int(match["m"])
        duration = minute * 60 if "h" in match["mark"].lower() and not match["half"] else None
        yield _clock(
            match.start(), match.end(), minute, _half_day(match["half"], match["part"]), duration
        )
    for match in _HOUR.finditer(text):
        minute = int(match["h"]) * 60 + int(match["m"] or 0)
        if match["part_2"] == "дня" and not text[
            max(0, match.start() - 6) : match.start()
        ].endswith(_RUSSIAN_PREPOSITIONS):
            continue  # "3 дня" is a duration of three days
        half = _half_day(match["half"] or match["half_2"], match["part"] or match["part_2"])
        yield _clock(match.start(), match.end(), minute, half, None)
    for match in _HAN.finditer(text):
        hour = _number(match["h"])
        minutes = (
            30
            if match["half"]
            else 15 * int(parse_chinese(match["quarter"]))
            if match["quarter"]
            else _number(match["m"] or "0")
        )
        if hour <= 24 and minutes < 60 and not (match["part"] is None and "点" in match["h"]):
            half = None if match["part"] is None else 12 if match["part"] in _AFTERNOON else 0
            yield _clock(match.start(), match.end(), hour * 60 + minutes, half, None)


def _number(numerals: str) -> int:
    return int(numerals) if numerals.isascii() else int(parse_chinese(numerals))


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
