"""Decide which claims of a reply come from memory: they need a ref, and a second look checks them.

A value that the user wrote in this turn, or that a tool returned in it, does not come from memory.
Of the other values, a reply repeats memory if a recalled passage on the same subject has the value,
and contradicts it if the passage has another value in the same place. The runtime and the hooks
share this module. Its thresholds were chosen on `bench/second_look/closings_tuned.toml`.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from .plain_values import MONTH, plain_values, stems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .plain_values import PlainValue

SAME_SUBJECT = 0.5  # share of the content words of the shorter text that the longer one contains
VALUES_MAX = 1_000  # of a draft that are compared with memory; 100 of one recalled sentence
OWN_CHARACTERS_MAX = (
    400_000  # of a turn that are searched for values: the message and the latest results
)
_VALUE_CHECKS = frozenset({"number_in_ref", "date_in_ref", "name_in_ref", "url_in_ref"})
_REF = re.compile(
    r"[(\uff08\[][ ]{0,3}refs?[ ]{0,3}[:\uff1a]"
    r"[^()\uff08\uff09\[\]\n]{0,2000}[)\uff09\]]",
    re.IGNORECASE,
)
_MARK = re.compile(r"[\[\u3010](?:general|unverified|assumption)[\]\u3011]", re.IGNORECASE)
_FENCE = re.compile(r"<<(?P<end>end )?memory-data (?P<delimiter>[0-9a-f]{16})>>")
_IDS = re.compile(r"\[(?:event|cube|lesson) [^\]\n]{1,256}\]|\be_[0-9a-z]{13}\b")
_CODE_BLOCK = re.compile(r"^[ ]{0,3}(```|~~~).*?(?:^[ ]{0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_LIST_MARKER = re.compile(r"^[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_SENTENCE = re.compile(rf"[^\n]*?(?:[.!?\u2026;]+(?=\s)(?!\s(?i:{MONTH})\b)|[。！？；]|\n|\Z)")
_QUESTION = re.compile(r"^user: (?P<text>.*)$", re.MULTILINE)
_SPEAKER = re.compile(r"^(?:user|answer): ", re.MULTILINE)


class TurnTexts(NamedTuple):
    """Texts of one turn: recalled items, the user's message and the results of tools."""

    memory: tuple[str, ...] = ()
    message: str = ""
    tool_results: tuple[str, ...] = ()


class _Passage(NamedTuple):
    """One sentence of a recalled item."""

    words: frozenset[str]  # with those of the question that it answers
    values: tuple[PlainValue, ...]


def turn_texts(memory: Iterable[str], message: str, tool_results: Iterable[str] = ()) -> TurnTexts:
    """Return the texts of a turn, tool results latest first. Fenced text in them is memory."""
    recalled, results = list(memory), []
    for result in tool_results:
        own, fenced = _split_fenced(result)
        recalled += fenced
        results.append(own)
    return TurnTexts(tuple(recalled), message, tuple(results))


def _split_fenced(text: str) -> tuple[str, list[str]]:
    """Return the text outside of the fences of this service, and the texts in them."""
    own, fenced, at = [], [], 0
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opening is None:
            opening = None if line["end"] else line
        elif line["end"] and line["delimiter"] == opening["delimiter"]:
            own.append(text[at : opening.start()])
            fenced.append(text[opening.end() : line.start()])
            opening, at = None, line.end()
    return "\n".join([*own, text[at:]]), fenced


class MemoryClaims:
    """The claims of a draft that come from memory."""

    def __init__(self, draft: str, texts: TurnTexts) -> None:
        self._text = _without_code(draft)
        self.cites = bool(_REF.search(self._text))
        self._own = _OwnValues(texts)
        self._refs = [match.start() for match in _REF.finditer(self._text)]
        prose = _blank(_IDS, _blank(_REF, self._text))
        self._values: list[tuple[int, int, bool]] = []
        self.spans: list[tuple[int, int]] = []
        passages = [passage for item in texts.memory for passage in _passages(item)]
        for start, sentence in _sentences(prose):
            self._read(start, sentence, passages, texts)

    def _read(self, start: int, sentence: str, passages: list[_Passage], texts: TurnTexts) -> None:
        values = [(value, self._own.has(value)) for value in plain_values(sentence)]
        self._values += [(start + value.start, start + value.end, own) for value, own in values]
        if _MARK.search(sentence) or len(self._values) > VALUES_MAX:
            return
        subject = stems(sentence)
        if not texts.tool_results:
            subject |= stems(texts.message)
        own_values = [value for value, own in values if own]
        for value, own in values:
            # A value next to one of the turn itself may be computed from it.
            may_differ = not texts.tool_results and not any(
                _has_same_place(value, other) for other in own_values
            )
            if not own and any(
                _is_from(passage, value, subject, may_differ=may_differ) for passage in passages
            ):
                self.spans.append((start + value.start, start + value.end))

    @property
    def need_second_look(self) -> bool:
        """True if the draft cites memory, repeats it or contradicts it."""
        return self.cites or bool(self.spans)

    def must_correct(self, check: str, start: int | None, end: int | None) -> bool:
        """Return True if a failed check of a second look must be corrected.

        A missing ref counts only for a claim from memory. A value of the turn itself may precede
        another value and its ref: that ref is not its own.
        """
        if start is None or end is None:
            return True
        if check == "claim_marked":
            return any(start < last and first < end for first, last in self.spans)
        if check in _VALUE_CHECKS:
            return not (self._is_own(start, end) and self._precedes_a_value(end))
        return True

    def _is_own(self, start: int, end: int) -> bool:
        """Return True if no value here is foreign to the turn. Numbers in words are no values."""
        return all(own for first, last, own in self._values if start < last and first < end)

    def _precedes_a_value(self, end: int) -> bool:
        ref = next((place for place in self._refs if place >= end), None)
        return ref is not None and any(end <= first < ref for first, _, _ in self._values)


class _OwnValues:
    """The values of the user's message and the results of tools."""

    def __init__(self, texts: TurnTexts) -> None:
        text = "\n".join((texts.message, *texts.tool_results))[:OWN_CHARACTERS_MAX]
        self._text = text.lower()
        self._atoms: set[str] = set()
        for value in plain_values(text, with_neighbours=False):
            if value.kind != "name":
                self._atoms |= value.atoms
        self._words = set(re.findall(r"[^\W_]+", self._text))

    def has(self, value: PlainValue) -> bool:
        """Return True if the turn itself contains the value."""
        if value.kind == "name":
            return value.atoms <= self._words
        return value.atoms <= self._atoms or value.text.lower() in self._words


def _is_from(
    passage: _Passage, value: PlainValue, subject: frozenset[str], *, may_differ: bool
) -> bool:
    """Return True if a value repeats a passage of memory or, with `may_differ`, contradicts it."""
    subject -= value.atoms
    shared = len(subject & passage.words)
    smaller = min(len(subject), len(passage.words))
    is_same_subject = shared >= 2 and shared >= SAME_SUBJECT * smaller
    if any(value.atoms <= other.atoms for other in passage.values if other.kind == value.kind):
        if value.distinctiveness == 2:
            return shared > 0 or not subject
        return is_same_subject
    if not may_differ or not is_same_subject or value.kind == "name":
        return False
    return any(_has_same_place(value, other) for other in passage.values)


def _has_same_place(value: PlainValue, other: PlainValue) -> bool:
    if value.kind != other.kind:
        return False
    return (
        value.kind != "number"
        or (len(value.shape) > 2 and value.shape == other.shape)
        or (":" in value.shape and ":" in other.shape)  # times of day
        or bool(value.neighbours & other.neighbours)
    )


def _passages(item: str) -> Iterator[_Passage]:
    text = _blank(_IDS, item)
    question = _QUESTION.search(text)
    words = stems(question["text"]) if question else frozenset[str]()
    for _, sentence in _sentences(_blank(_SPEAKER, text)):
        values = tuple(islice(plain_values(sentence), VALUES_MAX // 10))
        if values:
            yield _Passage(words | stems(sentence), values)


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    for match in _SENTENCE.finditer(text):
        if match[0].strip():
            yield match.start(), match[0]


def _without_code(draft: str) -> str:
    return _blank(_LIST_MARKER, _blank(_CODE_BLOCK, draft))


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Replace the matches by blanks, so that offsets stay."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
