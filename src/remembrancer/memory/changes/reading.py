"""Read a statement: its subject, attribute, value and marks, and the keys to find it by."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

from .tokens import (
    COUNTRIES,
    DROPPED,
    GROUPS,
    LISTS,
    OTHERS,
    Match,
    Relation,
    SentenceWord,
    match_at,
    sentences,
    tokens,
)

# --- The parts of a sentence: subject, value, and the words that carry its meaning -----------

ME, WE, YOU = "§me", "§we", "§you"
HAN_FIRST = "\u3400"  # the first Chinese character; words of other scripts sort before it

PUNCTUATION = frozenset("?,;:—–+")
_ENDS = frozenset("?,;—–")
_CODE = re.compile(r"[a-z]\d|[a-z][/@._-][a-z]")  # hunter2, eva@a.org, feature/cache
_APPROXIMATE = frozenset(("about", "around", "etwa", "circa", "ca", "environ", "unos", "около"))

ARTICLES, AUXILIARY, PREPOSITIONS = LISTS["articles"], LISTS["auxiliary"], LISTS["prepositions"]
_POSSESSIVE, _PLURAL_POSSESSIVE = LISTS["possessive"], LISTS["plural_possessive"]
_OF, _NEWER, _CUTS = LISTS["of"], LISTS["newer"], LISTS["cuts"]
# Words that cannot be a subject on their own.
NO_SUBJECT = (
    PUNCTUATION | ARTICLES | AUXILIARY | PREPOSITIONS | _POSSESSIVE | _PLURAL_POSSESSIVE | _OF
    | _NEWER
)  # fmt: skip
_WITHOUT_CONTENT = (
    PUNCTUATION | ARTICLES | AUXILIARY | PREPOSITIONS | _OF | {"do", "does", "did"}
)  # fmt: skip
# Verbs that say who does it (vivo, usiamo).
IMPLIED = {
    **dict.fromkeys(LISTS["first_verbs"], ME),
    **dict.fromkeys(LISTS["first_plural_verbs"], WE),
}
_PERSONS = {
    **dict.fromkeys(LISTS["plural_person"] | _PLURAL_POSSESSIVE, WE),
    **dict.fromkeys(LISTS["you"], YOU),
    **dict.fromkeys(LISTS["first_person"] | LISTS["user"] | _POSSESSIVE, ME),
}


class Subject(NamedTuple):
    """Subject of a statement. Words are stems."""

    words: tuple[str, ...] = ()
    is_possessed: bool = False  # something of somebody: the director of X, my doctor
    is_newer: bool = False  # the words call it new or current


class NounClass(NamedTuple):
    """Number of values that a subject has at once."""

    is_attribute: bool = False  # one, such as a capital
    is_exact: bool = False  # one without a meaning of its own, such as a password
    is_several: bool = False  # perhaps several, such as friends


def stem(word: str) -> str:
    """Return a word without the endings that differ between forms of it."""
    if len(word) < 4 or word[0] in "@§":
        return word
    if "а" <= word[0] <= "я":
        return word.rstrip("аяуюеоийыь") if len(word) > 4 else word
    if word.endswith("oes"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def subject_of(before: list[SentenceWord], verb: str) -> Subject:
    """Return the subject that stands before a verb, from the last punctuation on."""
    names = [token.word for token in before]
    for place in range(len(names) - 1, -1, -1):
        if names[place] in PUNCTUATION:
            names = names[place + 1 :]
            break
    has_owner = "'s" in names[1:-1]
    if has_owner:  # "Eva's doctor" is "the doctor of Eva"
        at = names.index("'s")
        names = [*names[at + 1 :], *names[:at]]
    words = [
        _PERSONS.get(word, word)
        for word in names
        if word not in ARTICLES and word not in AUXILIARY and word not in _OF and word not in _NEWER
    ]
    if not words and verb in IMPLIED:
        words = [IMPLIED[verb]]
    if len(words) == 1 and words[0] in LISTS["pronouns"]:
        return Subject()
    if len(words) > 1 and (ME in words or WE in words):  # "my doctor" is "the doctor of me"
        words.sort(key=lambda word: word in (ME, WE))
    # A Russian genitive has no word of its own.
    is_genitive = len(words) > 1 and "а" <= words[0][0] <= "я"
    is_possessed = has_owner or is_genitive or not _POSSESSING.isdisjoint(names)
    return Subject(tuple(map(stem, words)), is_possessed, not _NEWER.isdisjoint(names))


_POSSESSING = _POSSESSIVE | _PLURAL_POSSESSIVE | _OF


def value_of(words: list[SentenceWord]) -> tuple[tuple[str, ...], bool]:
    """Return the words of a value up to a clause or punctuation, and if it is a name."""
    result: list[SentenceWord] = []
    for token in words:
        word = token.word
        if word in _ENDS or (result and word in _CUTS):
            break
        if result or not (word in PREPOSITIONS or word in _APPROXIMATE or word == ":"):
            result.append(token)
    is_name = bool(result) and (result[0].is_capital or bool(_CODE.search(result[0].word)))
    names = [token.word for token in result]
    if len(names) > 1 and names[0] in ARTICLES:
        names = names[1:]
    return tuple(names), is_name


def before_time(words: list[SentenceWord]) -> list[SentenceWord]:
    """Return the words before a date: Lviv of "Lviv in March"."""
    end = next((at for at, token in enumerate(words) if token.word[0] == "@"), len(words))
    while 0 < end < len(words) and words[end - 1].word in PREPOSITIONS:
        end -= 1
    return words[:end]


def content_of(words: list[SentenceWord], person: str | None) -> tuple[str, ...]:
    """Return the stems of the words that carry the meaning, after the person a verb implies."""
    result = [person] if person else []
    for token in words:
        word = token.word
        if word in _PERSONS:
            result.append(_PERSONS[word])
        elif word not in _WITHOUT_CONTENT:
            result.append(stem(word))
    return tuple(result)


# Words that make one of several: the official language, my best friend.
_ONLY = frozenset(("official", "original", "native", "best", "main", "primary", "favorite"))
_SEVERAL = frozenset(map(stem, LISTS["several_nouns"]))
_ATTRIBUTES = frozenset(map(stem, LISTS["attribute_nouns"]))
_EXACT = frozenset(map(stem, LISTS["exact_nouns"]))


def _han(name: str) -> tuple[str, ...]:
    return tuple(word for word in LISTS[name] if word[0] >= HAN_FIRST)


_HAN_SEVERAL, _HAN_ATTRIBUTES = _han("several_nouns"), _han("attribute_nouns")
_HAN_EXACT = _han("exact_nouns")


def noun_class(subject: tuple[str, ...]) -> NounClass:
    """Return how many values the noun of a subject has."""
    if not subject:
        return NounClass()
    if subject[0] >= HAN_FIRST:
        text = "".join(word for word in subject if word[0] != "§")
        is_several = text.endswith(_HAN_SEVERAL)
        is_attribute = text.endswith(_HAN_ATTRIBUTES) and not is_several
        return NounClass(is_attribute, text.endswith(_HAN_EXACT), is_several)
    return NounClass(
        not _ATTRIBUTES.isdisjoint(subject),
        not _EXACT.isdisjoint(subject),
        not _SEVERAL.isdisjoint(subject[:2]) and _ONLY.isdisjoint(subject),
    )


def group_of(value: tuple[str, ...]) -> str | None:
    """Return the group of a value, such as `drink`; None if it is in none."""
    return (GROUPS.get(value[0]) or GROUPS.get("".join(value))) if value else None


def is_country(value: tuple[str, ...]) -> bool:
    """Return True if the value is a country or a continent of the list."""
    return bool(value) and (value[-1] in COUNTRIES or "".join(value) in COUNTRIES)


def has_number(value: tuple[str, ...]) -> bool:
    """Return True if a word of the value begins with a digit."""
    return any(word[0].isdigit() for word in value)


def kind_of(value: tuple[str, ...], *, is_name: bool) -> str:
    """Return the kind of a value: `time`, `number`, `name` or `word`."""
    if any(word[0] == "@" for word in value[:2]):
        return "time"
    if value and (value[0][0].isdigit() or (_is_short(value) and has_number(value))):
        return "number"
    return "name" if is_name else "word"


def _is_short(value: tuple[str, ...]) -> bool:
    return len(value) < 3 or (value[0] >= HAN_FIRST and len(value) < 8)


# --- Find the marks and relations of a sentence ----------------------------------------------

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


# --- A statement: its sentences, and the keys to find it by ----------------------------------

LENGTH_MAX = 1_000  # characters of a statement; bounds the time and the cache
SENTENCES_MAX = 4  # of one statement; longer texts are not facts
WORDS_MAX = 60  # of one sentence
KEYS_MAX = 6
KEY_LENGTH_MAX = 64
_CONTENT_KEYS_MAX = 4
_REPLACED_WORDS_MAX = 5
_LABEL = re.compile(
    r"^(?:please\s+)?(?:(?P<update>update(?: this)?|correction|edit|change|korrektur|mise à jour"
    r"|actualización|aggiornamento|обновление|更新|更正)\s*:"
    r"|(?:remember|note|confirm|fyi|memo)(?:\s+that\b|\s*:))\s*",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"\*\*|^\s*[#|]|[`\\{}<>^=]|\w\(|\);")  # headings, tables, code, formulas


class Reading(NamedTuple):
    """One sentence as the rules see it. Words are normalised."""

    marks: frozenset[str]
    subject: Subject
    noun: NounClass
    relation: Relation | None
    value: tuple[str, ...]
    is_name: bool  # the value is written like a name
    content: tuple[str, ...]
    replaced: tuple[tuple[str, ...], ...]  # values that the sentence says no longer hold
    keys: tuple[str, ...]

    @property
    def times(self) -> tuple[str, ...]:
        """Dates, weekdays and times of the value."""
        return tuple(word for word in self.value if word[0] == "@")

    @property
    def rule(self) -> str:
        """Rule of the relation, empty without one."""
        return self.relation.rule if self.relation else ""

    @property
    def kind(self) -> str:
        """Kind of the value: `time`, `number`, `name` or `word`."""
        return kind_of(self.value, is_name=self.is_name)

    @property
    def group(self) -> str | None:
        """Group of values to which the value belongs, such as `drink`."""
        return group_of(self.value)

    @property
    def is_update(self) -> bool:
        """True if the statement says that it is new."""
        return "now" in self.marks


def readings(statement: str) -> tuple[Reading, ...]:
    """Return the first sentences of a statement, read; an unreadable one is left out."""
    return read_start(statement[:LENGTH_MAX])


@lru_cache(maxsize=1_024)  # an entry has a few kilobytes
def read_start(statement: str) -> tuple[Reading, ...]:
    """Return the sentences of a text of at most LENGTH_MAX characters, read."""
    result = []
    for sentence in sentences(statement)[:SENTENCES_MAX]:
        if _MARKUP.search(sentence):
            continue
        label = _LABEL.match(sentence)
        words = tokens(sentence[label.end() :] if label else sentence)
        if 0 < len(words) <= WORDS_MAX:
            is_update = label is not None and label["update"] is not None
            result.append(_read(words, is_update=is_update))
    return tuple(result)


def _read(words: list[SentenceWord], *, is_update: bool) -> Reading:
    scan = Scan(words)
    entry = scan.main_relation()
    relation, subject = None, Subject()
    value: tuple[str, ...] = ()
    is_name = False
    if entry is not None:
        relation = entry.relation
        verb = scan.words[entry.start].word
        subject = subject_of(scan.words[: entry.start], verb)
        value, is_name = value_of(_value_words(scan, entry))
        if scan.is_dated(entry):
            scan.marks.add("past")
    if is_update or subject.is_newer:
        scan.marks.add("now")
    first = scan.words[0].word if scan.words else ""
    content = content_of(scan.words, IMPLIED.get(first) or IMPLIED.get(words[0].word))
    replaced = tuple(
        part
        for at in scan.replaced_at
        if (part := value_of(scan.words[at : at + _REPLACED_WORDS_MAX])[0])
    )
    keys = [f"{'_'.join(subject.words)}|{name}" for name in _attributes(subject, relation, value)]
    if content:
        keys += _content_keys(content, subject.words, value, replaced)
    return Reading(
        frozenset(scan.marks),
        subject,
        noun_class(subject.words),
        relation,
        value,
        is_name,
        content,
        replaced,
        tuple(map(_short, dict.fromkeys(keys)))[:KEYS_MAX],
    )


def _value_words(scan: Scan, entry: RelationPlace) -> list[SentenceWord]:
    """Return the words of the value, up to the end of the phrase or to a value it replaces."""
    stop = min((at for at in scan.replaced_at if at >= entry.end), default=len(scan.words))
    if entry.gate >= entry.end:
        stop = min(stop, entry.gate)
    rest = scan.words[entry.end : stop]
    if entry.relation.rule == "copula" and rest and rest[0].word == "to":
        return []  # "my role is to help": an intention
    return before_time(rest) if entry.relation.rule == "name" else rest


def _content_keys(
    content: tuple[str, ...],
    subject: tuple[str, ...],
    value: tuple[str, ...],
    replaced: tuple[tuple[str, ...], ...],
) -> list[str]:
    """Return keys of the first word with words of the value, those that no longer hold first."""
    words = [word for word in map(stem, value) if word in content]
    if not words:
        words = [word for word in content[1:] if word not in subject]
    words = [*(stem(part[0]) for part in replaced), *words[:_CONTENT_KEYS_MAX]]
    return [f"{content[0]}~{word}" for word in words]


def _attributes(subject: Subject, relation: Relation | None, value: tuple[str, ...]) -> list[str]:
    """Return names of the attribute that another value of it has, too."""
    if relation is None or not subject.words or relation.rule == "past":
        return []
    name = relation.attribute
    if relation.rule in ("several", "version"):
        units = [word for word in value if not word[0].isdigit()]
        return [f"{name} {' '.join(units[:2])}"] if has_number(value) else []
    if relation.rule == "group":
        group = group_of(value)
        return [f"{name} {group}"] if group else []
    return [name]


def _short(key: str) -> str:
    if len(key) <= KEY_LENGTH_MAX:
        return key
    digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    return f"{key[: KEY_LENGTH_MAX - 17]}#{digest}"
