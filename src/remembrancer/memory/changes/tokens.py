"""Tokens, sentences and phrases of texts in seven languages."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

from ...search.text.languages import BY_CODE, unaccented

# --- Split a statement into normalised words; dates, times, weekdays and numbers have one notation

CODES = ("en", "de", "fr", "es", "it", "ru", "zh")
_HAN = "\u3400-\u9fff"
_TOKEN = re.compile(
    r"@[a-z][\d:\-]+"  # a date or time, already in one notation
    r"|\d+(?:[.,]\d+)*"
    rf"|[^\W\d_{_HAN}](?:[^\W{_HAN}]|[.\-/@+&](?=[^\W{_HAN}]))*"
    rf"|[{_HAN}]"
    r"|['\u2019](?:s|m|re|ve|ll|d|t)(?![^\W\d_])"
    r"|[?,;:\u2014\u2013%€$£+]"
)
_HAN_LETTER, _DIGIT = re.compile(f"[{_HAN}]"), re.compile(r"\d")
_SENTENCE = re.compile(
    r"(?<=[^\d\s][.!?])(?<![A-Z]\.)(?<!\b[DMSJ][rst]\.)(?<!\bMrs\.)(?<!\bMme\.)(?<!\bProf\.)"
    r"\s+(?=[^\W\d_a-z])|(?<=[。!?;])|\n+"
)
_WIDTH = str.maketrans("，。？！：；（）\u3000\u2019", ",。?!:;() '")
# Traditional characters of the phrases, for one table of both scripts.
_TRADITIONAL = str.maketrans(
    "現號會議課裡為從換隊開關過說語電話費時間計劃畫預價營運東學習寫讀試業員應該實際週後還來當華買賣愛歡對點處變調動遷"
    "移稱誰嗎這個無沒們錄輯數據務資總經長醫師師鐘顏藍綠紅黃離單級層頁繼續樣產機種選擇傾認識擁貓鄰兒職馬臺廠區縣鄉責"
    "體編碼網頭標題態構舊戒設備",
    "现号会议课里为从换队开关过说语电话费时间计划画预价营运东学习写读试业员应该实际周后还来当华买卖爱欢对点处变调动迁"
    "移称谁吗这个无没们录辑数据务资总经长医师师钟颜蓝绿红黄离单级层页继续样产机种选择倾认识拥猫邻儿职马台厂区县乡责"
    "体编码网头标题态构旧戒设备",
)
_DIGITS = {han: number for number, han in enumerate("一二三四五六七八九十", 1)}
_HAN_DATE = re.compile(
    r"(?:(\d{4})年)?(?<![\d一二三四五六七八九十])([\d一二三四五六七八九十]{1,3})月"
    r"(?:([\d一二三四五六七八九十]{1,3})[日号])?"
)
_HAN_WEEKDAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_DOT_DATE = re.compile(  # 3.10. at the end of a sentence may be a version, so a preposition decides
    r"(?:(?<=\bam )|(?<=\bden )|(?<=\bzum )|(?<=\bbis )|(?=[\d.]{3,6}\d{4}))"
    r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})?(?!\d)"
)
_CLOCK = re.compile(r"\b(\d{1,2})[:h](\d{2})\b(?:\s?([ap])\.?m\b\.?)?", re.IGNORECASE)
_HOUR = re.compile(
    r"\b(\d{1,2})(?:\s?([ap])\.?m\b\.?|\s?(?:Uhr|o'clock)\b|\s?h\b)(?:\s?Uhr\b)?", re.IGNORECASE
)
_UNITS = {
    **dict.fromkeys(("€", "eur", "euro", "euros", "евро"), "eur"),
    **dict.fromkeys(("$", "usd", "dollar", "dollars", "dolares", "долларов"), "usd"),
    **dict.fromkeys(("%", "percent", "prozent", "pourcent"), "%"),
}
_WEEKDAYS = {
    name + ending: f"@w{day}"
    for day, names in enumerate(
        (
            "monday montag lundi lunes lunedi понедельник понедельникам понедельника",
            "tuesday dienstag mardi martes martedi вторник вторникам вторника",
            "wednesday mittwoch mercredi miercoles mercoledi среда среду средам среды",
            "thursday donnerstag jeudi jueves giovedi четверг четвергам четверга",
            "friday freitag vendredi viernes venerdi пятница пятницу пятницам пятницы",
            "saturday samstag samedi sabado sabato суббота субботу субботам субботы",
            "sunday sonntag dimanche domingo domenica воскресенье воскресеньям воскресенья",
        )
    )
    for name in names.split()
    for ending in ("", "s")
}
_ORDINALS = {"first": "1", "primero": "1", "primo": "1", "первое": "1", "erste": "1", "ersten": "1"}
_SUFFIXES = {"st", "nd", "rd", "th", "er", "º", "ª", "e", "го", "е"}
_DATE_GLUE = {"of", "de", "the"}


class SentenceWord(NamedTuple):
    """A normalised word, and whether the text writes it like a name."""

    word: str
    is_capital: bool


def load_table(name: str) -> dict[str, object]:
    """Return a TOML file of this package."""
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))


def normalize(word: str) -> str:
    """Return a word in lower case without accents, unless it would become another word."""
    word = word.lower()
    if word.isascii() or len(word) == 1 or word == "thé":  # è is not e, thé is not the
        return word
    return unaccented(word)


_PREPOSITIONAL = "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре"


def _months() -> tuple[dict[str, int], dict[str, int]]:
    """Return the names of months that are only that, and those with another meaning."""
    plain: dict[str, int] = {}
    doubtful: dict[str, int] = {}
    for code in CODES[:-1]:
        for name, month in BY_CODE[code].months.items():
            is_plain = len(name) > 4 or name in {"june", "july", "juni", "juli", "juin", "août"}
            (plain if is_plain else doubtful)[normalize(name)] = month
    for month, name in enumerate(_PREPOSITIONAL.split(), 1):
        plain[normalize(name)] = month
    doubtful |= {name: plain.pop(name) for name in ("march", "mars", "marta") if name in plain}
    return plain, doubtful


_MONTHS, _DOUBTFUL_MONTHS = _months()
_ALL_MONTHS = _MONTHS.keys() | _DOUBTFUL_MONTHS.keys()
_MONTH_HINTS = {"in", "im", "en", "until", "till", "by", "to", "for", "au", "al", "a", "для", "на"}


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, in the characters that `tokens` reads."""
    if not text.isascii():
        text = text.translate(_WIDTH)
    return [part for part in (part.strip() for part in _SENTENCE.split(text)) if part]


def tokens(sentence: str) -> list[SentenceWord]:
    """Return the words of a sentence, and the marks that bear meaning (`? , : —`)."""
    has_han = not sentence.isascii() and _HAN_LETTER.search(sentence) is not None
    if has_han:
        sentence = _unify_han(sentence)
    has_digit = _DIGIT.search(sentence) is not None
    if has_digit:
        sentence = _unify_times(sentence)
    result = [_token(raw) for raw in _TOKEN.findall(sentence)]
    return _with_dates(result) if has_digit or not has_han else result


@lru_cache(maxsize=65_536)
def _token(raw: str) -> SentenceWord:
    first = raw[0]
    if first.isdigit():
        word = re.sub(r"[,.](?=\d{3}(?!\d))", "", raw) if len(raw) > 4 else raw
        word = re.sub(r"[.,]00$", "", word)  # 30.00 EUR is 30 EUR
        return SentenceWord(word, is_capital=False)
    if first == "@":
        return SentenceWord(raw, is_capital=False)
    word = normalize(raw.replace("\u2019", "'"))
    word = _WEEKDAYS.get(word) or _UNITS.get(word) or word
    return SentenceWord(word, first.isupper() or "\u3400" <= first <= "\u9fff")


def _unify_han(sentence: str) -> str:
    sentence = sentence.translate(_TRADITIONAL)
    sentence = sentence.replace("用户", "我").replace("使用者", "我").replace("我们", "we ")
    sentence = _HAN_WEEKDAY.sub(lambda m: f" @w{'一二三四五六日天'.index(m[1]) % 7} ", sentence)
    return _HAN_DATE.sub(lambda m: _date(m[1], _han_number(m[2]), _han_number(m[3])), sentence)


def _han_number(digits: str | None) -> int | None:
    if not digits or digits.isascii():
        return int(digits) if digits else None
    return sum(_DIGITS.get(digit, 0) for digit in digits)  # up to nineteen, as in days and months


def _unify_times(sentence: str) -> str:
    if "-" in sentence:
        sentence = _ISO_DATE.sub(lambda m: _date(m[1], int(m[2]), int(m[3])), sentence)
    if "." in sentence[:-1]:
        sentence = _DOT_DATE.sub(
            lambda m: _date(m[3], int(m[2]), int(m[1])) if 0 < int(m[2]) <= 12 else m[0], sentence
        )
    if ":" in sentence or "h" in sentence:
        sentence = _CLOCK.sub(lambda m: _clock(m[1], m[2], m[3]), sentence)
    return _HOUR.sub(lambda m: _clock(m[1], "00", m[2]), sentence)


def _date(year: str | int | None, month: int | None, day: int | None) -> str:
    return f" @d{year or ''}-{month or ''}-{day or ''} "


def _clock(hour: str, minute: str, half: str | None) -> str:
    number = int(hour) % 12 + 12 * (half.lower() == "p") if half else int(hour)
    return f" @t{number:02d}:{minute} "


def _with_dates(words: list[SentenceWord]) -> list[SentenceWord]:
    """Replace the words of a date (1 May 2026, May 1st, 1er mai) by one token."""
    places = [place for place, (word, _) in enumerate(words) if word in _ALL_MONTHS]
    places = [at for at in places if words[at].word in _MONTHS or _is_month(words, at)]
    for place in reversed(places):
        month = _MONTHS.get(words[place].word) or _DOUBTFUL_MONTHS[words[place].word]
        start, end = place, place + 1
        day = year = None
        before, before_start = _number_before(words, place)
        if before:
            day, start = before, before_start
        else:
            after, after_end = _number_after(words, end)
            if after and len(after) <= 2:
                day, end = after, after_end
        after, after_end = _number_after(
            words, end + (words[end : end + 1] == [SentenceWord(",", False)])
        )
        if after and len(after) == 4:
            year, end = after, after_end
        text = _date(year, month, int(day) if day else None).strip()
        words[start:end] = [SentenceWord(text, is_capital=False)]
    return words


def _is_month(words: list[SentenceWord], place: int) -> bool:
    return (
        _number_before(words, place)[0] is not None
        or _number_after(words, place + 1)[0] is not None
        or (words[place].is_capital and place > 0 and words[place - 1].word in _MONTH_HINTS)
    )


def _number_before(words: list[SentenceWord], place: int) -> tuple[str | None, int]:
    at = place - 1
    while at >= 0 and (words[at].word in _DATE_GLUE or words[at].word in _SUFFIXES):
        at -= 1
    word = _ORDINALS.get(words[at].word, words[at].word) if at >= 0 else ""
    return (word, at) if word.isdigit() and 0 < int(word) <= 31 else (None, place)


def _number_after(words: list[SentenceWord], place: int) -> tuple[str | None, int]:
    at = place + (place < len(words) and words[place].word in {"de", "the"})
    if at >= len(words) or not words[at].word.isdigit():
        return None, place
    end = at + 1
    if end < len(words) and words[end].word in _SUFFIXES:
        end += 1
    return words[at].word, end


# --- The phrases of the rules: marks of a sentence, and relations between a subject and a value


class Relation(NamedTuple):
    """One kind of relation; `rule` says when another value replaces the old one."""

    attribute: str
    rule: str
    is_event: bool


class Phrase(NamedTuple):
    """Words that follow each other, and a later word that must follow, too (empty: none)."""

    words: list[str]
    gate: list[str]
    marks: frozenset[str]
    relation: Relation | None


class Match(NamedTuple):
    """A phrase at a place of a sentence; `gate` is the place of its later word, -1 for none."""

    phrase: Phrase
    end: int
    gate: int


_DROPPED = ("now", "still")  # marks that may stand anywhere, also within other phrases


def _words(text: str) -> tuple[str, ...]:
    return tuple(token.word for token in tokens(text))


def _lists() -> dict[str, frozenset[str]]:
    lists = {}
    for name, words in load_table("words.toml").items():
        if isinstance(words, str):
            lists[name] = frozenset(
                "".join(_words(word)) if word[0] >= "\u3400" else normalize(word)
                for word in words.split()
            )
    return lists


def _groups() -> dict[str, str]:
    table: Any = load_table("words.toml")["groups"]
    return {
        "".join(_words(word)) if word[0] >= "\u3400" else normalize(word): group
        for group, words in table.items()
        for word in words.split()
    }


def _countries() -> frozenset[str]:
    table: Any = load_table("words.toml")["countries"]
    return frozenset(
        "".join(_words(word)) if word[0] >= "\u3400" else normalize(word)
        for word in table["names"].split()
    )


def _index() -> tuple[dict[str, list[Phrase]], dict[str, list[Phrase]]]:
    """Return the phrases by their first word: those of dropped marks, and all others."""
    table: Any = load_table("phrases.toml")
    phrases: dict[tuple[tuple[str, ...], tuple[str, ...]], Phrase] = {}
    for mark, languages in table["mark"].items():
        for words, gate, _ in _phrases(languages):
            old = phrases.get((words, gate))
            marks = (old.marks if old else frozenset()) | {mark}
            phrases[words, gate] = Phrase(list(words), list(gate), marks, None)
    for name, row in table["relation"].items():
        for words, gate, text in _phrases(row):
            attribute = row.get("attribute", name)
            relation = Relation(
                text if attribute == "*" else attribute, row["rule"], row.get("is_event", False)
            )
            old = phrases.get((words, gate))
            if old is None or old.relation is None:
                marks = old.marks if old else frozenset()
                phrases[words, gate] = Phrase(list(words), list(gate), marks, relation)
    dropped: dict[str, list[Phrase]] = {}
    others: dict[str, list[Phrase]] = {}
    for phrase in sorted(phrases.values(), key=lambda p: (-len(p.words), not p.gate)):
        index = dropped if phrase.marks & set(_DROPPED) else others
        index.setdefault(phrase.words[0], []).append(phrase)
    return dropped, others


def _phrases(row: dict[str, Any]) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    result = []
    for code in CODES:
        for text in row.get(code, "").split(";"):
            head, _, gate = text.partition("...")
            if words := _words(head):
                result.append((words, _words(gate), text.strip()))
    return result


LISTS = _lists()
GROUPS = _groups()
COUNTRIES = _countries()
DROPPED, OTHERS = _index()


def match_at(index: dict[str, list[Phrase]], words: list[str], place: int) -> Match | None:
    """Return the longest phrase that begins at a place."""
    for phrase in index.get(words[place], ()):
        length = len(phrase.words)
        if length > 1 and words[place : place + length] != phrase.words:
            continue
        if not phrase.gate:
            return Match(phrase, place + length, -1)
        gate = _find(words, phrase.gate, place + length)
        if gate >= 0:
            return Match(phrase, place + length, gate)
    return None


def _find(words: list[str], gate: list[str], start: int) -> int:
    for place in range(start, len(words) - len(gate) + 1):
        if words[place : place + len(gate)] == gate:
            return place
    return -1
