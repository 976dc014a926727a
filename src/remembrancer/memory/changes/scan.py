"""Find the marks and relations of a sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

from .parts import (
    ARTICLES,
    AUXILIARY,
    HAN_FIRST,
    IMPLIED,
    NO_SUBJECT,
    PREPOSITIONS,
)
from .phrases import DROPPED, LISTS, OTHERS, Match, Relation, match_at
from .tokens import SentenceWord

_RUSSIAN_PAST = re.compile(r"[а-я]{2,}(?:л|ла|ло|ли|лся|лась|лись)")
_AGES = frozenset(("岁", "года", "лет", "год"))
_VISIBLE = frozenset(("past", "hedge", "plain"))  # marks whose words stay in the sentence
_YEAR = re.compile(r"(?:19|20)\d\d")
_YEAR_HINTS = frozenset(("in", "en", "nel", "в", "im", "jahr", "since", "seit"))
_RELATIVE = LISTS["relative"]
# Who or what the sentence speaks of stands in another one.
_INDEFINITE = LISTS["pronouns"] | _RELATIVE | LISTS["questions"] | LISTS["you"]


class RelationPlace(NamedTuple):
    """A relation and its words: from `start` to before `end`; the value ends before `gate`."""

    start: int
    end: int
    relation: Relation
    gate: int  # -1 for none


class Scan:
    """Marks and relations of one sentence, and its words without most marks."""

    def __init__(self, words: list[SentenceWord]) -> None:
        self.marks: set[str] = set()
        self.words: list[SentenceWord] = []
        self.relations: list[RelationPlace] = []
        self.replaced_at: list[int] = []  # places of values that no longer hold
        self._gates: set[int] = set()
        self._read(self._without_dropped(words))
        texts = [token.word for token in words]
        if "?" in texts or "吗" in texts:
            self.marks.add("question")
        if "may" in texts and SentenceWord("may", is_capital=False) in words:
            self.marks.add("hedge")
        if _is_indefinite(texts):
            self.marks.add("indefinite")

    def _without_dropped(self, words: list[SentenceWord]) -> list[SentenceWord]:
        texts = [token.word for token in words]
        if DROPPED.keys().isdisjoint(texts):
            return words
        result, place = [], 0
        while place < len(words):
            match = match_at(DROPPED, texts, place)
            if match is None:
                result.append(words[place])
                place += 1
            else:
                self.marks |= match.phrase.marks
                place = match.end
        return result

    def _read(self, words: list[SentenceWord]) -> None:
        texts = [token.word for token in words]
        places: dict[int, int] = {}  # of the words that stay
        place = 0
        while place < len(words):
            match = None
            if texts[place] in OTHERS and place not in self._gates:
                is_name = place and words[place].is_capital and texts[place] < HAN_FIRST
                match = None if is_name else match_at(OTHERS, texts, place)
            if match is not None:
                self._add(match, words[place : match.end])
                place = match.end
                continue
            if place not in self._gates:
                places[place] = len(self.words)
                self.words.append(words[place])
            place += 1
        self.relations = [
            entry if entry.gate < 0 else entry._replace(gate=places.get(entry.gate, -1))
            for entry in self.relations
        ]

    def _add(self, match: Match, words: list[SentenceWord]) -> None:
        phrase = match.phrase
        self.marks |= phrase.marks
        if phrase.relation is not None:
            start = len(self.words)
            self.words += words
            self.relations.append(
                RelationPlace(start, len(self.words), phrase.relation, match.gate)
            )
        elif phrase.marks <= _VISIBLE:
            self.words += words
        elif match.gate >= 0:
            self._gates |= set(range(match.gate, match.gate + len(phrase.gate)))
        if "replaced" in phrase.marks:
            self.replaced_at.append(len(self.words))

    def main_relation(self) -> RelationPlace | None:
        """Return the first relation with a subject that is not within a relative clause."""
        for number, entry in enumerate(self.relations):
            before = [token.word for token in self.words[: entry.start]]
            if NO_SUBJECT.issuperset(before):
                if self.words[entry.start].word in IMPLIED:
                    return entry
                continue
            if _is_another_word(self.words, entry.start, entry.end):
                continue
            is_last = number == len(self.relations) - 1
            is_relative = not _RELATIVE.isdisjoint(before[1:])
            if is_relative and (not is_last or entry.relation.rule != "copula"):
                continue
            return entry
        return _without_verb(self.words)

    def is_dated(self, entry: RelationPlace) -> bool:
        """Return True if a year outside the value says when the statement held."""
        for place, token in enumerate(self.words):
            if token.word[0] not in "12" or not _YEAR.fullmatch(token.word):
                continue
            if entry.start <= place <= entry.end + 1:
                continue
            before = self.words[place - 1].word if place else ""
            after = self.words[place + 1].word if place + 1 < len(self.words) else ""
            if not place or before in _YEAR_HINTS or after in ("年", "году", "г"):
                return True
        return False


def _is_indefinite(texts: list[str]) -> bool:
    first, following = texts[0], texts[1] if len(texts) > 1 else ""
    if first in ARTICLES and first != "that":  # "das Lager" names something, "das ist" does not
        return first in _INDEFINITE and (following in AUXILIARY or following in OTHERS)
    return first in _INDEFINITE


def _is_another_word(words: list[SentenceWord], start: int, end: int) -> bool:
    """Return True if a short verb is another word here: French "a", German "am", 喜欢的."""
    verb = words[start].word
    following = words[end].word if end < len(words) else ""
    if end - start == 1 and verb == "a":
        after = words[end + 1].word if end + 1 < len(words) else ""
        return not (following.isdigit() and after in ("an", "ans"))
    if end - start == 1 and verb == "am":
        return words[start - 1].word != "i"
    if verb in "—–":
        return words[0].word < "а"
    return following == "的"


_BARE = Relation("is", "copula", is_event=False)


def _without_verb(words: list[SentenceWord]) -> RelationPlace | None:
    """Return the place of the value of a sentence without a verb (Встреча в 9:30, 妮娜33岁)."""
    if not words or words[0].word < "а" or words[0].word[0] == "§":
        return None
    for place, token in enumerate(words):
        if place and _RUSSIAN_PAST.fullmatch(token.word):
            return None
        following = words[place + 1].word if place + 1 < len(words) else ""
        is_value = token.word[0] == "@" or (token.word.isdigit() and following in _AGES)
        if is_value and not NO_SUBJECT.issuperset(earlier.word for earlier in words[:place]):
            start = place
            while start > 1 and words[start - 1].word in PREPOSITIONS:
                start -= 1
            return RelationPlace(start, start, _BARE, -1)
    return None
