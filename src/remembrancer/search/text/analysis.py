"""Text to terms: split events into passages with their words, and queries into words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import compress
from typing import NamedTuple
from zlib import crc32

from ...screening import instruction_like
from .languages import (
    BY_CODE,
    FALLBACK,
    LANGUAGES,
    MONTH_WORDS,
    Language,
    detect,
    ends_with,
    normalize,
    stem,
)
from .machine_text import Segment, disclaims, segments

# --- Scripts without spaces between words: indexed as pairs of characters, queries cut into words
# A query is cut at its function words (the stop words of the language). The pieces between them are
# about words; their pairs of characters match the index. Word segmenters did no better
# (docs/decisions/0029-words-without-spaces.md).

# Han, kana, Thai, Lao, Khmer, Burmese. Hangul has spaces, but its words have endings.
UNSPACED = re.compile(
    "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3040-\u30ff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
HANGUL = re.compile("[\uac00-\ud7af]+")
_RUNS = re.compile(f"{UNSPACED.pattern}|{HANGUL.pattern}")

_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LONE = re.compile(f"(?<![{_HAN}])[{_HAN}](?![{_HAN}])")


class Piece(NamedTuple):
    """A part of a word of a query that is searched for on its own."""

    text: str
    is_stop: bool
    pairs: tuple[str, ...]  # pairs of characters, or words of other scripts


def character_pairs(word: str) -> list[str]:
    """Split text in scripts without spaces into pairs of characters, and keep other words whole.

    A single character stays alone.
    """
    pieces: list[str] = []
    rest = 0
    for run in _RUNS.finditer(word):
        if run.start() > rest:
            pieces.append(word[rest : run.start()])
        pieces += [run[0][i : i + 2] for i in range(max(1, len(run[0]) - 1))]
        rest = run.end()
    return pieces + ([word[rest:]] if rest < len(word) else [])


def certain_pieces(word: str) -> list[str]:
    """Return the pieces of a word that the index has for every text that contains it.

    The text may go on before and after it without a space. A single character may then be in
    another pair, so it is none of them.
    """
    return [
        piece
        for piece in character_pairs(word)
        if len(piece) > 1 or not (UNSPACED.match(piece) or HANGUL.match(piece))
    ]


def lone_characters(word: str) -> list[str]:
    """Return the Han characters between other scripts: in Japanese, each is a word or its stem.

    Empty for a word of one character, which is indexed as it is.
    """
    return _LONE.findall(word) if len(word) > 1 else []


def query_pieces(word: str, number: int) -> list[Piece]:
    """Cut a word of a query at the stop words of a language; joined, the pieces equal the word.

    A piece of one character has the pairs that contain it too: in Chinese, the index has no single
    characters inside a longer run.
    """
    pieces, rest, pattern = [], 0, _stop_pattern(number)
    stops = [match.span() for match in pattern.finditer(word)] if pattern else []
    for start, end in [*stops, (len(word), len(word))]:
        if start > rest:
            pieces.append(_piece(word, rest, start, is_stop=False))
        if end > start:
            pieces.append(_piece(word, start, end, is_stop=True))
        rest = end
    return pieces


def _piece(word: str, start: int, end: int, *, is_stop: bool) -> Piece:
    text = word[start:end]
    if len(text) == 1 and UNSPACED.match(text):
        around = word[max(0, start - 1) : end + 1]
        pairs = [text, *(pair for pair in character_pairs(around) if text in pair)]
    else:
        pairs = character_pairs(text)
    return Piece(text, is_stop, tuple(pairs))


@lru_cache(maxsize=64)
def _stop_pattern(number: int) -> re.Pattern[str] | None:
    """Return a pattern of the stop words of a language, longest first; None if it has none."""
    stop = sorted(LANGUAGES[number].stop, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, stop))) if stop else None


# --- Recognise identifiers, paths, versions, options and error codes in text -----------------
# The words inside are analysed like any others. Here they are also joined again, so that an exact
# identifier finds its turn, and mixed case is split, so that plain words find `getUserById`.

CHARACTERS_MAX = 200  # a longer token is data, such as a hash or base64
# Tokens with a sign inside (paths, versions, options, pairs of key and value), words joined by
# underscores, and mixed case. `\w` matches the underscore. Each alternative starts at a boundary:
# otherwise a long word would be read again from each of its letters.
_TOKEN = re.compile(
    r"(?:(?<![\w-])--?)?\b\w+(?:[-./:=@]{1,2}\w+)+|(?<![^\W_])[^\W_]++(?:_+[^\W_]++)+"
    r"|\b[A-Za-z]*(?:[a-z][A-Z]|[A-Z]{2}[a-z])\w*"
)
_SEPARATOR = re.compile(r"[/:=@]+")
_MIXED = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_VERSION = re.compile(r"v?(\d+(?:\.\d+){2,})")
_SIGN = re.compile(r"[-./:=@_]")
_NO_LETTER = re.compile(r"[\W_\d]+")
_PUNCTUATION = ".,;:!?()[]{}\"'"
_PLAIN = re.compile(r"[a-z]+(?:-[a-z]+)+|[\d.,:/=-]+")  # a word with hyphens; a date, a number


class Identifier(NamedTuple):
    """An identifier in a text."""

    start: int
    end: int
    names: tuple[str, ...]  # lower case: the whole, and its parts that are identifiers themselves
    humps: tuple[str, ...]  # lower case: the words of names in mixed case


def identifiers(text: str) -> Iterator[Identifier]:
    """Yield the identifiers of a text in order, not overlapping."""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if len(token) <= CHARACTERS_MAX:
            names, humps = _analysed(token)
            if names or humps:
                yield Identifier(*match.span(), names, humps)


def identifier_names(text: str) -> Iterator[Identifier]:
    """Yield the identifiers of a text, each token between spaces once, wherever it is repeated.

    Their places are those within the token. A long text repeats most of its words.
    """
    for token in dict.fromkeys(text.split()):
        word = token.strip(_PUNCTUATION)
        if word.isalpha() and word[1:].islower():
            continue  # most of prose
        yield from _in_token(token) if len(token) <= CHARACTERS_MAX else identifiers(token)


@lru_cache(maxsize=16_384)
def _in_token(token: str) -> tuple[Identifier, ...]:
    return tuple(identifiers(token))


@lru_cache(maxsize=16_384)
def _analysed(token: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    whole = token.lstrip("-")
    parts = [part for part in _SEPARATOR.split(whole) if part]
    dotted = [name for part in parts for name in part.split(".") if "_" in name]
    # The path of `path:line`.
    is_line = len(parts) > 1 and parts[-1].isdigit() and ":" in whole
    path = [whole.rpartition(":")[0]] if is_line else []
    names = dict.fromkeys(
        name.lower().strip("_")
        for name in (whole, *path, *parts, *dotted)
        if _SIGN.search(name)
        and (token.startswith("--") or _VERSION.fullmatch(name) or not _PLAIN.fullmatch(name))
    )
    if version := _VERSION.fullmatch(whole.lower()):
        names |= dict.fromkeys((version[1],))
    humps = [
        hump.lower()
        for word in ([] if whole.islower() else _NO_LETTER.split(whole))
        if _HUMP.search(word)
        for hump in _MIXED.findall(word)
        if len(hump) > 1
    ]
    return tuple(names), tuple(dict.fromkeys(humps))


# --- Cut long texts into passages: at paragraphs, lines, sentences or words ------------------
# The passages joined equal the text. Cuts at headings, list items and the edges of code gained
# nothing (docs/explanation/search.md).

PASSAGE_CHARACTERS = 1_200  # about 300 tokens; shorter texts stay whole
PASSAGES_MAX = 64  # per side; a longer text gets longer passages
_BREAKS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?。！？؟])\s*"),
    re.compile(r"\s+"),
)


def side_passages(text: str) -> list[Segment]:
    """Cut one side of an event into passages, each of words or of machine notices.

    The passages joined equal the text.
    """
    return [
        Segment(passage, segment.is_notice)
        for segment in segments(text)
        for passage in passages(segment.text, len(text))
    ]


def passages(text: str, whole: int = 0) -> list[str]:
    """Cut a text at paragraphs, lines, sentences or words; the parts joined equal the text.

    `whole` is the length of the text that it is a part of.
    """
    size = max(PASSAGE_CHARACTERS, -(-max(len(text), whole) // PASSAGES_MAX))
    parts, start = [], 0
    while len(text) - start > size:
        end = start + _cut(text[start : start + size])
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


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


# --- Dates in queries: an ISO date, or a month with a day or a year, in the languages of the table

_ISO_DATE = re.compile(r"\b((?:19|20)\d\d)-(\d\d?)(?:-(\d\d?))?\b")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_UNSPACED_DATE = re.compile(r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(?:(\d{1,2})\s*[日일])?")


@dataclass(frozen=True, slots=True)
class DateHint:
    """A date in a query: year, month and day of the month, each optional."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


def date_in(
    query_words: Sequence[str], text: str, candidates: Sequence[Language]
) -> DateHint | None:
    """Return the date in a query, if it names a month or a full date.

    `query_words` are the normalised words of `text`, `candidates` its possible languages.
    """
    if iso := _ISO_DATE.search(text):
        return _date(iso[1], iso[2], iso[3])
    year = next(
        (int(word) for word in query_words if len(word) == 4 and _YEAR.fullmatch(word)), None
    )
    for place, word in enumerate(query_words):
        if word not in MONTH_WORDS:
            continue
        near = [i for i in (place - 1, place + 1, place - 2) if 0 <= i < len(query_words)]
        numbers = [int(day[1]) for i in near if (day := _DAY.fullmatch(query_words[i]))]
        days = [day for day in numbers if 1 <= day <= 31]
        # A month name of another language counts only next to a number: "mars" is also a planet.
        languages = LANGUAGES if days else candidates
        month = _month(word, languages)
        if month and not (word == "may" and "May" not in text):
            return DateHint(year, month, next(iter(days), None))
    unspaced = None if text.isascii() else _UNSPACED_DATE.search(normalize(text))
    return _date(unspaced[1] or year, unspaced[2], unspaced[3]) if unspaced else None


def _month(word: str, languages: Sequence[Language]) -> int:
    """Return the number of the month that a word names in one of the languages, or 0."""
    return next((one.months[word] for one in languages if word in one.months), 0)


def _date(year: str | int | None, month: str, day: str | None) -> DateHint | None:
    if not 1 <= int(month) <= 12:
        return None
    return DateHint(int(year) if year else None, int(month), int(day) if day else None)


# --- Text to terms: split events into passages with their words, and queries into words with
#     variants
# A term is the CRC-32 of a normalised, stemmed word: 4 bytes, the same on every machine. Two words
# of a space collide about once in 40,000 words; the extra match is tolerable in ranking.

QUERY, RESPONSE = 0, 1  # the sides of an event
# flags of a part: it asks something; it says nothing, like "ok"; it seems to give orders to its
# reader; a program wrote it; it says that it is not to be relied on
QUESTION, EMPTY, SUSPECT, NOTICE, UNVERIFIED = 1, 2, 4, 8, 64
# and of its event: it repeats an earlier one; near duplicates count within its session only
REPEATED, IN_SESSION = 16, 32
COUNT_MAX = 255  # maximum count of a word in one part: it is stored in one byte
COMPOUND_CHARACTERS_MIN = 10  # shorter words are not split as compounds
PIECE_CHARACTERS_MIN = 4  # minimum length of a piece of a compound
PIECE_WEIGHT = 0.5  # of a piece of a compound, relative to the word

# Marks inside words (vowel signs, accents), up to the last plane that has any.
_CHARACTERS = "".join(map(chr, range(0x300, 0x1F000)))
_COMBINING = "".join(
    compress(_CHARACTERS, map({"Mn", "Mc"}.__contains__, map(unicodedata.category, _CHARACTERS)))
)
PIECE_CHARACTERS = 16_384  # of a long text, read at once
_SPACE = re.compile(r"\s")
_WORD = re.compile(rf"[^\W_]+(?:[{_COMBINING}]+[^\W_]*)*")
_ASCII_WORD = re.compile("[a-zA-Z0-9]+")
_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’\-]{0,30}(?: [^\W\d_][\w.'’\-]{0,30}){0,2}): +(?=\S)")
_QUESTION_END = ends_with("?？؟;")  # the last is Greek


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
    moment: DateHint | None
    required: tuple[frozenset[int], ...] = ()  # a text with this phrase has a term of each set


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """A query and its focus phrases, parsed for the languages of a space."""

    question: ParsedQuery
    phrases: Sequence[ParsedQuery]  # in the order of the request
    words: Sequence[QueryWord]  # of the query, then of the phrases; both are searched for alike


def term(word: str) -> int:
    """Return the number under which a normalised word is indexed."""
    return crc32(word.encode())


# Terms of months by number; the space makes each different from every word of a text.
MONTH_TERMS = tuple(term(f"month {month}") for month in range(13))


def analyze(
    *, query: str, response: str, topic: str | None, occurred_ms: int, is_machine: bool = False
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
        for one in identifier_names(passage):
            humps = (term(stem(word, language.number)) for word in one.humps)
            for number in (*map(_name_term, one.names), *humps):
                counts.setdefault(number, 1)  # code that repeats a name must not drown prose
        if place and speaker:
            length += _count(counts, speaker_words, language)
        for date_term in (term(str(date.day)), MONTH_TERMS[date.month], term(str(date.year))):
            counts[date_term] = counts.get(date_term, 0) + 1
        length += 3
        flags = (
            (QUESTION if _QUESTION_END.search(passage) else 0)
            | (SUSPECT if instruction_like(passage) else 0)
            | (NOTICE if is_notice else event_flags)
            | (UNVERIFIED if side == QUERY and disclaims(passage) else 0)
        )
        embedded = f"{speaker_match[1]}: {passage}" if place and speaker_match else passage
        name = term(" ".join(speaker)) if speaker else 0
        yield Passage(side, language.number, flags, name, length, counts, embedded.strip())


def _name_term(name: str) -> int:
    return term(f"`{name}")  # the sign makes it different from every word of a text


def words(text: str) -> list[str]:
    """Return the normalised words of a text in order.

    Marks inside a word (Hindi vowel signs) do not end it. A long text is read piece by piece,
    because no other thread runs while a pattern is searched for.
    """
    result: list[str] = []
    start = 0
    while start < len(text):
        space = _SPACE.search(text, start + PIECE_CHARACTERS)
        end = space.start() if space else len(text)
        normal = normalize(text[start:end])
        # Of ASCII the same words, in a third of the time.
        result += (_ASCII_WORD if normal.isascii() else _WORD).findall(normal)
        start = end
    return result


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
    pieces = _pieces(word, number) if LANGUAGES[number].compounds else ()
    return (term(stem(word, number)),), tuple({term(f"+{piece}") for piece in pieces})


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
    moment = date_in(query_words, text, candidates)
    required = _required(query_words, candidates) if is_phrase else ()
    return ParsedQuery(text, tuple(parsed), moment, required)


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
    question = parse_query(query, languages)
    parsed = [parse_query(phrase, languages, is_phrase=True) for phrase in phrases]
    return SearchTerms(
        question, parsed, tuple(word for text in (question, *parsed) for word in text.words)
    )


def _add_identifiers(
    text: str, parsed: list[QueryWord], starts: Sequence[int], candidates: Sequence[Language]
) -> None:
    """Add the terms of each identifier to the first of its words that is no stop word."""
    for one in identifiers(text):
        places = range(bisect_left(starts, one.start), bisect_left(starts, one.end))
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
        terms = {term(pair): 1.0 for pair in character_pairs(word)}
    elif not word.isascii() and HANGUL.search(word):
        terms = {term(pair): PIECE_WEIGHT for pair in character_pairs(word)} | {term(word): 1.0}
    else:
        for language in (one for one in candidates if one.compounds):
            if len(word) >= PIECE_CHARACTERS_MIN:
                terms[term(f"+{stem(word, language.number)}")] = PIECE_WEIGHT
            terms |= {term(piece): PIECE_WEIGHT for piece in _pieces(word, language.number)}
        terms |= {term(stem(word, language.number)): 1.0 for language in candidates}
    month = _month(word, candidates)
    if month and not (word == "may" and original != "May"):  # the English verb
        terms[MONTH_TERMS[month]] = 1.0
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
        is_unspaced = UNSPACED.search(word) and len(word) == len(match[0])
        pairs = character_pairs(word) if is_unspaced else []
        stems = {number for language in languages for number in _terms(word, language)[0]}
        if not pairs and stems & terms:
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
        is_begun = _is_boundary(haystack, start - 1, needle[0])
        if is_begun and _is_boundary(haystack, end, needle[-1]):
            return True
        start = haystack.find(needle, start + 1)
    return False


def _is_boundary(text: str, at: int, own: str) -> bool:
    if not 0 <= at < len(text):
        return True
    other = text[at]
    joined = all(one.isalnum() or unicodedata.category(one)[0] == "M" for one in (other, own))
    return not joined or bool(UNSPACED.match(other) or UNSPACED.match(own) or HANGUL.match(own))


def terms(text: str) -> set[int]:
    """Return the terms of the content words of a text: those that are not stop words."""
    return {term for word in parse_query(text).words if not word.is_stop for term in word.terms}
