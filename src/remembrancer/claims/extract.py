"""Extract the specific claims of a text: numbers with units, dates, names, URLs; and its tags."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from ..protocol.patterns import regex
from ..protocol.tables import read_table
from ..search.text.analysis import words
from ..search.text.languages import BY_CODE, LANGUAGES, detect, normalize, unaccented
from .dates import clocks, dates, relative_dates, resolve, weekday_words
from .numbers import UNITS, numbers
from .plain import PIECE_CHARACTERS, pieces
from .values import Claim, Kind, Name, Verbatim

# --- Find the tags of a draft: `(ref: id)`, `[general]`, `[unverified]`, `[assumption]` ------
# A claim belongs to the next tag in its sentence or, if there is none, to the last one before it.
# Adjacent tags count as one. A tag after the full stop belongs to the sentence before it.

_REF = regex(
    r"[(\uff08\[][ ]{0,3}refs?[ ]{0,3}[:\uff1a][ ]{0,3}"
    r"(?P<ids>[^()\uff08\uff09\[\]\n]{1,2000})[)\uff09\]]",
    re.IGNORECASE,
)
_MARK = regex(r"[\[\u3010](?P<mark>general|unverified|assumption)[\]\u3011](?!\()", re.IGNORECASE)
TAG_CHARACTERS_MAX = 2_100  # more than one tag can have
_ID = regex(r"[^\s,;\uff0c、\uff1b`<>]{1,256}")
_EVENT_ID = regex(r"[ ]?(?<![0-9A-Za-z_])e_[0-9a-z]{13}(?![0-9A-Za-z_])")
_BRACKETED = regex(
    r"[(\[\uff08\u3010][ ]{0,3}"
    r"(?P<ids>e_[0-9a-z]{13}(?:[ ]{0,3}[,;][ ]{0,3}e_[0-9a-z]{13}){0,20})"
    r"[ ]{0,3}[)\]\uff09\u3011]"
)
_TAG_GAP = regex(r"[\s,;.*_]*")
_SENTENCE_END = regex(
    r"(?<![.!?\u2026])(?P<stop>[.!?\u2026]++)[\"'”’»)*_]*+"
    r"(?=\s+[^\s\da-z\u0430-\u044f]|\s+[\d][^\n]{0,3}|\s*$)"
    r"|(?P<han>[。！？；])[”’」』）]*|(?P<line>\n)",
    re.MULTILINE,
)
_SENTENCE_MARK = regex("[.!?\u2026。！？；\\n]")
_ABBREVIATION = regex(
    r"(?:^|[\s(])(?:[^\W\d_]|mr|mrs|ms|dr|prof|st|no|nr|ca|vs|etc|e\.g|i\.e|z\.\s?b|d\.\s?h|bzw"
    r"|inkl|evtl|usw|approx|inc|ltd|sr|sra|mme|av|tel|str|руб|тыс|г|ул|т\.\s?е|им)$",
    re.IGNORECASE,
)
_SPACE = regex(r"[\s]*")
_FENCE = regex(r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*$", re.MULTILINE)
# A list marker: a dash, a bullet or a number at the start of a line.
BULLET = regex(r"^[ \t>]*+(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_HEADING = regex(  # a line with # before it, or the head of a table
    r"[ ]{0,3}#{1,6}[ ]|[^\n|]*+\|[^\n]*+\n[ |:-]*-{3}[ |:-]*$", re.MULTILINE
)


class Tag(NamedTuple):
    """Adjacent refs and markers: `text[start:end]`."""

    start: int
    end: int
    refs: tuple[tuple[str, int, int], ...]  # id, start and end
    has_marker: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, list item or row of a table, with the tags in it."""

    start: int
    end: int
    tags: tuple[Tag, ...]
    is_question: bool
    is_heading: bool  # a heading makes no claims


def matches(
    pattern: re.Pattern[str], text: str, longest: int | None = None
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern, some lines of the text at a time.

    No match spans a line break. If none is as long as `longest`, a long line is read in parts.
    """
    start = 0
    while start < len(text):
        end = start + PIECE_CHARACTERS
        if longest is None:
            end = reach = text.find("\n", end) + 1 or len(text)
        else:
            reach = end + longest
        for match in pattern.finditer(text, start, reach):
            if match.start() >= end:
                break
            end = max(end, match.end())
            yield match
        start = end


def blank_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace the characters of the spans by NUL, except line breaks, so that offsets stay."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            lines = text[max(start, at) : end].split("\n")
            parts += [text[at:start], "\n".join("\x00" * len(line) for line in lines)]
            at = end
    return "".join(parts) + text[at:]


def code_blocks(text: str) -> list[tuple[int, int]]:
    """Return the spans of fenced code blocks. An unclosed block extends to the end."""
    spans: list[tuple[int, int]] = []
    opening: re.Match[str] | None = None
    for match in matches(_FENCE, text):
        if opening is None:
            opening = match
        elif match["fence"].startswith(opening["fence"]):
            spans.append((opening.start(), match.end()))
            opening = None
    return [*spans, (opening.start(), len(text))] if opening else spans


def find_tags(text: str) -> list[Tag]:
    """Return the tags of a text; adjacent ones are combined."""
    single = [
        Tag(
            m.start(),
            m.end(),
            tuple((i[0], i.start(), i.end()) for i in _ID.finditer(text, *m.span("ids"))),
            False,
        )
        for m in matches(_REF, text, TAG_CHARACTERS_MAX)
    ]
    marks = matches(_MARK, text, TAG_CHARACTERS_MAX)
    single += [Tag(mark.start(), mark.end(), (), True) for mark in marks]
    runs: list[list[Tag]] = []
    for tag in sorted(single):
        if (
            runs
            and _TAG_GAP.fullmatch(text, end := runs[-1][-1].end, tag.start)
            and "\n" not in text[end : tag.start]
        ):
            runs[-1].append(tag)
        else:
            runs.append([tag])
    return [
        Tag(
            run[0].start,
            run[-1].end,
            tuple(ref for tag in run for ref in tag.refs),
            any(tag.has_marker for tag in run),
        )
        for run in runs
    ]


def sentences(
    text: str, tags: Sequence[Tag], unbreakable: Sequence[tuple[int, int]]
) -> list[Sentence]:
    """Return the sentences of a text, in order.

    `unbreakable` are sorted spans in which no sentence ends, such as dates and tags.
    """
    tag_starts = {tag.start: tag for tag in tags}
    result: list[Sentence] = []
    begin = at = next_tag = next_span = 0
    is_heading = _HEADING.match(text) is not None
    while (mark := _SENTENCE_MARK.search(text, at)) is not None:
        match = _SENTENCE_END.match(text, mark.start())
        at = match.end() if match else mark.end()
        while next_span < len(unbreakable) and unbreakable[next_span][1] <= mark.start():
            next_span += 1
        if (
            match is None
            or match.start() < begin
            or (next_span < len(unbreakable) and unbreakable[next_span][0] <= mark.start())
        ):
            continue
        before = text[max(0, mark.start() - 8) : mark.start()]
        if match["stop"] == "." and _ABBREVIATION.search(before):
            continue
        end = match.end()
        if not match["line"]:
            gap = _SPACE.match(text, end)
            following = tag_starts.get(gap.end()) if gap else None
            # Include tags after the full stop.
            while following is not None and "\n" not in text[end : following.start]:
                end = following.end
                end += text[end : end + 1] in {".", "。"}
                gap = _SPACE.match(text, end)
                following = tag_starts.get(gap.end()) if gap else None
        own: list[Tag] = []
        while next_tag < len(tags) and tags[next_tag].start < end:
            own.append(tags[next_tag])
            next_tag += 1
        is_question = match[0][:1] in "?？" or "?" in match[0]
        result.append(Sentence(begin, end, tuple(own), is_question, is_heading))
        begin = end
        if match["line"]:
            is_heading = _HEADING.match(text, end) is not None
    result.append(
        Sentence(begin, len(text), tuple(tags[next_tag:]), is_question=False, is_heading=False)
    )
    return result


def tags_for(sentence: Sentence, end: int, first_claim: int) -> tuple[Tag, ...]:
    """Return the tags of a claim that ends at `end`: the next one, and those before all claims."""
    following = next((tag for tag in sentence.tags if tag.start >= end), None)
    leading = tuple(tag for tag in sentence.tags if tag.end <= first_claim)
    if following is not None:
        return (*leading, following)
    return leading or sentence.tags[-1:]


def keep_refs(text: str, allowed: Collection[str]) -> str:
    """Remove all refs except the allowed ones.

    Allowed ids in brackets become refs. Other ids are removed, also those without brackets.
    """

    def filter_ids(match: re.Match[str]) -> str:
        ids = [ref for ref in dict.fromkeys(_ID.findall(match["ids"])) if ref in allowed]
        return f"{match['space']}(ref: {', '.join(ids)})" if ids else ""

    refs = re.compile(rf"(?P<space>[ ]?){_REF.pattern}", re.IGNORECASE)
    text = refs.sub(filter_ids, _BRACKETED.sub(r"(ref: \g<ids>)", text))
    return _EVENT_ID.sub(lambda match: match[0] if match[0].strip() in allowed else "", text)


# --- Find values that are compared as text: URLs, e-mail and IP addresses, versions, phone numbers

_ENDS = r"\s<>()\[\]{}\"'`|\\\x00\u3000-\u303f\uff00-\uffef\u4e00-\u9fff"
_URL = regex(
    rf"(?<![a-z0-9_@])(?:[a-z][a-z0-9+.-]{{1,15}}://|www\.)[^{_ENDS}]{{1,2000}}",
    re.IGNORECASE,
)
_MAIL = regex(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.ASCII)
_IP = regex(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2}|:\d{1,5})?(?![\w.]*\d)", re.ASCII)
_IP_6 = regex(r"(?<![\w:])(?:[0-9a-f]{1,4}:){2,7}[0-9a-f:]{1,40}(?:/\d{1,3})?", re.IGNORECASE)
_PHONE = regex(r"(?<![\w+])\+\d{1,3}(?:[ ()/-]{1,2}\d{1,12}){1,6}", re.ASCII)
_VERSION = regex(
    r"(?<![\w.])v?\d{1,9}(?:\.\d{1,9}){2,6}(?:[-+][0-9a-z.]{1,40})?(?![\w.]*\d)"
    r"|(?<![\w.])v\d{1,9}(?:\.\d{1,9}){0,1}(?![\w.]*\d)",
    re.ASCII,
)
_LONG_NUMBER = regex(r"(?<!\d)\d{41,}(?!\d)", re.ASCII)  # too long to be an amount
_DAY = regex(r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)|\d{4}\.\d{1,2}\.\d{1,2}")
_THOUSANDS = regex(r"\d{1,3}(?:\.\d{3})+")
_CODE = regex(  # letters and digits in one word: QX7T2M, RTX-4090, G17
    r"(?<![\w./-])(?=[a-z_/-]{0,30}\d)(?=\d{0,30}[-_/]?[a-z])[a-z0-9]+(?:[-_/][a-z0-9]+){0,12}(?![\w])",
    re.IGNORECASE | re.ASCII,
)
# Numbers, not codes: 5km, 3rd, 4-year-old, 5-7km, 14h15.
_WITH_UNIT = regex(r"\d+(?:[-_/]?[a-z]+(?:-[a-z]+)*|[-/]\d+[a-z]*|h\d+)", re.IGNORECASE)
_TRAILING = ".,;:!?*_~"


def urls(text: str) -> Iterator[Claim]:
    """Yield the URLs and e-mail addresses of a text."""
    for match in _URL.finditer(text):
        end = match.start() + len(match[0].rstrip(_TRAILING))
        yield Claim("url", match.start(), end, Verbatim(normalize_url(text[match.start() : end])))
    for match in _MAIL.finditer(text):
        yield Claim("url", match.start(), match.end(), Verbatim(match[0].lower().rstrip(".")))


def normalize_url(url: str) -> str:
    """Return a URL without scheme, www and trailing slash, with the host in lower case."""
    rest = re.sub(r"^(?:https?://)?(?:www\.)?", "", url, flags=re.IGNORECASE)
    host, slash, path = rest.partition("/")
    return f"{host.lower()}{slash}{path}".rstrip("/#?")


def document_numbers(text: str) -> Iterator[Claim]:
    """Yield the IP addresses, phone numbers, versions and very long numbers of a text."""
    for pattern in (_IP, _IP_6, _PHONE, _LONG_NUMBER):
        for match in pattern.finditer(text):
            yield _verbatim(
                "number", match, re.sub(r"[ ()-]", "", match[0]) if pattern is _PHONE else match[0]
            )
    for match in _VERSION.finditer(text):
        if not _DAY.fullmatch(match[0]) and not _THOUSANDS.fullmatch(match[0]):
            yield _verbatim("number", match, match[0].removeprefix("v"))


def codes(text: str) -> Iterator[Claim]:
    """Yield the words of letters and digits, except numbers with units."""
    for match in _CODE.finditer(text):
        if not _WITH_UNIT.fullmatch(match[0]):
            yield _verbatim("name", match, match[0])


def _verbatim(kind: Kind, match: re.Match[str], text: str) -> Claim:
    return Claim(kind, match.start(), match.end(), Verbatim(text.lower()))


# --- Find names of people, places and things: capitalized words, and the equivalent in Chinese

_WORD = regex(
    r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]*(?:['’-][^\W\d_\u3400-\u9fff]+)*"
)
_NAME_GAP = regex(r"[ ](?:(?:van|von|de|da|del|di|du|der|den|ten|la|le|bin|al)[ ]){0,2}")
_SENTENCE_START = regex(
    r"(?:^|[.!?:;¡¿\n\u2026。！？：；|>\"“„«(*_#]|[-+•–—])[\s\"“„«'(*_>\x00-]*$"
)
_TABLE = read_table(__package__, "names.toml")
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
_HAN = regex(
    rf"(?P<one>[{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?)"
    r"(?=先生|女士|小姐|老师|医生|教授|经理|律师|师傅|阿姨|叔叔)"
    rf"|(?:名叫|叫做|姓名是|是|叫)(?P<two>[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?)(?=[，。,.（( ]|$)"
    r"|《(?P<three>[^《》\n]{1,60})》"
)
_CYRILLIC = regex("[\u0400-\u052f]")
_POSSESSIVE = regex(r"['’](?:s|S)?$")
WORDS_MAX = 8  # of one name; a longer run is a headline


def names(text: str, language: str) -> Iterator[Claim]:
    """Yield the names of a text in order.

    German capitalizes every noun: there, a name has two words in a row or inner capitals.
    """
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        is_capital = match[0][0].isupper()
        if run and not (is_capital and _continues_name(text, run[-1], match)):
            yield from _name_claims(text, run, language)
            run = []
        if is_capital:
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


def _name_claims(text: str, run: list[re.Match[str]], language: str) -> Iterator[Claim]:
    first, last = 0, len(run)
    while first < last and _is_common_word(run[first][0]):
        first += 1
    while first < last and _is_common_word(run[last - 1][0]):
        last -= 1
    name = run[first:last]
    if not name or len(name) > WORDS_MAX:
        return
    start = run[0].start()
    begins_sentence = _SENTENCE_START.search(text[max(0, start - 12) : start]) is not None
    has_title = any(word[0].lower() in _TITLES for word in run[:first])
    following = text[name[-1].end() : name[-1].end() + 1]
    if begins_sentence and first and not has_title and following in {",", "!", ".", ""}:
        return  # "Hello Anna, ..."
    begins_sentence = begins_sentence and not first
    word = name[0][0]
    is_plain = not has_title and (word.isupper() or not any(c.isupper() for c in word[1:]))
    is_doubtful = begins_sentence or language == "de" or word.isupper()
    if len(name) == 1 and is_plain and is_doubtful:
        return
    telling = name
    if begins_sentence and is_plain:
        telling = name[1:] or name  # the first word is capitalized in any case
        if language == "de" and len(telling) < 2:
            return
    parts = [part for match in telling for part in normalize_name(match[0]).split("-")]
    words = tuple(part for part in parts if len(part) > 1)
    if words:
        is_weak = text[max(0, start - 2) : start] == ", " and following in {"!", "?", "."}
        yield Claim("name", name[0].start(), name[-1].end(), Name(words), weak=is_weak)


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
    # й differs from и.
    return plain.replace("ё", "е") if _CYRILLIC.match(plain) else unaccented(plain)


# --- Extract the specific claims of a text: numbers with units, dates, names, URLs -----------
# Each finder blanks out its claims before the next one runs, so that no claim is found twice: URLs,
# addresses and versions, dates, times of day, codes, numbers, names. Takes linear time.

_SAMPLE_CHARACTERS = 4_000  # of a text that determine its language
# Each replacement is one character, so that offsets stay: blanks, minus signs, full-width forms.
_UNIFIED_CHARACTERS = str.maketrans(
    dict.fromkeys("\xa0\u2007\u2009\u202f\u3000\t", " ")
    | dict.fromkeys("‐‑−", "-")
    | {
        chr(0xFF01 + n): chr(0x21 + n)
        for n in range(94)
        if chr(0x21 + n) in "%()+-./0123456789:@" or chr(0x21 + n).isalpha()
    }
    | {"\u066b": ".", "\u2024": "."}
)


def unify_characters(text: str) -> str:
    """Replace look-alike characters. Offsets stay the same."""
    return "".join(piece.translate(_UNIFIED_CHARACTERS) for _, piece in pieces(text))


def language_of(text: str) -> str:
    """Return the language code of a text, detected from its beginning."""
    sample = text[:_SAMPLE_CHARACTERS]
    return detect(words(sample), sample).code


def claims_in(text: str, day: date, language: str, *, generous: bool = False) -> list[Claim]:
    """Return the claims of a text in order. Its characters must be unified.

    `day` is the day of the text. `generous` also accepts ambiguous numbers; use it for texts that
    are searched for a value.
    """
    if len(text) > PIECE_CHARACTERS:
        return [
            replace(claim, start=claim.start + start, end=claim.end + start)
            for start, piece in pieces(text)
            for claim in claims_in(piece, day, language, generous=generous)
        ]
    result: list[Claim] = []

    def take(claims: Iterable[Claim]) -> None:
        nonlocal text
        new: list[Claim] = []
        for claim in sorted(claims, key=lambda claim: (claim.start, -claim.end)):
            # The two ends of a range have the same span.
            is_same_span = bool(new) and (claim.start, claim.end) == (new[-1].start, new[-1].end)
            if is_same_span or not new or claim.start >= new[-1].end:
                new.append(claim)
        result.extend(new)
        text = blank_out(text, [(claim.start, claim.end) for claim in new])

    take(urls(text))
    take(document_numbers(text))
    calendar_dates: list[Claim] = []
    _add_without_overlap(calendar_dates, dates(text, day))
    take(calendar_dates)
    take(clocks(text))
    take(codes(text))
    take(relative_dates(text, day))
    before = text
    take(numbers(text, language, generous=generous))
    number_claims = [resolve(before, claim, day) for claim in result if claim.kind == "number"]
    result = [claim for claim in result if claim.kind != "number"] + number_claims
    take(names(text, language))
    return sorted(result, key=lambda claim: (claim.start, claim.end))


def _add_without_overlap(result: list[Claim], claims: Iterable[Claim]) -> None:
    """Append the claims that do not overlap an earlier one."""
    span_at: dict[int, tuple[int, int]] = {}
    for claim in claims:
        span = (claim.start, claim.end)
        if all(span_at.get(offset, span) == span for offset in range(*span)):
            span_at |= dict.fromkeys(range(*span), span)
            result.append(claim)
