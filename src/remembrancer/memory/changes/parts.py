"""The parts of a sentence: subject, value, and the words that carry its meaning."""

from __future__ import annotations

import re
from typing import NamedTuple

from .phrases import COUNTRIES, GROUPS, LISTS
from .tokens import SentenceWord

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
