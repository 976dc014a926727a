"""Text to terms: events are taken apart into parts with their words, questions into words with
their variants.

A term is the CRC-32 of a normalised, stemmed word: 4 bytes, the same on every machine. Two of a
space's words share a term about once in 40,000 words; then one finds the other's events too, which
ranking bears.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from zlib import crc32

from .languages import BY_CODE, FALLBACK, LANGUAGES, Language, detect, normalize, stem
from .screening import instruction_like

PASSAGE_CHARACTERS = 1_200  # about 300 tokens; shorter texts stay whole
PASSAGES_MAX = 64  # of one side; a longer text gets longer passages
_BREAKS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?。！？؟])\s*"),
    re.compile(r"\s+"),
)

QUERY, RESPONSE = 0, 1  # the sides of an event
# flags of a part: it asks something; it speaks of a time; it seems to give orders to its reader
QUESTION, TIME, SUSPECT = (
    1,
    2,
    4,
)
COUNT_MAX = 255  # how often a word counts in one part: it is kept in one byte
COMPOUND_CHARACTERS_MIN = 10  # a shorter word is not taken for a compound
PIECE_CHARACTERS_MIN = 4  # the shortest piece of a compound
PIECE_WEIGHT = 0.5  # a piece of a compound says less than the word itself

# Marks that stand inside words (vowel signs, accents), up to the last plane that has any.
_COMBINING = "".join(
    chr(c) for c in range(0x300, 0x1F000) if unicodedata.category(chr(c)) in ("Mn", "Mc")
)
_WORD = re.compile(rf"[^\W_]+(?:[{_COMBINING}]+[^\W_]*)*")
# Writing without spaces between words: Han, kana, Thai, Lao, Khmer, Burmese. Hangul has spaces, but
# its words carry endings.
_UNSPACED = re.compile(
    "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3040-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_HANGUL = re.compile("[\uac00-\ud7af]+")
_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’\-]{0,30}(?: [^\W\d_][\w.'’\-]{0,30}){0,2}): +(?=\S)")
_ASKS = re.compile(r"[?？؟;]\W*$")
_ISO_DATE = re.compile(r"\b((?:19|20)\d\d)-(\d\d?)(?:-(\d\d?))?\b")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")


@dataclass(slots=True)
class Passage:
    """A passage of one side of an event, as the index sees it."""

    side: int  # QUERY or RESPONSE
    language: int  # place in LANGUAGES
    flags: int
    speaker: int  # term of the name before the colon; 0 = none
    length: int  # words that carry meaning, dates included
    terms: dict[int, int]  # term -> how often
    text: str = field(repr=False)  # what is to be embedded


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a question: the terms it may stand as in the index, each with its weight."""

    text: str  # as it was typed
    terms: dict[int, float]
    is_stop: bool
    in_pairs: bool = False  # its writing is not spaced: it stands as its characters two by two


@dataclass(frozen=True, slots=True)
class DateHint:
    """A time a question names: a year, a month, a day of the month; each may be open."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A search query taken apart."""

    text: str
    words: tuple[QueryWord, ...]
    asks_when: bool
    moment: DateHint | None


def term(word: str) -> int:
    """The number a normalised word is indexed under."""
    return crc32(word.encode())


def analyze(*, query: str, response: str, topic: str | None, occurred_ms: int) -> list[Passage]:
    """The parts of an event, in the order they were said; at least one.

    The indexed words carry the date and the topic; the text to embed carries the speaker only: a
    date in it would pull all events of a day together.
    """
    when = datetime.fromtimestamp(occurred_ms / 1000, UTC)
    parts = [
        part
        for side, text in ((QUERY, query), (RESPONSE, response))
        if text.strip()
        for part in _parts(side, text, when)
    ]
    parts = parts or [Passage(QUERY, BY_CODE[FALLBACK].number, 0, 0, 0, {}, "")]
    if topic:
        language = LANGUAGES[parts[0].language]
        found = Counter(parts[0].terms)
        parts[0].length += _count(found, words(topic), language)
        parts[0].terms = dict(found)
    return parts


def _parts(side: int, text: str, when: datetime) -> Iterator[Passage]:
    named = _SPEAKER.match(text)
    speaker = words(named[1]) if named else []
    whole = words(text)
    language = detect(whole, text)
    for place, passage in enumerate(passages(text)):
        spoken = words(passage) if len(passage) != len(text) else whole
        found: Counter[int] = Counter()
        length = _count(found, spoken, language)
        if place and speaker:
            length += _count(found, speaker, language)
        for date_term in (term(str(when.day)), term(_month_word(when.month)), term(str(when.year))):
            found[date_term] += 1
        length += 3
        speaks_of_time = any(
            word in language.time or word.isdigit() for word in spoken
        ) or _speaks_of_time(passage, language)
        flags = (
            (QUESTION if _ASKS.search(passage) else 0)
            | (TIME if speaks_of_time else 0)
            | (SUSPECT if instruction_like(passage) else 0)
        )
        embedded = f"{named[1]}: {passage}" if place and named else passage
        yield Passage(
            side,
            language.number,
            flags,
            term(" ".join(speaker)) if speaker else 0,
            length,
            dict(found),
            embedded.strip(),
        )


def _speaks_of_time(passage: str, language: Language) -> bool:
    """Whether a word of time stands in a text whose words are not spaced."""
    return bool(_UNSPACED.search(passage) or _HANGUL.search(passage)) and any(
        word in passage for word in language.time
    )


def _month_word(month: int) -> str:
    return f"month {month}"  # with a space: no word of a text can be the same


def words(text: str) -> list[str]:
    """The words of a text, normalised, in order.

    Marks inside a word (Hindi vowel signs) do not end it.
    """
    return _WORD.findall(normalize(text))


def _count(found: Counter[int], spoken: Iterable[str], language: Language) -> int:
    """Add the terms of these words to `found`; returns how many of them carry meaning."""
    length = 0
    for word in spoken:
        terms, pieces = _terms(word, language.number)
        for one in terms:
            found[one] += 1
        for one in pieces:
            found[one] += 1
        length += len(terms) if word not in language.stop else 0
    return length


@lru_cache(maxsize=65_536)
def _terms(word: str, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The terms a word of an event is indexed under, and those of the pieces it is joined from."""
    if not word.isascii():
        if _UNSPACED.search(word):
            return tuple(map(term, _pairs(word))), ()
        if _HANGUL.search(word):
            return (term(word),), tuple(map(term, _pairs(word))) if len(word) > 1 else ()
    pieces = (
        {term(f"+{piece}") for piece in _pieces(word, number)}
        if LANGUAGES[number].compounds
        else ()
    )
    return (term(stem(word, number)),), tuple(pieces)


def _pairs(word: str) -> list[str]:
    """Characters two by two where words are not spaced, whole words where they are; a lone
    character stays alone.
    """
    found: list[str] = []
    rest = 0
    for run in _UNSPACED.finditer(word) if not _HANGUL.search(word) else _HANGUL.finditer(word):
        if run.start() > rest:
            found.append(word[rest : run.start()])
        found += [run[0][i : i + 2] for i in range(max(1, len(run[0]) - 1))]
        rest = run.end()
    return found + ([word[rest:]] if rest < len(word) else [])


def _pieces(word: str, number: int) -> set[str]:
    """Stems of what a long word may begin or end with:

    German writes Vertragsverlängerung for the Verlängerung of a Vertrag.
    """
    if len(word) < COMPOUND_CHARACTERS_MIN or not word.isalpha():
        return set()
    cuts = range(PIECE_CHARACTERS_MIN, len(word) - PIECE_CHARACTERS_MIN + 1)
    return {stem(piece, number) for cut in cuts for piece in (word[:cut], word[cut:])}


def parse_query(text: str, languages: Sequence[int] = ()) -> ParsedQuery:
    """Take a question apart; `languages` are the numbers of those the space holds, so that its
    stems are tried too.
    """
    spoken = words(text)
    own = detect(spoken, text)
    tried = [own, *(LANGUAGES[n] for n in languages if n != own.number)]
    found: list[QueryWord] = []
    for match in _WORD.finditer(text):
        word = normalize(match[0])
        if not _WORD.fullmatch(word):  # case folding may split what was one word
            found += [_word(piece, match[0], tried, own) for piece in words(match[0])]
        else:
            found.append(_word(word, match[0], tried, own))
    compact = normalize(text)
    asks_when = any(
        w in spoken or (not w.isascii() and w in compact)
        for language in tried
        for w in language.when
    )
    return ParsedQuery(text, tuple(found), asks_when, _moment(spoken, text, tried))


def _word(word: str, typed: str, tried: Sequence[Language], own: Language) -> QueryWord:
    terms: dict[int, float] = {}
    in_pairs = not word.isascii() and bool(_UNSPACED.search(word))
    if in_pairs:
        pairs = _pairs(word)
        terms = {term(pair): 1.0 for pair in pairs}
    elif not word.isascii() and _HANGUL.search(word):
        terms = {term(pair): PIECE_WEIGHT for pair in _pairs(word)} | {term(word): 1.0}
    else:
        for language in tried:
            if language.compounds:
                terms |= (
                    {term(f"+{stem(word, language.number)}"): PIECE_WEIGHT}
                    if len(word) >= PIECE_CHARACTERS_MIN
                    else {}
                )
                terms |= {term(piece): PIECE_WEIGHT for piece in _pieces(word, language.number)}
        terms |= {term(stem(word, language.number)): 1.0 for language in tried}
    month = next((language.months[word] for language in tried if word in language.months), None)
    if month and not (word == "may" and typed != "May"):  # the English verb
        terms[term(_month_word(month))] = 1.0
    return QueryWord(typed, terms, word in own.stop, in_pairs)


def _moment(spoken: Sequence[str], text: str, tried: Sequence[Language]) -> DateHint | None:
    """The time a question names, if it names a month or a full date."""
    if iso := _ISO_DATE.search(text):
        month = int(iso[2])
        return (
            DateHint(int(iso[1]), month, int(iso[3]) if iso[3] else None)
            if 1 <= month <= 12
            else None
        )
    year = next((int(word) for word in spoken if _YEAR.fullmatch(word)), None)
    for place, word in enumerate(spoken):
        near = [spoken[i] for i in (place - 1, place + 1, place - 2) if 0 <= i < len(spoken)]
        days = [
            int(day[1])
            for other in near
            if (day := _DAY.fullmatch(other)) and 1 <= int(day[1]) <= 31
        ]
        # A month of a language that nothing else speaks for counts beside a number only: "mars" is
        # a planet, too.
        known = LANGUAGES if days else tried
        month = next((language.months[word] for language in known if word in language.months), 0)
        if month and not (word == "may" and "May" not in text):
            return DateHint(year, month, next(iter(days), None))
    if unspaced := re.search(
        r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(?:(\d{1,2})\s*[日일])?", normalize(text)
    ):
        month = int(unspaced[2])
        named_year, named_day = unspaced[1], unspaced[3]
        return (
            DateHint(
                int(named_year) if named_year else year,
                month,
                int(named_day) if named_day else None,
            )
            if 1 <= month <= 12
            else None
        )
    return None


def highlight(
    text: str, wanted: Sequence[QueryWord], languages: Sequence[int]
) -> list[tuple[int, int]]:
    """Where words of a question stand in a text, their endings aside: (start, end) in characters,
    in order, none within another.

    `languages` are the numbers of those the text may be in. Words that only hold a question
    together are left out, unless it has no others.
    """
    meant = [word for word in wanted if not word.is_stop] or list(wanted)
    terms = {one for word in meant for one, weight in word.terms.items() if weight == 1.0}
    found: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        word = normalize(match[0])
        pairs = _pairs(word) if _UNSPACED.search(word) and len(word) == len(match[0]) else []
        if not pairs and any(
            one in terms for number in languages for one in _terms(word, number)[0]
        ):
            found.append(match.span())
        for at in range(len(word) - 1) if pairs else ():
            if term(word[at : at + 2]) in terms:
                start, end = match.start() + at, match.start() + at + 2
                if found and found[-1][1] >= start:
                    start = found.pop()[0]
                found.append((start, end))
    return found


def contains(text: str, phrase: str) -> bool:
    """Whether a text holds a word or phrase exactly:

    case, width and spacing aside, at word ends where words are spaced.
    """
    wanted = " ".join(normalize(phrase).split())
    held = " ".join(normalize(text).split())
    if not wanted:
        return False
    start = held.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if _at_edge(held, start, wanted[0], -1) and _at_edge(held, end, wanted[-1], 0):
            return True
        start = held.find(wanted, start + 1)
    return False


def _at_edge(held: str, place: int, own: str, step: int) -> bool:
    at = place + step
    if not 0 <= at < len(held):
        return True
    other = held[at]
    joined = (other.isalnum() or unicodedata.category(other)[0] == "M") and own.isalnum()
    return not joined or bool(_UNSPACED.match(other) or _UNSPACED.match(own) or _HANGUL.match(own))


def passages(text: str) -> list[str]:
    """Cut a text at paragraphs, lines, sentences or words, in that order of liking; joined, they
    are the text again.
    """
    size = max(PASSAGE_CHARACTERS, -(-len(text) // PASSAGES_MAX))
    found, start = [], 0
    while len(text) - start > size:
        end = start + _cut(text[start : start + size])
        found.append(text[start:end])
        start = end
    return [*found, text[start:]]


def _cut(window: str) -> int:
    for pattern in _BREAKS:
        ends = [
            match.end()
            for match in pattern.finditer(window, len(window) // 2)
            if match.end() < len(window)
        ]
        if ends:
            return ends[-1]
    return len(window)


def terms(text: str) -> set[int]:
    """Return the terms of the content words of a text: those that are not stop words."""
    return {term for word in parse_query(text).words if not word.is_stop for term in word.terms}
