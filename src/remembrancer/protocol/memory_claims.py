"""Decide which claims of a reply come from memory: they need a ref, and a second look checks them.

A value that the user wrote in this turn, or that a tool returned in it, does not come from memory.
Of the other values, a reply repeats memory if a recalled passage on the same subject has the value,
and contradicts it if the passage is plainly the same fact with another value in the same place. The
runtime asks for refs at both; the hooks of coding agents ask only for corrections of what
contradicts. Thresholds were chosen on the files `*_tuned.toml` in `bench/second_look/`.
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
SAME_FACT = 0.7  # share of a passage's content words in a sentence that nobody question_words for
VALUES_MAX = 1_000  # of a draft that are compared with memory; 100 of one recalled sentence
OWN_CHARACTERS_MAX = (
    400_000  # of a turn that are searched for values: the message and the latest results
)
_VALUE_CHECKS = frozenset({"number_in_ref", "date_in_ref", "name_in_ref", "url_in_ref"})
_DECIMAL = re.compile(r"\d{1,9}\.\d{1,9}")
_AMOUNTS = frozenset({"number", "date"})
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
_SENTENCE = re.compile(
    rf"[^\n]*?(?:(?<![.!?\u2026;])[.!?\u2026;]+(?=\s)(?!\s(?i:{MONTH})\b)|[。！？；]|\n|\Z)"
)
_QUESTION = re.compile(r"^user: (?P<text>.*)$", re.MULTILINE)
_ANSWER = re.compile(r"^answer: ", re.MULTILINE)
_SPEAKER = re.compile(r"^(?:user|answer): ", re.MULTILINE)
_SUPERSEDED = re.compile(r"\A[^\n]*, superseded by ")
_QUESTION_MARK = re.compile(r"[?？]")
_WHY = re.compile(
    r"\b(?:why|warum|wieso|weshalb|pourquoi|por qu[eé]|perch[eé]|почему|отчего)\b|为什么|为何",
    re.IGNORECASE,
)
_MEASURED = re.compile(  # what follows a duration or a share
    r"\s?(?:%|ms\b|s\b|min\b|secon|sekun|segun|minut|percent|prozent|p(?:ou|o|e)r ?cento?\b"
    r"|мс|сек|мин|процент|秒|毫秒|分钟)",
    re.IGNORECASE,
)


class TurnTexts(NamedTuple):
    """Texts of one turn: recalled items, the user's message and the results of tools."""

    memory: tuple[str, ...] = ()
    message: str = ""
    tool_results: tuple[str, ...] = ()


class Contradiction(NamedTuple):
    """A value of a draft, `draft[start:end]`, and the recalled sentence that says otherwise."""

    start: int
    end: int
    value: PlainValue
    memory: str


class _DraftValue(NamedTuple):
    """A value of a draft, `draft[start:end]`; the turn itself may contain it."""

    value: PlainValue
    start: int
    end: int
    is_own: bool


class _Passage(NamedTuple):
    """One sentence of a recalled item."""

    text: str
    own_words: frozenset[str]
    words: frozenset[str]  # with those of the question that it answers
    values: tuple[PlainValue, ...]
    is_answer: bool  # an agent said it, not the user
    is_report: bool  # an agent's answer to a task or to "why", not to a question about a fact


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
    """The claims of a draft that come from memory.

    `spans` repeat or contradict what was recalled; `contradictions` are those that contradict it.
    """

    def __init__(self, draft: str, texts: TurnTexts) -> None:
        self._text = _blank(_LIST_MARKER, _blank(_CODE_BLOCK, draft))
        self.cites = bool(_REF.search(self._text))
        self._own = _OwnValues(texts)
        self._refs = [match.start() for match in _REF.finditer(self._text)]
        prose = _blank(_IDS, _blank(_REF, self._text))
        self._values: list[_DraftValue] = []
        self.spans: list[tuple[int, int]] = []
        self.contradictions: list[Contradiction] = []
        passages = [passage for item in texts.memory for passage in _passages(item)]
        subject = frozenset() if texts.tool_results else stems(texts.message)
        question_words = subject if _is_question(texts.message) else frozenset()
        sentences = list(_sentences(prose))
        for start, sentence in sentences:
            for value in plain_values(sentence):
                first, last = start + value.start, start + value.end
                self._values.append(_DraftValue(value, first, last, self._own.has(value)))
        for start, sentence in sentences:
            self._read(start, sentence, passages, subject, question_words)

    def _read(
        self,
        start: int,
        sentence: str,
        passages: list[_Passage],
        subject: frozenset[str],
        question_words: frozenset[str],
    ) -> None:
        end = start + len(sentence)
        values = [one for one in self._values[:VALUES_MAX] if start <= one.start < end]
        if _MARK.search(sentence):
            return
        stated = stems(sentence)
        subject |= stated
        fact = stated - _date_words(one.value for one in values)
        own_values = [one.value for one in values if one.is_own]
        for value, first, last, is_own in values:
            if is_own:
                continue
            span = (first, last)
            if any(_repeats(passage, value, subject) for passage in passages):
                self.spans.append(span)
                continue
            # A number next to one of the turn itself may be computed from it.
            if value.kind in _AMOUNTS and any(
                _has_same_place(value, other) for other in own_values
            ):
                continue
            is_measured = bool(_MEASURED.match(sentence, value.end))
            other = next(
                (
                    passage
                    for passage in passages
                    if _is_same_fact(
                        passage, fact - value.atoms, question_words, is_measured=is_measured
                    )
                    and self._differs(passage, value)
                ),
                None,
            )
            if other and not any(_has_value(passage, value) for passage in passages):
                self.spans.append(span)
                self.contradictions.append(Contradiction(*span, value, other.text))

    def contradictions_new_to(self, session: Iterable[str]) -> list[Contradiction]:
        """Return the contradictions whose value no text of the session has, latest text first."""
        if not self.contradictions:
            return []
        own = _OwnValues(turn_texts((), "", session))
        return [one for one in self.contradictions if not own.has(one.value)]

    def _differs(self, passage: _Passage, value: PlainValue) -> bool:
        """Return True if a passage has another value here, of which the draft says nothing."""
        return any(
            _has_same_place(value, other)
            and not any(
                one.value.kind == other.kind and other.atoms <= one.value.atoms
                for one in self._values
            )
            for other in passage.values
        )

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

    def contradicts(self, check: str, end: int | None) -> bool:
        """Return True if a failed check of a second look shows a contradiction.

        A value counts only with a ref directly after it. A missing ref is none: `contradictions`
        are found without a second look.
        """
        if check == "claim_marked":
            return False
        if check in _VALUE_CHECKS and end is not None:
            is_amount = check in ("number_in_ref", "date_in_ref")
            return self._is_cited(end, _AMOUNTS if is_amount else frozenset())
        return True

    def _is_own(self, start: int, end: int) -> bool:
        """Return True if no value here is foreign to the turn. Numbers in words are no values."""
        return all(one.is_own for one in self._values if start < one.end and one.start < end)

    def _precedes_a_value(self, end: int) -> bool:
        return any(place >= end for place in self._refs) and not self._is_cited(end)

    def _is_cited(self, end: int, kinds: frozenset[str] = frozenset()) -> bool:
        """Return True if no value of these kinds, or of any, is between `end` and the next ref."""
        ref = next((place for place in self._refs if place >= end), None)
        return ref is not None and not any(
            end <= one.start < ref and (not kinds or one.value.kind in kinds)
            for one in self._values
        )


class _OwnValues:
    """The values of the user's message and the results of tools."""

    def __init__(self, texts: TurnTexts) -> None:
        text = "\n".join((texts.message, *texts.tool_results))[:OWN_CHARACTERS_MAX]
        self._text = text.lower()
        self._atoms: set[str] = set()
        for value in plain_values(text, with_neighbours=False):
            if value.kind != "name":
                self._atoms |= value.atoms
            if value.kind == "number":  # "12.4 s" is told as 12 seconds
                decimals = filter(_DECIMAL.fullmatch, value.atoms)
                self._atoms |= {str(round(float(atom))) for atom in decimals}
        self._words = set(re.findall(r"[^\W_]+", self._text))

    def has(self, value: PlainValue) -> bool:
        """Return True if the turn itself contains the value."""
        if value.kind == "name":
            return value.atoms <= self._words
        return value.atoms <= self._atoms or value.text.lower() in self._words


def _is_question(text: str) -> bool:
    """Return True for a question about a fact; one about reasons is a task."""
    return bool(_QUESTION_MARK.search(text)) and not _WHY.search(text)


def _has_value(passage: _Passage, value: PlainValue) -> bool:
    return any(value.atoms <= other.atoms for other in passage.values if other.kind == value.kind)


def _repeats(passage: _Passage, value: PlainValue, subject: frozenset[str]) -> bool:
    """Return True if a passage on the same subject has the value."""
    if not _has_value(passage, value):
        return False
    subject -= value.atoms
    shared = len(subject & passage.words)
    if value.distinctiveness == 2:
        return shared > 0 or not subject
    return shared >= 2 and shared >= SAME_SUBJECT * min(len(subject), len(passage.words))


def _is_same_fact(
    passage: _Passage, stated: frozenset[str], question_words: frozenset[str], *, is_measured: bool
) -> bool:
    """Return True if a sentence of a draft is plainly about the fact of a passage.

    `stated` has the words of the sentence, `question_words` those of the question that it answers
    without a tool. Otherwise a report of an agent is no fact, nor is anything that it measured.
    """
    subject = stated | question_words
    shared = subject & passage.words
    is_asked_for = 2 * len(question_words & passage.words) > len(question_words)
    if len(shared) < 2 and not (is_asked_for and subject <= passage.words):
        return False
    if is_asked_for:
        return len(shared) >= SAME_SUBJECT * min(len(subject), len(passage.words))
    if passage.is_report or (passage.is_answer and is_measured):
        return False
    own = stated & passage.own_words
    if len(own) > 2 and len(own) >= SAME_FACT * len(passage.own_words):
        return True
    return len(stated & passage.words) >= SAME_FACT * len(passage.words)


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
    """Yield the sentences of an item with values. What was superseded is no passage."""
    if _SUPERSEDED.match(item):
        return
    text = _blank(_IDS, item)
    question, answer = _QUESTION.search(text), _ANSWER.search(text)
    question_text = question["text"] if question else ""
    is_report = bool(question_text) and not _is_question(question_text)
    answer_start = answer.start() if answer else len(text)
    for start, sentence in _sentences(_blank(_SPEAKER, text)):
        values = tuple(islice(plain_values(sentence), VALUES_MAX // 10))
        if values:
            is_answer = start >= answer_start
            own_words = stems(sentence) - _date_words(values)
            words = own_words | stems(question_text) if is_answer else own_words
            quote = sentence.strip()
            yield _Passage(quote, own_words, words, values, is_answer, is_answer and is_report)


def _date_words(values: Iterable[PlainValue]) -> frozenset[str]:
    """Return the stems of dates: another month is no other fact."""
    return frozenset(word for one in values if one.kind == "date" for word in stems(one.text))


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    for match in _SENTENCE.finditer(text):
        if match[0].strip():
            yield match.start(), match[0]


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Replace the matches by blanks, so that offsets stay."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
