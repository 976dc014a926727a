"""Find names of people, places and things: capitalized words, and the equivalent in Chinese."""

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
    r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]*(?:['’-][^\W\d_\u3400-\u9fff]+)*"
)
_NAME_GAP = re.compile(r"[ ](?:(?:van|von|de|da|del|di|du|der|den|ten|la|le|bin|al)[ ]){0,2}")
_SENTENCE_START = re.compile(
    r"(?:^|[.!?:;¡¿\n\u2026。！？：；|>\"“„«(*_#]|[-+•–—])[\s\"“„«'(*_>\x00-]*$"
)
_TABLE = tomllib.loads(resources.files(__package__).joinpath("names.toml").read_text("utf-8"))
_TITLES, _COMMON_WORDS = frozenset(_TABLE["titles"].split()), frozenset(_TABLE["common"].split())
_MONTHS = frozenset(name for language in LANGUAGES for name in language.months)
_NOT_NAMES = (
    _COMMON_WORDS
    | _MONTHS
    | weekday_words()
    | frozenset(word.lower().rstrip("*") for word in UNITS if len(word) > 1)
)
_STOP = frozenset(
    word for code in ("en", "de", "fr", "es", "ru", "it", "pt", "nl") for word in BY_CODE[code].stop
)
_SURNAMES = "".join(_TABLE["surnames"].split())
_HAN = re.compile(
    rf"(?P<one>[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?)"
    r"(?=先生|女士|小姐|老师|医生|教授|经理|律师|师傅|阿姨|叔叔)"
    rf"|(?:名叫|叫做|姓名是|是|叫)(?P<two>[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?)(?=[，。,.（( ]|$)"
    r"|《(?P<three>[^《》\n]{1,60})》"
)
_CYRILLIC = re.compile("[\u0400-\u052f]")
_POSSESSIVE = re.compile(r"['’](?:s|S)?$")
WORDS_MAX = 8  # of one name; a longer run is a headline


def names(text: str, language: str) -> Iterator[Claim]:
    """Yield the names of a text in order.

    German capitalizes every noun: there, a name has two words in a row or inner capitals.
    """
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        if run and (not _is_capital(match[0]) or not _continues_name(text, run[-1], match)):
            yield from _name_claims(text, run, language)
            run = []
        if _is_capital(match[0]):
            run.append(match)
    yield from _name_claims(text, run, language)
    for match in _HAN.finditer(text):
        group = match.lastgroup or "one"
        yield Claim(
            "name", match.start(group), match.end(group), Name((match[group],), unspaced=True)
        )


def _continues_name(text: str, last: re.Match[str], following: re.Match[str]) -> bool:
    if _NAME_GAP.fullmatch(text, last.end(), following.start()):
        return True
    short = len(last[0]) == 1 or last[0].lower() in _TITLES
    return short and text[last.end() : following.start()] in {".", ". "}


def _is_capital(word: str) -> bool:
    return word[0].isupper()


def _name_claims(text: str, run: list[re.Match[str]], language: str) -> Iterator[Claim]:
    at_sentence_start = (
        bool(run)
        and _SENTENCE_START.search(text[max(0, run[0].start() - 12) : run[0].start()]) is not None
    )
    before, may_be_greeting = (
        text[max(0, run[0].start() - 2) : run[0].start()] if run else "",
        at_sentence_start,
    )
    has_title = False
    first, last = 0, len(run)
    while first < last and _is_common_word(run[first][0]):
        has_title = has_title or run[first][0].lower() in _TITLES
        first, at_sentence_start = first + 1, False
    may_be_greeting = (
        may_be_greeting and not at_sentence_start and not has_title
    )  # "Hello Anna, ..."
    while first < last and _is_common_word(run[last - 1][0]):
        last -= 1
    run = run[first:last]
    if not run or len(run) > WORDS_MAX:
        return
    following = text[run[-1].end() : run[-1].end() + 1]
    if may_be_greeting and following in {",", "!", ".", ""}:
        return
    has_inner_capital = [
        any(c.isupper() for c in match[0][1:]) and not match[0].isupper() for match in run
    ]
    if (
        len(run) == 1
        and not has_inner_capital[0]
        and not has_title
        and (at_sentence_start or language == "de" or run[0][0].isupper())
    ):
        return
    name_matches = run
    if at_sentence_start and not has_inner_capital[0] and not has_title:
        name_matches = run[1:] or run  # the first word is capitalized in any case
        if language == "de" and len(name_matches) < 2:
            return
    words = [
        part
        for match in name_matches
        for part in normalize_name(match[0]).split("-")
        if len(part) > 1
    ]
    if words:
        yield Claim(
            "name",
            run[0].start(),
            run[-1].end(),
            Name(tuple(words)),
            weak=before == ", " and following in {"!", "?", "."},
        )


def _is_common_word(word: str) -> bool:
    plain = normalize(word)
    return (
        plain in _TITLES
        or plain in _NOT_NAMES
        or plain in _STOP
        or re.split("['’]", plain)[0] in _STOP
    )


def normalize_name(word: str) -> str:
    """Return a word without case, accents and possessive ending, for comparison."""
    plain = normalize(_POSSESSIVE.sub("", word))
    return (
        plain.replace("ё", "е") if _CYRILLIC.match(plain) else unaccented(plain)
    )  # й differs from и
