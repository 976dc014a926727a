"""Read the statements of texts in seven languages: tokens, sentences, phrases, and their values."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Any, NamedTuple

from ...protocol.tables import read_table
from ...search.text.languages import BY_CODE, unaccented

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


def _entries(text: str) -> list[str]:
    """Return the words of a list as they are compared; Chinese ones of several signs are one."""
    return [
        "".join(_words(word)) if word[0] >= "\u3400" else normalize(word) for word in text.split()
    ]


def _index() -> tuple[dict[str, list[Phrase]], dict[str, list[Phrase]]]:
    """Return the phrases by their first word: those of dropped marks, and all others."""
    table = read_table(__package__, "phrases.toml")
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


_TABLE = read_table(__package__, "words.toml")
LISTS = {name: frozenset(_entries(text)) for name, text in _TABLE.items() if isinstance(text, str)}
GROUPS = {word: group for group, text in _TABLE["groups"].items() for word in _entries(text)}
COUNTRIES = frozenset(_entries(_TABLE["countries"]["names"]))
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


ME, WE, YOU = "§me", "§we", "§you"
HAN_FIRST = "\u3400"  # the first Chinese character; words of other scripts sort before it

PUNCTUATION = frozenset("?,;:—–+")
_ENDS = frozenset("?,;—–")
_CODE = re.compile(r"[a-z]\d|[a-z][/@._-][a-z]")  # hunter2, eva@a.org, feature/cache
_APPROXIMATE = frozenset(("about", "around", "etwa", "circa", "ca", "environ", "unos", "около"))

ARTICLES, AUXILIARY, PREPOSITIONS = LISTS["articles"], LISTS["auxiliary"], LISTS["prepositions"]
_POSSESSIVE, _PLURAL_POSSESSIVE = LISTS["possessive"], LISTS["plural_possessive"]
_OF, _NEWER, _CUTS = LISTS["of"], LISTS["newer"], LISTS["cuts"]
# Words that cannot be a subject on their own.
NO_SUBJECT = (
    PUNCTUATION | ARTICLES | AUXILIARY | PREPOSITIONS | _POSSESSIVE | _PLURAL_POSSESSIVE | _OF
    | _NEWER
)  # fmt: skip
_WITHOUT_CONTENT = (
    PUNCTUATION | ARTICLES | AUXILIARY | PREPOSITIONS | _OF | {"do", "does", "did"}
)  # fmt: skip
# Verbs that say who does it (vivo, usiamo).
IMPLIED = {
    **dict.fromkeys(LISTS["first_verbs"], ME),
    **dict.fromkeys(LISTS["first_plural_verbs"], WE),
}
_PERSONS = {
    **dict.fromkeys(LISTS["plural_person"] | _PLURAL_POSSESSIVE, WE),
    **dict.fromkeys(LISTS["you"], YOU),
    **dict.fromkeys(LISTS["first_person"] | LISTS["user"] | _POSSESSIVE, ME),
}


class Subject(NamedTuple):
    """Subject of a statement. Words are stems."""

    words: tuple[str, ...] = ()
    is_possessed: bool = False  # something of somebody: the director of X, my doctor
    is_newer: bool = False  # the words call it new or current


class NounClass(NamedTuple):
    """Number of values that a subject has at once."""

    is_attribute: bool = False  # one, such as a capital
    is_exact: bool = False  # one without a meaning of its own, such as a password
    is_several: bool = False  # perhaps several, such as friends


def stem(word: str) -> str:
    """Return a word without the endings that differ between forms of it."""
    if len(word) < 4 or word[0] in "@§":
        return word
    if "а" <= word[0] <= "я":
        return word.rstrip("аяуюеоийыь") if len(word) > 4 else word
    if word.endswith("oes"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def subject_of(before: list[SentenceWord], verb: str) -> Subject:
    """Return the subject that stands before a verb, from the last punctuation on."""
    names = [token.word for token in before]
    for place in range(len(names) - 1, -1, -1):
        if names[place] in PUNCTUATION:
            names = names[place + 1 :]
            break
    has_owner = "'s" in names[1:-1]
    if has_owner:  # "Eva's doctor" is "the doctor of Eva"
        at = names.index("'s")
        names = [*names[at + 1 :], *names[:at]]
    words = [
        _PERSONS.get(word, word)
        for word in names
        if word not in ARTICLES and word not in AUXILIARY and word not in _OF and word not in _NEWER
    ]
    if not words and verb in IMPLIED:
        words = [IMPLIED[verb]]
    if len(words) == 1 and words[0] in LISTS["pronouns"]:
        return Subject()
    if len(words) > 1 and (ME in words or WE in words):  # "my doctor" is "the doctor of me"
        words.sort(key=lambda word: word in (ME, WE))
    # A Russian genitive has no word of its own.
    is_genitive = len(words) > 1 and "а" <= words[0][0] <= "я"
    is_possessed = has_owner or is_genitive or not _POSSESSING.isdisjoint(names)
    return Subject(tuple(map(stem, words)), is_possessed, not _NEWER.isdisjoint(names))


_POSSESSING = _POSSESSIVE | _PLURAL_POSSESSIVE | _OF


def value_of(words: list[SentenceWord]) -> tuple[tuple[str, ...], bool]:
    """Return the words of a value up to a clause or punctuation, and if it is a name."""
    result: list[SentenceWord] = []
    for token in words:
        word = token.word
        if word in _ENDS or (result and word in _CUTS):
            break
        if result or not (word in PREPOSITIONS or word in _APPROXIMATE or word == ":"):
            result.append(token)
    is_name = bool(result) and (result[0].is_capital or bool(_CODE.search(result[0].word)))
    names = [token.word for token in result]
    if len(names) > 1 and names[0] in ARTICLES:
        names = names[1:]
    return tuple(names), is_name


def before_time(words: list[SentenceWord]) -> list[SentenceWord]:
    """Return the words before a date: Lviv of "Lviv in March"."""
    end = next((at for at, token in enumerate(words) if token.word[0] == "@"), len(words))
    while 0 < end < len(words) and words[end - 1].word in PREPOSITIONS:
        end -= 1
    return words[:end]


def content_of(words: list[SentenceWord], person: str | None) -> tuple[str, ...]:
    """Return the stems of the words that carry the meaning, after the person a verb implies."""
    result = [person] if person else []
    for token in words:
        word = token.word
        if word in _PERSONS:
            result.append(_PERSONS[word])
        elif word not in _WITHOUT_CONTENT:
            result.append(stem(word))
    return tuple(result)


# Words that make one of several: the official language, my best friend.
_ONLY = frozenset(("official", "original", "native", "best", "main", "primary", "favorite"))
_SEVERAL = frozenset(map(stem, LISTS["several_nouns"]))
_ATTRIBUTES = frozenset(map(stem, LISTS["attribute_nouns"]))
_EXACT = frozenset(map(stem, LISTS["exact_nouns"]))


def _han(name: str) -> tuple[str, ...]:
    return tuple(word for word in LISTS[name] if word[0] >= HAN_FIRST)


_HAN_SEVERAL, _HAN_ATTRIBUTES = _han("several_nouns"), _han("attribute_nouns")
_HAN_EXACT = _han("exact_nouns")


def noun_class(subject: tuple[str, ...]) -> NounClass:
    """Return how many values the noun of a subject has."""
    if not subject:
        return NounClass()
    if subject[0] >= HAN_FIRST:
        text = "".join(word for word in subject if word[0] != "§")
        is_several = text.endswith(_HAN_SEVERAL)
        is_attribute = text.endswith(_HAN_ATTRIBUTES) and not is_several
        return NounClass(is_attribute, text.endswith(_HAN_EXACT), is_several)
    return NounClass(
        not _ATTRIBUTES.isdisjoint(subject),
        not _EXACT.isdisjoint(subject),
        not _SEVERAL.isdisjoint(subject[:2]) and _ONLY.isdisjoint(subject),
    )


def group_of(value: tuple[str, ...]) -> str | None:
    """Return the group of a value, such as `drink`; None if it is in none."""
    return (GROUPS.get(value[0]) or GROUPS.get("".join(value))) if value else None


def is_country(value: tuple[str, ...]) -> bool:
    """Return True if the value is a country or a continent of the list."""
    return bool(value) and (value[-1] in COUNTRIES or "".join(value) in COUNTRIES)


def has_number(value: tuple[str, ...]) -> bool:
    """Return True if a word of the value begins with a digit."""
    return any(word[0].isdigit() for word in value)


def kind_of(value: tuple[str, ...], *, is_name: bool) -> str:
    """Return the kind of a value: `time`, `number`, `name` or `word`."""
    if any(word[0] == "@" for word in value[:2]):
        return "time"
    if value and (value[0][0].isdigit() or (_is_short(value) and has_number(value))):
        return "number"
    return "name" if is_name else "word"


def _is_short(value: tuple[str, ...]) -> bool:
    return len(value) < 3 or (value[0] >= HAN_FIRST and len(value) < 8)


# --- Find the marks and relations of a sentence ----------------------------------------------

_RUSSIAN_PAST = re.compile(r"[а-я]{2,}(?:л|ла|ло|ли|лся|лась|лись)")
_AGES = frozenset(("岁", "года", "лет", "год"))
_VISIBLE = frozenset(("past", "hedge", "plain"))  # marks whose words stay in the sentence
_YEAR = re.compile(r"(?:19|20)\d\d")
_YEAR_HINTS = frozenset(("in", "en", "nel", "в", "im", "jahr", "since", "seit"))
_RELATIVE = LISTS["relative"]
# Who or what the sentence speaks of stands in another one.
_INDEFINITE = LISTS["pronouns"] | _RELATIVE | LISTS["questions"] | LISTS["you"]


class RelationPlace(NamedTuple):
    """A relation and its words: from `start` to before `end`; the value ends before `gate`."""

    start: int
    end: int
    relation: Relation
    gate: int  # -1 for none


class Scan:
    """Marks and relations of one sentence, and its words without most marks."""

    def __init__(self, words: list[SentenceWord]) -> None:
        self.marks: set[str] = set()
        self.words: list[SentenceWord] = []
        self.relations: list[RelationPlace] = []
        self.replaced_at: list[int] = []  # places of values that no longer hold
        self._gates: set[int] = set()
        self._read(self._without_dropped(words))
        texts = [token.word for token in words]
        if "?" in texts or "吗" in texts:
            self.marks.add("question")
        if "may" in texts and SentenceWord("may", is_capital=False) in words:
            self.marks.add("hedge")
        if _is_indefinite(texts):
            self.marks.add("indefinite")

    def _without_dropped(self, words: list[SentenceWord]) -> list[SentenceWord]:
        texts = [token.word for token in words]
        if DROPPED.keys().isdisjoint(texts):
            return words
        result, place = [], 0
        while place < len(words):
            match = match_at(DROPPED, texts, place)
            if match is None:
                result.append(words[place])
                place += 1
            else:
                self.marks |= match.phrase.marks
                place = match.end
        return result

    def _read(self, words: list[SentenceWord]) -> None:
        texts = [token.word for token in words]
        places: dict[int, int] = {}  # of the words that stay
        place = 0
        while place < len(words):
            match = None
            if texts[place] in OTHERS and place not in self._gates:
                is_name = place and words[place].is_capital and texts[place] < HAN_FIRST
                match = None if is_name else match_at(OTHERS, texts, place)
            if match is not None:
                self._add(match, words[place : match.end])
                place = match.end
                continue
            if place not in self._gates:
                places[place] = len(self.words)
                self.words.append(words[place])
            place += 1
        self.relations = [
            entry if entry.gate < 0 else entry._replace(gate=places.get(entry.gate, -1))
            for entry in self.relations
        ]

    def _add(self, match: Match, words: list[SentenceWord]) -> None:
        phrase = match.phrase
        self.marks |= phrase.marks
        if phrase.relation is not None:
            start = len(self.words)
            self.words += words
            self.relations.append(
                RelationPlace(start, len(self.words), phrase.relation, match.gate)
            )
        elif phrase.marks <= _VISIBLE:
            self.words += words
        elif match.gate >= 0:
            self._gates |= set(range(match.gate, match.gate + len(phrase.gate)))
        if "replaced" in phrase.marks:
            self.replaced_at.append(len(self.words))

    def main_relation(self) -> RelationPlace | None:
        """Return the first relation with a subject that is not within a relative clause."""
        for number, entry in enumerate(self.relations):
            before = [token.word for token in self.words[: entry.start]]
            if NO_SUBJECT.issuperset(before):
                if self.words[entry.start].word in IMPLIED:
                    return entry
                continue
            if _is_another_word(self.words, entry.start, entry.end):
                continue
            is_last = number == len(self.relations) - 1
            is_relative = not _RELATIVE.isdisjoint(before[1:])
            if is_relative and (not is_last or entry.relation.rule != "copula"):
                continue
            return entry
        return _without_verb(self.words)

    def is_dated(self, entry: RelationPlace) -> bool:
        """Return True if a year outside the value says when the statement held."""
        for place, token in enumerate(self.words):
            if token.word[0] not in "12" or not _YEAR.fullmatch(token.word):
                continue
            if entry.start <= place <= entry.end + 1:
                continue
            before = self.words[place - 1].word if place else ""
            after = self.words[place + 1].word if place + 1 < len(self.words) else ""
            if not place or before in _YEAR_HINTS or after in ("年", "году", "г"):
                return True
        return False


def _is_indefinite(texts: list[str]) -> bool:
    first, following = texts[0], texts[1] if len(texts) > 1 else ""
    if first in ARTICLES and first != "that":  # "das Lager" names something, "das ist" does not
        return first in _INDEFINITE and (following in AUXILIARY or following in OTHERS)
    return first in _INDEFINITE


def _is_another_word(words: list[SentenceWord], start: int, end: int) -> bool:
    """Return True if a short verb is another word here: French "a", German "am", 喜欢的."""
    verb = words[start].word
    following = words[end].word if end < len(words) else ""
    if end - start == 1 and verb == "a":
        after = words[end + 1].word if end + 1 < len(words) else ""
        return not (following.isdigit() and after in ("an", "ans"))
    if end - start == 1 and verb == "am":
        return words[start - 1].word != "i"
    if verb in "—–":
        return words[0].word < "а"
    return following == "的"


_BARE = Relation("is", "copula", is_event=False)


def _without_verb(words: list[SentenceWord]) -> RelationPlace | None:
    """Return the place of the value of a sentence without a verb (Встреча в 9:30, 妮娜33岁)."""
    if not words or words[0].word < "а" or words[0].word[0] == "§":
        return None
    for place, token in enumerate(words):
        if place and _RUSSIAN_PAST.fullmatch(token.word):
            return None
        following = words[place + 1].word if place + 1 < len(words) else ""
        is_value = token.word[0] == "@" or (token.word.isdigit() and following in _AGES)
        if is_value and not NO_SUBJECT.issuperset(earlier.word for earlier in words[:place]):
            start = place
            while start > 1 and words[start - 1].word in PREPOSITIONS:
                start -= 1
            return RelationPlace(start, start, _BARE, -1)
    return None


# --- A statement: its sentences, and the keys to find it by ----------------------------------

LENGTH_MAX = 1_000  # characters of a statement; bounds the time and the cache
SENTENCES_MAX = 4  # of one statement; longer texts are not facts
WORDS_MAX = 60  # of one sentence
KEYS_MAX = 6
KEY_LENGTH_MAX = 64
_CONTENT_KEYS_MAX = 4
_REPLACED_WORDS_MAX = 5
_LABEL = re.compile(
    r"^(?:please\s+)?(?:(?P<update>update(?: this)?|correction|edit|change|korrektur|mise à jour"
    r"|actualización|aggiornamento|обновление|更新|更正)\s*:"
    r"|(?:remember|note|confirm|fyi|memo)(?:\s+that\b|\s*:))\s*",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"\*\*|^\s*[#|]|[`\\{}<>^=]|\w\(|\);")  # headings, tables, code, formulas


class Reading(NamedTuple):
    """One sentence as the rules see it. Words are normalised."""

    marks: frozenset[str]
    subject: Subject
    noun: NounClass
    relation: Relation | None
    value: tuple[str, ...]
    stems: tuple[str, ...]  # of the value
    is_name: bool  # the value is written like a name
    kind: str  # of the value: `time`, `number`, `name` or `word`
    content: tuple[str, ...]
    replaced: tuple[tuple[str, ...], ...]  # values that the sentence says no longer hold
    keys: tuple[str, ...]

    @property
    def times(self) -> tuple[str, ...]:
        """Dates, weekdays and times of the value."""
        return tuple(word for word in self.value if word[0] == "@")

    @property
    def rule(self) -> str:
        """Rule of the relation, empty without one."""
        return self.relation.rule if self.relation else ""

    @property
    def group(self) -> str | None:
        """Group of values to which the value belongs, such as `drink`."""
        return group_of(self.value)

    @property
    def is_update(self) -> bool:
        """True if the statement says that it is new."""
        return "now" in self.marks


def readings(statement: str) -> tuple[Reading, ...]:
    """Return the first sentences of a statement, read; an unreadable one is left out."""
    return read_start(statement[:LENGTH_MAX])


@lru_cache(maxsize=1_024)  # an entry has a few kilobytes
def read_start(statement: str) -> tuple[Reading, ...]:
    """Return the sentences of a text of at most LENGTH_MAX characters, read."""
    result = []
    for sentence in sentences(statement)[:SENTENCES_MAX]:
        if _MARKUP.search(sentence):
            continue
        label = _LABEL.match(sentence)
        words = tokens(sentence[label.end() :] if label else sentence)
        if 0 < len(words) <= WORDS_MAX:
            is_update = label is not None and label["update"] is not None
            result.append(_read(words, is_update=is_update))
    return tuple(result)


def _read(words: list[SentenceWord], *, is_update: bool) -> Reading:
    scan = Scan(words)
    entry = scan.main_relation()
    relation, subject = None, Subject()
    value: tuple[str, ...] = ()
    is_name = False
    if entry is not None:
        relation = entry.relation
        verb = scan.words[entry.start].word
        subject = subject_of(scan.words[: entry.start], verb)
        value, is_name = value_of(_value_words(scan, entry))
        if scan.is_dated(entry):
            scan.marks.add("past")
    if is_update or subject.is_newer:
        scan.marks.add("now")
    first = scan.words[0].word if scan.words else ""
    content = content_of(scan.words, IMPLIED.get(first) or IMPLIED.get(words[0].word))
    replaced = tuple(
        part
        for at in scan.replaced_at
        if (part := value_of(scan.words[at : at + _REPLACED_WORDS_MAX])[0])
    )
    keys = [f"{'_'.join(subject.words)}|{name}" for name in _attributes(subject, relation, value)]
    if content:
        keys += _content_keys(content, subject.words, value, replaced)
    return Reading(
        frozenset(scan.marks),
        subject,
        noun_class(subject.words),
        relation,
        value,
        tuple(map(stem, value)),
        is_name,
        kind_of(value, is_name=is_name),
        content,
        replaced,
        tuple(map(_short, dict.fromkeys(keys)))[:KEYS_MAX],
    )


def _value_words(scan: Scan, entry: RelationPlace) -> list[SentenceWord]:
    """Return the words of the value, up to the end of the phrase or to a value it replaces."""
    stop = min((at for at in scan.replaced_at if at >= entry.end), default=len(scan.words))
    if entry.gate >= entry.end:
        stop = min(stop, entry.gate)
    rest = scan.words[entry.end : stop]
    if entry.relation.rule == "copula" and rest and rest[0].word == "to":
        return []  # "my role is to help": an intention
    return before_time(rest) if entry.relation.rule == "name" else rest


def _content_keys(
    content: tuple[str, ...],
    subject: tuple[str, ...],
    value: tuple[str, ...],
    replaced: tuple[tuple[str, ...], ...],
) -> list[str]:
    """Return keys of the first word with words of the value, those that no longer hold first."""
    words = [word for word in map(stem, value) if word in content]
    if not words:
        words = [word for word in content[1:] if word not in subject]
    words = [*(stem(part[0]) for part in replaced), *words[:_CONTENT_KEYS_MAX]]
    return [f"{content[0]}~{word}" for word in words]


def _attributes(subject: Subject, relation: Relation | None, value: tuple[str, ...]) -> list[str]:
    """Return names of the attribute that another value of it has, too."""
    if relation is None or not subject.words or relation.rule == "past":
        return []
    name = relation.attribute
    if relation.rule in ("several", "version"):
        units = [word for word in value if not word[0].isdigit()]
        return [f"{name} {' '.join(units[:2])}"] if has_number(value) else []
    if relation.rule == "group":
        group = group_of(value)
        return [f"{name} {group}"] if group else []
    return [name]


def _short(key: str) -> str:
    if len(key) <= KEY_LENGTH_MAX:
        return key
    digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    return f"{key[: KEY_LENGTH_MAX - 17]}#{digest}"
