"""Read a statement: its subject, attribute, value and marks, and the keys to find it by."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

from .scan import (
    IMPLIED,
    NounClass,
    RelationPlace,
    Scan,
    Subject,
    before_time,
    content_of,
    group_of,
    has_number,
    kind_of,
    noun_class,
    stem,
    subject_of,
    value_of,
)
from .tokens import Relation, SentenceWord, sentences, tokens

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
