"""Find the names, identifiers, dates and amounts of a text by its characters, without a model.

A name is a run of capitalized words: people, places, projects, products. German capitalizes every
noun and a sentence its first word, so a single capitalized word counts there only if it has inner
capitals or occurs within a sentence too. Names in scripts without capitals are found in brackets
such as 《》 only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .languages import BY_CODE, LANGUAGES, detect, normalize
from .machine_text import own_words

CHARACTERS_MAX = 2_000  # of each side of a turn that are read
ENTITIES_MAX = 12  # of one turn; more are a list or a table, which associates little
NAME_WORDS_MAX = 4  # a longer run is a heading
NAME_CHARACTERS_MAX = 60

_CODE = re.compile(r"```.*?(?:```|\Z)|^(?: {4}|\t).*$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^\s*(?:#+ |[-*\d.)]*\s*\*\*|\|).*$", re.MULTILINE)
_SPEAKER = re.compile(r"\A\s*[^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2}: +")
_URL = re.compile(r"https?://([\w.-]{3,60})\S*")

_MONTHS = {name: month for one in LANGUAGES for name, month in one.months.items() if len(name) > 2}
_MONTH = "|".join(sorted({re.escape(name.capitalize()) for name in _MONTHS}, key=len, reverse=True))
_DATE = re.compile(
    r"(?<!\w)(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d\d?)(?:[-/.](?P<d>\d\d?))?\b"
    r"|(?P<hy>\d{4})年(?P<hm>\d\d?)月(?:(?P<hd>\d\d?)[日号號])?"
    r"|(?<!\w)(?P<md>\d\d?)(?:st|nd|rd|th|\.|er)?[ ](?:(?:of|de)[ ])?(?P<mm>[^\W\d_]{3,12})\b\.?"
    r"(?:,?[ ](?:de[ ])?(?P<my>(?:19|20)\d\d))?"
    rf"|(?<!\w)(?=[^\W\d_a-z][^\W\d_]{{2,12}}\.?[ ]\d)(?P<nm>{_MONTH})\.?[ ]"
    r"(?:(?P<nd>\d\d?)(?:st|nd|rd|th)?\b(?!:)(?:,?[ ](?P<ny>(?:19|20)\d\d)\b)?"
    r"|(?P<ly>(?:19|20)\d\d)\b)"
)
_UNITS = {
    "%": "%", "percent": "%", "prozent": "%", "€": "eur", "eur": "eur", "euro": "eur",
    "euros": "eur", "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "£": "gbp",
    "gbp": "gbp", "pounds": "gbp", "¥": "cny", "元": "cny", "km": "km", "m": "m", "cm": "cm",
    "mm": "mm", "miles": "mi", "kg": "kg", "g": "g", "mg": "mg", "lbs": "lb", "l": "l", "ml": "ml",
    "kb": "kb", "mb": "mb", "gb": "gb", "tb": "tb", "ms": "ms", "seconds": "s", "minutes": "min",
    "min": "min", "hours": "h", "h": "h", "stunden": "h", "heures": "h", "horas": "h", "days": "d",
    "tage": "d", "jours": "d", "dias": "d", "weeks": "wk", "wochen": "wk", "months": "mo",
    "years": "yr", "jahre": "yr", "ans": "yr", "degrees": "deg", "°c": "deg", "kcal": "kcal",
    "rpm": "rpm", "fps": "fps", "kw": "kw", "kwh": "kwh",
}  # fmt: skip
_UNIT = "|".join(sorted((re.escape(unit) for unit in _UNITS), key=len, reverse=True))
_AMOUNT = re.compile(
    r"(?P<before>[$€£¥])\s?(?P<bn>\d[\d.,]*\d|\d)"
    rf"|(?<![\w.,])(?P<n>\d[\d.,]*\d|\d)[ -]?(?P<unit>{_UNIT})(?![\w])",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"(?<![\w/.-])(?:"
    r"#\d{1,8}"
    r"|(?=[\w./-]*[^\W\d_])(?=[\w./-]*\d)[^\W_][\w]*(?:[-./_][\w]+){0,6}"  # QX7T2M, v1.2, a3.py
    r"|[^\W\d]\w*(?:[._/][^\W\d]\w+){1,6}(?:\(\))?"  # snake_case, dotted.name, a/path
    r")(?![\w])"
)
# Most words are skipped by their first letter; `isupper` decides about the others.
_CAPITAL = re.compile(
    r"(?<![^\W_\u3040-\u30ff\u3400-\u9fff])[^\W\d_a-z\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"[^\W_\u3040-\u30ff\u3400-\u9fff]*(?:['’-][^\W\d_]+)*"
)
_GAP = re.compile(r"[ ](?:(?:van|von|de|da|del|di|du|der|den|la|le)[ ]){0,2}")
_SENTENCE_START = re.compile(
    r"(?:\A|[.!?:;¡¿\n…。！？：；>\"“„«(*_#|•–—]|\d[.)])[\s\"“„«'(*_>-]*\Z"
)
_BRACKETS = re.compile(r"《([^《》\n]{1,40})》|[「『]([^「」『』，。\n]{1,12})[」』]")
_DIGIT = re.compile(r"\d")
_POSSESSIVE = re.compile(r"['’][sS]?\Z")
_COMMON = frozenset(  # capitalized words that are no names
    """
    i i'm i've i'd i'll ok okay yes no sure thanks thank please hi hello hey dear wow yeah yep
    bye hola gracias hallo danke bonjour merci salut привет спасибо absolutely great certainly
    definitely also however additionally finally first next then here there let let's what's
    that's it's step note example english german french spanish russian chinese mr mrs ms dr
    prof herr frau god congrats monday tuesday wednesday thursday friday saturday sunday montag
    dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi
    samedi dimanche lunes martes miércoles jueves viernes sábado domingo today tomorrow
    yesterday christmas easter image session assistant user ai tl;dr lol omg
    """.split()  # noqa: SIM905
)
_STOP = frozenset(
    word for code in ("en", "de", "fr", "es", "it", "pt", "nl", "ru") for word in BY_CODE[code].stop
)
KINDS = ("name", "identifier", "date", "amount")


class Entity(NamedTuple):
    """A name, identifier, date or amount of a text."""

    kind: str  # of KINDS
    key: str  # equal for the same thing
    text: str  # as the text writes it


def entity_keys(query: str, response: str) -> tuple[str, ...]:
    """Return the distinct keys of the entities of a turn without its machine notices.

    At most ENTITIES_MAX: names first, then identifiers, dates and amounts, those of the query
    first.
    """
    return tuple(entity.key for entity in entities_of_turn(query, response))


def entities_of_turn(query: str, response: str) -> list[Entity]:
    """Return the entities of a turn in the order of `entity_keys`, each as first written."""
    first: dict[str, Entity] = {}
    for text in own_words(query, response):
        for entity in entities(text):
            first.setdefault(entity.key, entity)
    return sorted(first.values(), key=lambda entity: KINDS.index(entity.kind))[:ENTITIES_MAX]


def entities(text: str) -> Iterator[Entity]:
    """Yield the entities of a text; an entity may occur several times."""
    text = _SPEAKER.sub("", text[:CHARACTERS_MAX])
    if "```" in text or "    " in text or "\t" in text:
        text = _CODE.sub(" ", text)
    if "\n" in text or "**" in text:
        text = _HEADING.sub("", text)
    spans: list[tuple[int, int]] = []
    for kind, pattern, read in _patterns(text):
        for match in pattern.finditer(text):
            key = "" if _overlaps(match, spans) else read(match)
            if key:
                spans.append(match.span())
                yield Entity(kind, f"{kind}:{key}", match[0].strip())
    yield from _names(text, spans)


def _patterns(
    text: str,
) -> Iterator[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]]:
    """Yield the kinds that the characters of a text allow, with the pattern and key of each."""
    if "://" in text:
        yield "identifier", _URL, _host
    if _DIGIT.search(text):
        yield "date", _DATE, _date
        yield "amount", _AMOUNT, _amount
    yield "identifier", _IDENTIFIER, _identifier


def _host(match: re.Match[str]) -> str:
    return match[1].lower().removeprefix("www.").rstrip(".")


def _date(match: re.Match[str]) -> str:
    """Return `2026-03-01`, `2026-03`, `--03-01`, or "" for a month alone."""
    groups = match.groupdict()
    year = groups["y"] or groups["hy"] or groups["my"] or groups["ny"] or groups["ly"]
    name = groups["mm"] or groups["nm"]
    month = _MONTHS.get(normalize(name), 0) if name else int(groups["m"] or groups["hm"])
    day = int(groups["d"] or groups["hd"] or groups["md"] or groups["nd"] or 0)
    if not 1 <= month <= 12 or day > 31 or not (year or day):
        return ""
    return f"{year or '-'}-{month:02d}" + (f"-{day:02d}" if day else "")


def _amount(match: re.Match[str]) -> str:
    number = (match["bn"] or match["n"]).rstrip(".,")
    number = re.sub(r"[.,](?=\d{3}(?!\d))", "", number).replace(",", ".")
    unit = _UNITS[(match["before"] or match["unit"]).lower()]
    return f"{number} {unit}"


def _identifier(match: re.Match[str]) -> str:
    text = match[0]
    if text[0] == "#" or len(text) >= 3:
        is_ordinal = re.fullmatch(r"\d+(?:st|nd|rd|th|s|x|am|pm|k)", text, re.IGNORECASE)
        return "" if is_ordinal or text.lower() in {"and/or", "e.g", "i.e", "n/a"} else text.lower()
    return ""


def _names(text: str, spans: list[tuple[int, int]]) -> Iterator[Entity]:
    words = [
        match
        for match in _CAPITAL.finditer(text)
        if match[0][0].isupper() and not _overlaps(match, spans)
    ]
    # A word that is also capitalized within a sentence is a name at the start of one.
    inner = {match[0] for match in words if not _starts_sentence(text, match.start())}
    run: list[re.Match[str]] = []
    for match in words:
        if run and not _GAP.fullmatch(text, run[-1].end(), match.start()):
            yield from _name(text, run, inner)
            run = []
        run.append(match)
    yield from _name(text, run, inner)
    for match in _BRACKETS.finditer(text):
        name = match[1] or match[2]
        yield Entity("name", f"name:{normalize(name)}", name)


def _overlaps(match: re.Match[str], spans: list[tuple[int, int]]) -> bool:
    start, end = match.span()
    return any(first < end and start < last for first, last in spans)


def _starts_sentence(text: str, place: int) -> bool:
    return _SENTENCE_START.search(text, max(0, place - 8), place) is not None


def _name(text: str, run: list[re.Match[str]], inner: set[str]) -> Iterator[Entity]:
    while run and _is_common(run[0][0]):
        run = run[1:]
    while run and _is_common(run[-1][0]):
        run = run[:-1]
    while run and run[0][0] not in inner and not _has_inner_capital(run[0][0]):
        run = run[1:]
    if not run or len(run) > NAME_WORDS_MAX:
        return
    if len(run) == 1 and not _has_inner_capital(run[0][0]) and _is_german(text):
        return
    name = _POSSESSIVE.sub("", text[run[0].start() : run[-1].end()])
    if 2 <= len(name) <= NAME_CHARACTERS_MAX:
        yield Entity("name", f"name:{normalize(name)}", name)


@lru_cache(maxsize=16)
def _is_german(text: str) -> bool:
    return detect(normalize(text[:400]).split(), text[:400]).code == "de"


def _is_common(word: str) -> bool:
    plain = normalize(word).replace("’", "'")
    first = plain.partition("'")[0]
    return plain in _COMMON or first in _STOP or first in _COMMON or first in _MONTHS


def _has_inner_capital(word: str) -> bool:
    return any(character.isupper() for character in word[1:])
