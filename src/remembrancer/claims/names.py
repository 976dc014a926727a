"""Names of people, places and things:

capitalised words where a language capitalises names alone, and what stands for that in others.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import resources

from ..search.text.languages import BY_CODE, LANGUAGES, normalize, unaccented
from .relative_dates import weekday_words
from .units import UNITS
from .values import Claim, Name

_WORD = re.compile(
    r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af][^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]*(?:['’-][^\W\d_\u3400-\u9fff]+)*"
)
_WITHIN = re.compile(r"[ ](?:(?:van|von|de|da|del|di|du|der|den|ten|la|le|bin|al)[ ]){0,2}")
_BEGINS = re.compile(r"(?:^|[.!?:;¡¿\n\u2026。！？：；|>\"“„«(*_#]|[-+•–—])[\s\"“„«'(*_>\x00-]*$")
_TABLE = tomllib.loads(resources.files(__package__).joinpath("names.toml").read_text("utf-8"))
_TITLES, _COMMON = frozenset(_TABLE["titles"].split()), frozenset(_TABLE["common"].split())
_MONTHS = frozenset(name for language in LANGUAGES for name in language.months)
_NO_NAMES = (
    _COMMON
    | _MONTHS
    | weekday_words()
    | frozenset(word.lower().rstrip("*") for word in UNITS if len(word) > 1)
)
_STOP = frozenset(
    word for code in ("en", "de", "fr", "es", "ru", "it", "pt", "nl") for word in BY_CODE[code].stop
)
_SURNAMES = "".join(_TABLE["surnames"].split())
_HAN = re.compile(
    rf"(?P<one>[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?)(?=先生|女士|小姐|老师|医生|教授|经理|律师|师傅|阿姨|叔叔)"
    rf"|(?:名叫|叫做|姓名是|是|叫)(?P<two>[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?)(?=[，。,.（( ]|$)"
    r"|《(?P<three>[^《》\n]{1,60})》"
)
_CYRILLIC = re.compile("[\u0400-\u052f]")
_POSSESSIVE = re.compile(r"['’](?:s|S)?$")
WORDS_MAX = 8  # of one name: more is a headline


def names(text: str, language: str) -> Iterator[Claim]:
    """The names of a text, in order.

    German writes every noun as a name: there only two in a row, or inner capitals, are one.
    """
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        if run and (not _is_capital(match[0]) or not _goes_on(text, run[-1], match)):
            yield from _named(text, run, language)
            run = []
        if _is_capital(match[0]):
            run.append(match)
    yield from _named(text, run, language)
    for match in _HAN.finditer(text):
        group = match.lastgroup or "one"
        yield Claim(
            "name", match.start(group), match.end(group), Name((match[group],), unspaced=True)
        )


def _goes_on(text: str, last: re.Match[str], following: re.Match[str]) -> bool:
    if _WITHIN.fullmatch(text, last.end(), following.start()):
        return True
    short = len(last[0]) == 1 or last[0].lower() in _TITLES
    return short and text[last.end() : following.start()] in {".", ". "}


def _is_capital(word: str) -> bool:
    return word[0].isupper()


def _named(text: str, run: list[re.Match[str]], language: str) -> Iterator[Claim]:
    begins = (
        bool(run) and _BEGINS.search(text[max(0, run[0].start() - 12) : run[0].start()]) is not None
    )
    before, greets = text[max(0, run[0].start() - 2) : run[0].start()] if run else "", begins
    titled = False
    first, last = 0, len(run)
    while first < last and _is_no_name(run[first][0]):
        titled = titled or run[first][0].lower() in _TITLES
        first, begins = first + 1, False
    greets = greets and not begins and not titled  # "Hello Anna, ..."
    while first < last and _is_no_name(run[last - 1][0]):
        last -= 1
    run = run[first:last]
    if not run or len(run) > WORDS_MAX:
        return
    behind = text[run[-1].end() : run[-1].end() + 1]
    if greets and behind in {",", "!", ".", ""}:
        return
    marked = [any(c.isupper() for c in match[0][1:]) and not match[0].isupper() for match in run]
    if (
        len(run) == 1
        and not marked[0]
        and not titled
        and (begins or language == "de" or run[0][0].isupper())
    ):
        return
    shown = run
    if begins and not marked[0] and not titled:
        shown = run[1:] or run  # the first word may be any
        if language == "de" and len(shown) < 2:
            return
    words = [part for match in shown for part in plain_word(match[0]).split("-") if len(part) > 1]
    if words:
        yield Claim(
            "name",
            run[0].start(),
            run[-1].end(),
            Name(tuple(words)),
            weak=before == ", " and behind in {"!", "?", "."},
        )


def _is_no_name(word: str) -> bool:
    plain = normalize(word)
    return (
        plain in _TITLES
        or plain in _NO_NAMES
        or plain in _STOP
        or re.split("['’]", plain)[0] in _STOP
    )


def plain_word(word: str) -> str:
    """A word as names are compared: without case, accents and the ending of possession."""
    plain = normalize(_POSSESSIVE.sub("", word))
    return plain.replace("ё", "е") if _CYRILLIC.match(plain) else unaccented(plain)  # й is no и
