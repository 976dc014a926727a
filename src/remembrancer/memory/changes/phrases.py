"""The phrases of the rules: marks of a sentence, and relations between a subject and a value."""

from __future__ import annotations

from typing import Any, NamedTuple

from .tokens import CODES, load_table, normalize, tokens


class Relation(NamedTuple):
    """One kind of relation; `rule` says when another value replaces the old one."""

    attribute: str
    rule: str
    is_event: bool


class Phrase(NamedTuple):
    """Words that follow each other, and a later word that must follow, too (empty: none)."""

    words: list[str]
    gate: list[str]
    marks: frozenset[str]
    relation: Relation | None


class Match(NamedTuple):
    """A phrase at a place of a sentence; `gate` is the place of its later word, -1 for none."""

    phrase: Phrase
    end: int
    gate: int


_DROPPED = ("now", "still")  # marks that may stand anywhere, also within other phrases


def _words(text: str) -> tuple[str, ...]:
    return tuple(token.word for token in tokens(text))


def _lists() -> dict[str, frozenset[str]]:
    lists = {}
    for name, words in load_table("words.toml").items():
        if isinstance(words, str):
            lists[name] = frozenset(
                "".join(_words(word)) if word[0] >= "\u3400" else normalize(word)
                for word in words.split()
            )
    return lists


def _groups() -> dict[str, str]:
    table: Any = load_table("words.toml")["groups"]
    return {
        "".join(_words(word)) if word[0] >= "\u3400" else normalize(word): group
        for group, words in table.items()
        for word in words.split()
    }


def _countries() -> frozenset[str]:
    table: Any = load_table("words.toml")["countries"]
    return frozenset(
        "".join(_words(word)) if word[0] >= "\u3400" else normalize(word)
        for word in table["names"].split()
    )


def _index() -> tuple[dict[str, list[Phrase]], dict[str, list[Phrase]]]:
    """Return the phrases by their first word: those of dropped marks, and all others."""
    table: Any = load_table("phrases.toml")
    phrases: dict[tuple[tuple[str, ...], tuple[str, ...]], Phrase] = {}
    for mark, languages in table["mark"].items():
        for words, gate, _ in _phrases(languages):
            old = phrases.get((words, gate))
            marks = (old.marks if old else frozenset()) | {mark}
            phrases[words, gate] = Phrase(list(words), list(gate), marks, None)
    for name, row in table["relation"].items():
        for words, gate, text in _phrases(row):
            attribute = row.get("attribute", name)
            relation = Relation(
                text if attribute == "*" else attribute, row["rule"], row.get("is_event", False)
            )
            old = phrases.get((words, gate))
            if old is None or old.relation is None:
                marks = old.marks if old else frozenset()
                phrases[words, gate] = Phrase(list(words), list(gate), marks, relation)
    dropped: dict[str, list[Phrase]] = {}
    others: dict[str, list[Phrase]] = {}
    for phrase in sorted(phrases.values(), key=lambda p: (-len(p.words), not p.gate)):
        index = dropped if phrase.marks & set(_DROPPED) else others
        index.setdefault(phrase.words[0], []).append(phrase)
    return dropped, others


def _phrases(row: dict[str, Any]) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    result = []
    for code in CODES:
        for text in row.get(code, "").split(";"):
            head, _, gate = text.partition("...")
            if words := _words(head):
                result.append((words, _words(gate), text.strip()))
    return result


LISTS = _lists()
GROUPS = _groups()
COUNTRIES = _countries()
DROPPED, OTHERS = _index()


def match_at(index: dict[str, list[Phrase]], words: list[str], place: int) -> Match | None:
    """Return the longest phrase that begins at a place."""
    for phrase in index.get(words[place], ()):
        length = len(phrase.words)
        if length > 1 and words[place : place + length] != phrase.words:
            continue
        if not phrase.gate:
            return Match(phrase, place + length, -1)
        gate = _find(words, phrase.gate, place + length)
        if gate >= 0:
            return Match(phrase, place + length, gate)
    return None


def _find(words: list[str], gate: list[str], start: int) -> int:
    for place in range(start, len(words) - len(gate) + 1):
        if words[place : place + len(gate)] == gate:
            return place
    return -1
