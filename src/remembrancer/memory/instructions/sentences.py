"""Find sentences of a message that may state an instruction, outside quotes, code and pastes."""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from .grammar import TASK, Grammar

SENTENCE_CHARACTERS_MAX = 600  # longer ones are lists or pasted text
CANDIDATES_MAX = 40  # sentences examined per message; more come from pasted rules
HEADERS_MAX = 20  # lines ending with a colon that are read to find a pasted text

# Code, quoted text, e-mail quotes, log lines. Repeats are bounded or exclude their own opening, so
# that no text is read twice.
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{1,200}`"
    r"|\"[^\"\n]{1,1000}\"|“[^“”\n]{1,1000}”|„[^„“”\n]{1,1000}[“”]|«[^«»\n]{1,1000}»"
    r"|「[^「」\n]{1,1000}」|'(?<!\w')[^'\n]{3,200}'(?!\w)|‘[^‘’\n]{1,200}’(?!\w)",
    re.DOTALL,
)
_FOREIGN_LINE = re.compile(
    r"\n[ \t]{0,20}(?:>|\$ |#|//|/\*|\*/|import \w|from [\w.]{1,60} import|def \w{1,60}\("
    r"|class \w{1,60}[(:]|(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|Traceback|E:)\b"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:|\[\d\d:\d\d)[^\n]*"
)
_VISIBLE = re.compile(r"\S")
_ABBREVIATION = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|prof|st|vs|etc|e\.g|i\.e|z\.b|bzw|ca|nr|no|approx|sr|sra|mme|sig|т\.е"
    r"|т\.д)"
    r"|\b\w)$"
)
# Patterns begin with one set of characters or one literal: such a search is fast.
_END = re.compile(
    r"[.!?…\n。！？](?:(?<=[\n。！？])|(?<![.!?…][.!?…])[.!?…]{0,7}(?=[\s\"'»”)\]*]|$))"
)
_WORD = re.compile(r"\w+")
_HAN = re.compile("[\u4e00-\u9fff]")
# Traditional characters of the Chinese patterns.
_SIMPLIFIED = str.maketrans(
    "後從現開總當時歡請給寫說稱別絕對討厭個種這會應該為麼問發將來願萬務許們讓嗎認確檢查鐘題點號譯獲續優傾與嘆標",
    "后从现开总当时欢请给写说称别绝对讨厌个种这会应该为么问发将来愿万务许们让吗认确检查钟题点号译获续优倾与叹标",
)
_SPACES = bytes(32 if chr(code) in string.punctuation else code for code in range(256))
_WIDE_MARKS = "«»“”„…—–¿¡·•（）"  # marks before or after words, beyond ASCII
_HEADER = re.compile(r"[:：][ \t]{0,8}\n")
_SAME_LENGTH = (("’", "'"), ("‘", "'"), ("ʼ", "'"), ("\t", " "), ("\r", " "), ("\u00a0", " "))


class Candidate(NamedTuple):
    """A sentence with a trigger of these grammars: its place in the message, and its text to match.

    `text` is in lower case, as long as the original; quoted text and code are underscores.
    """

    start: int
    text: str
    grammars: Sequence[Grammar]


def candidates(message: str, grammars: Sequence[Grammar]) -> list[Candidate]:
    """Return the sentences to examine, in order: at most `CANDIDATES_MAX`, from both ends."""
    text = _QUOTED.sub(_mask, message)
    text = _lower(_FOREIGN_LINE.sub(_mask, f"\n{text}")[1:])
    present: set[str | None] = {*_words(text)}
    if _HAN.search(text):
        present.add(None)
    places = [
        (place, grammar)
        for grammar in grammars
        for trigger, word in _triggers(grammar)
        if word in present
        for place in _occurrences(text, trigger)
    ]
    if not places:
        return []
    ends = sentence_ends(text)
    pasted_from = _pasted_from(text)
    matching: dict[int, list[Grammar]] = {}
    for place, grammar in places:
        if place < pasted_from:
            group = matching.setdefault(bisect_right(ends, place), [])
            if grammar not in group:
                group.append(grammar)
    numbers = sorted(matching)
    if len(numbers) > CANDIDATES_MAX:
        half = CANDIDATES_MAX // 2
        numbers = numbers[:half] + numbers[-half:]
    result = []
    for number in numbers:
        start = ends[number - 1] if number else 0
        end = ends[number] if number < len(ends) else len(text)
        if end - start <= SENTENCE_CHARACTERS_MAX:
            result.append(Candidate(start, text[start:end], matching[number]))
    return result


@cache
def _triggers(grammar: Grammar) -> list[tuple[str, str | None]]:
    """Return the triggers of a grammar, each with its longest word; None if words are not spaced.

    A look-up of that word saves the search of most texts.
    """
    if not grammar.is_spaced:
        return [(trigger, None) for trigger in grammar.triggers]
    return [(trigger, max(_WORD.findall(trigger), key=len)) for trigger in grammar.triggers]


def _words(text: str) -> set[str]:
    """Return the words of a text in lower case, without the marks around them.

    A table of bytes is several times as fast as a pattern.
    """
    if not text.isascii():
        for mark in _WIDE_MARKS:
            text = text.replace(mark, " ")
    return set(
        text.encode(errors="surrogatepass").translate(_SPACES).decode(errors="replace").split()
    )


def _mask(match: re.Match[str]) -> str:
    return _VISIBLE.sub("_", match[0])


def sentence_ends(text: str) -> list[int]:
    """Return where sentences of a text in lower case end, in order."""
    return [
        match.end()
        for match in _END.finditer(text)
        if match[0] != "."
        or not _ABBREVIATION.search(text, max(0, match.start() - 8), match.start())
    ]


def _occurrences(text: str, trigger: str) -> list[int]:
    """Return where a trigger occurs; of very many, the first and the last."""
    places: list[int] = []
    place = text.find(trigger)
    while place >= 0 and len(places) < CANDIDATES_MAX:
        places.append(place)
        place = text.find(trigger, place + len(trigger))
    if place >= 0:
        place, after = text.rfind(trigger), places[-1]
        for _ in range(CANDIDATES_MAX):
            if place <= after:
                break
            places.append(place)
            place = text.rfind(trigger, 0, place)
    return places


def _pasted_from(text: str) -> int:
    """Return where a pasted text begins: after a line such as "Translate this:"."""
    for count, match in enumerate(_HEADER.finditer(text)):
        if count == HEADERS_MAX:
            break
        is_code = text[match.end() : match.end() + 40].lstrip().startswith("_")
        if not is_code and TASK.search(text, max(0, match.start() - 120), match.start()):
            return match.end()
    return len(text)


def _lower(text: str) -> str:
    """Return a text in lower case, of the same length, with plain apostrophes and spaces.

    Chinese is in simplified characters.
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # one capital of Turkish becomes two characters
        lowered = "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
    for mark, plain in _SAME_LENGTH:
        lowered = lowered.replace(mark, plain)
    return lowered.translate(_SIMPLIFIED) if _HAN.search(lowered) else lowered
