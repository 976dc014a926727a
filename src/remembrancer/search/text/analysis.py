"""Text to terms: split events into passages with their words, and queries into words with variants.

A term is the CRC-32 of a normalised, stemmed word: 4 bytes, the same on every machine. Two words of
a space collide about once in 40,000 words; the extra match is tolerable in ranking.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from zlib import crc32

from .identifiers import identifier_names, identifiers
from .languages import (
    BY_CODE,
    FALLBACK,
    LANGUAGES,
    Language,
    detect,
    normalize,
    stem,
)
from .passages import side_passages
from .query_dates import DateHint, date_in
from .screening import instruction_like
from .unspaced import (
    HANGUL,
    UNSPACED,
    certain_pieces,
    character_pairs,
    lone_characters,
    query_pieces,
)

QUERY, RESPONSE = 0, 1  # the sides of an event
# flags of a part: it asks something; it speaks of a time; it seems to give orders to its reader; a
# program wrote it
QUESTION, TIME, SUSPECT, NOTICE = 1, 2, 4, 8
# and of its event: it repeats an earlier one; near duplicates count within its session only
REPEATED, IN_SESSION = 16, 32
COUNT_MAX = 255  # maximum count of a word in one part: it is stored in one byte
COMPOUND_CHARACTERS_MIN = 10  # shorter words are not split as compounds
PIECE_CHARACTERS_MIN = 4  # minimum length of a piece of a compound
PIECE_WEIGHT = 0.5  # of a piece of a compound, relative to the word

# Marks inside words (vowel signs, accents), up to the last plane that has any.
_COMBINING = "".join(
    chr(c) for c in range(0x300, 0x1F000) if unicodedata.category(chr(c)) in ("Mn", "Mc")
)
PIECE_CHARACTERS = 16_384  # of a long text, read at once
_SPACE = re.compile(r"\s")
_WORD = re.compile(rf"[^\W_]+(?:[{_COMBINING}]+[^\W_]*)*")
_ASCII_WORD = re.compile("[a-zA-Z0-9]+")
_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’\-]{0,30}(?: [^\W\d_][\w.'’\-]{0,30}){0,2}): +(?=\S)")
_QUESTION_END = re.compile(r"[?？؟;]\W*$")


@dataclass(slots=True)
class Passage:
    """A passage of one side of an event, as the index stores it."""

    side: int  # QUERY or RESPONSE
    language: int  # place in LANGUAGES
    flags: int
    speaker: int  # term of the name before the colon; 0 = none
    length: int  # number of content words, including the date
    terms: dict[int, int]  # term -> count
    text: str = field(repr=False)  # text to embed


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query: its possible terms in the index, each with a weight."""

    text: str  # as it was typed
    terms: dict[int, float]
    is_stop: bool
    in_pairs: bool = False  # of a script without spaces: indexed as pairs of characters
    is_joined: bool = False  # follows the word before it without a space


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A search query split into words."""

    text: str
    words: tuple[QueryWord, ...]
    asks_when: bool
    moment: DateHint | None
    required: tuple[frozenset[int], ...] = ()  # a text with this phrase has a term of each set


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """A query and its focus phrases, parsed for the languages of a space."""

    question: ParsedQuery
    phrases: Sequence[ParsedQuery]  # in the order of the request

    @property
    def words(self) -> tuple[QueryWord, ...]:
        """The words of the query, then those of the focus phrases; both are searched for alike."""
        return tuple(word for text in (self.question, *self.phrases) for word in text.words)


def term(word: str) -> int:
    """Return the number under which a normalised word is indexed."""
    return crc32(word.encode())


def analyze(
    *,
    query: str,
    response: str,
    topic: str | None,
    occurred_ms: int,
    is_machine: bool = False,
) -> list[Passage]:
    """Return the passages of an event in order; at least one.

    Machine notices have passages of their own. `is_machine`: the whole event is one.
    The indexed words include the date and the topic. The text to embed includes only the speaker: a
    date in it would pull all events of a day together.
    """
    date = datetime.fromtimestamp(occurred_ms / 1000, UTC)
    parts = [
        part
        for side, text in ((QUERY, query), (RESPONSE, response))
        if text.strip()
        for part in _parts(side, text, date, NOTICE if is_machine else 0)
    ]
    parts = parts or [Passage(QUERY, BY_CODE[FALLBACK].number, 0, 0, 0, {}, "")]
    if topic:
        language = LANGUAGES[parts[0].language]
        parts[0].length += _count(parts[0].terms, Counter(words(topic)), language)
    return parts


def _parts(side: int, text: str, date: datetime, event_flags: int) -> Iterator[Passage]:
    speaker_match = _SPEAKER.match(text)
    speaker = words(speaker_match[1]) if speaker_match else []
    speaker_words = Counter(speaker)
    passages = [(one, Counter(words(one.text))) for one in side_passages(text)]
    whole: Counter[str] = Counter()
    for _, counted in passages:
        whole.update(counted)
    language = detect(whole, text)
    for place, ((passage, is_notice), passage_words) in enumerate(passages):
        counts: dict[int, int] = {}
        length = _count(counts, passage_words, language)
        for number in _identifier_terms(passage, language):
            counts.setdefault(number, 1)  # code that repeats a name must not drown prose
        if place and speaker:
            length += _count(counts, speaker_words, language)
        for date_term in (term(str(date.day)), term(_month_word(date.month)), term(str(date.year))):
            counts[date_term] = counts.get(date_term, 0) + 1
        length += 3
        speaks_of_time = any(
            word in language.time or word.isdigit() for word in passage_words
        ) or _speaks_of_time(passage, language)
        flags = (
            (QUESTION if _QUESTION_END.search(passage) else 0)
            | (TIME if speaks_of_time else 0)
            | (SUSPECT if instruction_like(passage) else 0)
            | (NOTICE if is_notice else event_flags)
        )
        embedded = f"{speaker_match[1]}: {passage}" if place and speaker_match else passage
        yield Passage(
            side,
            language.number,
            flags,
            term(" ".join(speaker)) if speaker else 0,
            length,
            counts,
            embedded.strip(),
        )


def _identifier_terms(text: str, language: Language) -> Iterator[int]:
    """Yield the terms of whole identifiers, and of the words in names of mixed case."""
    for one in identifier_names(text):
        yield from map(_name_term, one.names)
        for word in one.humps:
            yield term(stem(word, language.number))


def _name_term(name: str) -> int:
    return term(f"`{name}")  # the sign makes it different from every word of a text


def _speaks_of_time(passage: str, language: Language) -> bool:
    """Return True if a text in a script without spaces has a word about time."""
    return bool(UNSPACED.search(passage) or HANGUL.search(passage)) and any(
        word in passage for word in language.time
    )


def _month_word(month: int) -> str:
    return f"month {month}"  # the space makes it different from every word of a text


def words(text: str) -> list[str]:
    """Return the normalised words of a text in order.

    Marks inside a word (Hindi vowel signs) do not end it. A long text is read piece by piece,
    because no other thread runs while a pattern is searched for.
    """
    result: list[str] = []
    start = 0
    while space := _SPACE.search(text, start + PIECE_CHARACTERS):
        result += _words(normalize(text[start : space.start()]))
        start = space.start()
    return result + _words(normalize(text[start:]))


def _words(normal: str) -> list[str]:
    # The same words, in a third of the time.
    return _ASCII_WORD.findall(normal) if normal.isascii() else _WORD.findall(normal)


def _count(counts: dict[int, int], text_words: Counter[str], language: Language) -> int:
    """Add the terms of words to `counts`; return the number of content words."""
    length = 0
    for word, times in text_words.items():
        terms, pieces = _terms(word, language.number)
        for number in (*terms, *pieces):
            counts[number] = counts.get(number, 0) + times
        length += len(terms) * times if word not in language.stop else 0
    return length


@lru_cache(maxsize=65_536)
def _terms(word: str, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the terms of a word of an event, and those of pieces that do not count as its length.

    These are the pieces of a compound, pairs of Hangul and lone Han characters.
    """
    if not word.isascii():
        if UNSPACED.search(word):
            pairs, lone = character_pairs(word), lone_characters(word)
            return tuple(map(term, pairs)), tuple(map(term, lone))
        if HANGUL.search(word):
            return (term(word),), tuple(map(term, character_pairs(word))) if len(word) > 1 else ()
    pieces = (
        {term(f"+{piece}") for piece in _pieces(word, number)}
        if LANGUAGES[number].compounds
        else ()
    )
    return (term(stem(word, number)),), tuple(pieces)


def _pieces(word: str, number: int) -> set[str]:
    """Return the stems of possible first and last parts of a long word.

    German, for example, forms Vertragsverlängerung from Vertrag and Verlängerung.
    """
    if len(word) < COMPOUND_CHARACTERS_MIN or not word.isalpha():
        return set()
    cuts = range(PIECE_CHARACTERS_MIN, len(word) - PIECE_CHARACTERS_MIN + 1)
    return {stem(piece, number) for cut in cuts for piece in (word[:cut], word[cut:])}


def parse_query(
    text: str, languages: Sequence[int] = (), *, is_phrase: bool = False
) -> ParsedQuery:
    """Split a query into words. `languages` are the numbers of the space's languages.

    Their stems are tried as well. Text without spaces is cut at its stop words, unless it is a
    phrase that must match as a whole.
    """
    query_words = words(text)
    own = detect(query_words, text)
    numbers = (own.number, *(number for number in languages if number != own.number))
    candidates = [LANGUAGES[number] for number in numbers]
    parsed: list[QueryWord] = []
    starts: list[int] = []  # in the text, of the words in `parsed`
    for match in _WORD.finditer(text):
        word = normalize(match[0])
        if not _WORD.fullmatch(word):  # case folding may split what was one word
            parsed += [_word(piece, match[0], numbers) for piece in words(match[0])]
        elif not is_phrase and not word.isascii() and UNSPACED.search(word):
            parsed += _unspaced_words(word, own)
        else:
            parsed.append(_word(word, match[0], numbers))
        starts += [match.start()] * (len(parsed) - len(starts))
    _add_identifiers(text, parsed, starts, candidates)
    asks_when = _asks_when(query_words, text, candidates)
    moment = date_in(query_words, text, candidates)
    required = _required(query_words, candidates) if is_phrase else ()
    return ParsedQuery(text, tuple(parsed), asks_when, moment, required)


def _asks_when(query_words: Sequence[str], text: str, languages: Sequence[Language]) -> bool:
    distinct = set(query_words)
    if any(not language.when.isdisjoint(distinct) for language in languages):
        return True
    if text.isascii():
        return False
    compact = normalize(text)
    return any(
        not word.isascii() and word in compact for language in languages for word in language.when
    )


def _required(
    phrase_words: Sequence[str], languages: Sequence[Language]
) -> tuple[frozenset[int], ...]:
    """Return the terms of a text that contains a phrase of these words: one of each set."""
    # a word between other scripts is indexed without stemming
    return tuple(
        frozenset({term(piece), *(term(stem(piece, one.number)) for one in languages)})
        for word in phrase_words
        for piece in certain_pieces(word)
    )


def parse_terms(query: str, phrases: Sequence[str], languages: Sequence[int]) -> SearchTerms:
    """Parse a query and its focus phrases; `languages` are the numbers of the space's languages."""
    return SearchTerms(
        parse_query(query, languages),
        tuple(parse_query(phrase, languages, is_phrase=True) for phrase in phrases),
    )


def _add_identifiers(
    text: str, parsed: list[QueryWord], starts: Sequence[int], candidates: Sequence[Language]
) -> None:
    """Add the terms of each identifier to the first of its words that is no stop word."""
    for one in identifiers(text):
        places = [at for at, start in enumerate(starts) if one.start <= start < one.end]
        if not places:
            continue
        first = next((at for at in places if not parsed[at].is_stop), places[0])
        humps = {
            term(stem(word, language.number)): PIECE_WEIGHT
            for word in one.humps
            for language in candidates
            if word not in language.stop
        }
        names = dict.fromkeys(map(_name_term, one.names), 1.0)
        parsed[first] = replace(
            parsed[first], terms=humps | parsed[first].terms | names, is_stop=False
        )


def _unspaced_words(word: str, own: Language) -> list[QueryWord]:
    return [
        QueryWord(
            piece.text,
            dict.fromkeys(map(term, piece.pairs), 1.0),
            piece.is_stop,
            in_pairs=True,
            is_joined=place > 0,
        )
        for place, piece in enumerate(query_pieces(word, own.number))
    ]


@lru_cache(maxsize=4_096)  # most queries of a space have words in common
def _word(word: str, original: str, languages: tuple[int, ...]) -> QueryWord:
    """Return a word of a query. The first of the languages (their numbers) is the query's own."""
    candidates = [LANGUAGES[number] for number in languages]
    terms: dict[int, float] = {}
    in_pairs = not word.isascii() and bool(UNSPACED.search(word))
    if in_pairs:
        pairs = character_pairs(word)
        terms = {term(pair): 1.0 for pair in pairs}
    elif not word.isascii() and HANGUL.search(word):
        terms = {term(pair): PIECE_WEIGHT for pair in character_pairs(word)} | {term(word): 1.0}
    else:
        for language in candidates:
            if language.compounds:
                terms |= (
                    {term(f"+{stem(word, language.number)}"): PIECE_WEIGHT}
                    if len(word) >= PIECE_CHARACTERS_MIN
                    else {}
                )
                terms |= {term(piece): PIECE_WEIGHT for piece in _pieces(word, language.number)}
        terms |= {term(stem(word, language.number)): 1.0 for language in candidates}
    month = next(
        (language.months[word] for language in candidates if word in language.months), None
    )
    if month and not (word == "may" and original != "May"):  # the English verb
        terms[term(_month_word(month))] = 1.0
    return QueryWord(original, terms, word in candidates[0].stop, in_pairs)


def highlight(
    text: str, query_words: Sequence[QueryWord], languages: Sequence[int]
) -> list[tuple[int, int]]:
    """Return where words of a query occur in a text, ignoring endings: (start, end), in order.

    Ranges are in characters and do not overlap. `languages` are the numbers of the possible
    languages of the text. Stop words are ignored unless the query has no others.
    """
    content_words = [word for word in query_words if not word.is_stop] or list(query_words)
    terms = {
        number for word in content_words for number, weight in word.terms.items() if weight == 1.0
    }
    ranges: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        word = normalize(match[0])
        pairs = (
            character_pairs(word) if UNSPACED.search(word) and len(word) == len(match[0]) else []
        )
        if not pairs and any(
            number in terms for number in languages for number in _terms(word, number)[0]
        ):
            ranges.append(match.span())
        for at in range(len(word) - 1) if pairs else ():
            if term(word[at : at + 2]) in terms:
                start, end = match.start() + at, match.start() + at + 2
                if ranges and ranges[-1][1] >= start:
                    start = ranges.pop()[0]
                ranges.append((start, end))
    return ranges


def contains(text: str, phrase: str) -> bool:
    """Return True if a text contains a word or phrase exactly.

    Case, width and spacing are ignored; matches end at word boundaries in scripts with spaces.
    """
    needle = " ".join(normalize(phrase).split())
    haystack = " ".join(normalize(text).split())
    if not needle:
        return False
    start = haystack.find(needle)
    while start >= 0:
        end = start + len(needle)
        if _is_boundary(haystack, start, needle[0], -1) and _is_boundary(
            haystack, end, needle[-1], 0
        ):
            return True
        start = haystack.find(needle, start + 1)
    return False


def _is_boundary(text: str, place: int, own: str, step: int) -> bool:
    at = place + step
    if not 0 <= at < len(text):
        return True
    other = text[at]
    joined = all(one.isalnum() or unicodedata.category(one)[0] == "M" for one in (other, own))
    return not joined or bool(UNSPACED.match(other) or UNSPACED.match(own) or HANGUL.match(own))


def terms(text: str) -> set[int]:
    """Return the terms of the content words of a text: those that are not stop words."""
    return {term for word in parse_query(text).words if not word.is_stop for term in word.terms}
