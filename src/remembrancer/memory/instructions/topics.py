"""Decide by words how well an instruction fits a question, and which one replaces another.

Pure: no store, no clock, no language model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ...protocol.patterns import regex
from ...search import normalize, parse_query
from ...search.text.analysis import words
from ...search.text.languages import detect
from .wishes import Instruction
from .words import CODES, across, words_across

SAME_TOPIC_MIN = 0.6  # common words, as a share of all words of both
SAME_CONDITION_MIN = 0.5  # share of the topic words of one condition that are in the other


# Words of a condition that name no topic: "when I ask you about ...".
_FRAME = words_across("frame")
_CHINESE_FRAME = regex(
    "当我?|如果我?|每当我?|每次我?|只要我?|问到?你?|提到|说到?|写|的时候|时|的话|我|你|请|对于|关于"
)
_NEGATION = regex(across("negation", "topics"))
# Words that say how long or how strictly an order holds, not what about.
_MANNER = words_across("manner")
_ANSWERING = regex(across("answering", "topics"))
_ANSWERS = regex(across("answers", "topics"))
_COMPARED = regex(across("than", "topics"))
_NAME = regex(
    r"(?:call(?:ing)? me|address(?:ing)? me as|refer to me as|i go by|nenne? mich"
    r"|appelle[sz]?-?(?: |)moi"
    r"|m'appelle[rz]? (?:plus|pas|jamais)|llámame|llamame|me llames|llamarme|chiamami|chiamarmi"
    r"|(?:называй|зови)(?:те)? меня|叫我|称呼我为?)"
    r"[ ,]*(?:bitte |please |por favor |per favore |just |nicht |mehr |nicht mehr |просто )*"
    r"(?P<name>[^\s,.!?。，！]+)"
)


# Matters on which only one wish can hold, with the possible wishes of each.
_WISHES = {
    "length": {
        "short": r"\b(?:short\w*|brief\w*|concise\w*|terse|kurz\w*|knapp\w*|court\w*|bref\w*"
        r"|brève\w*"
        r"|concis\w*|cort[ao]s?|breves?|brev[ei]|concis[ao]|коротк\w+|кратк\w+)|简短|简洁",
        "long": r"\b(?:long\w*|detailed|in detail|thorough\w*|verbose|ausführlich\w*|lang\w*"
        r"|détaillé\w*"
        r"|longue?s?|detallad\w+|larg[ao]s?|dettagliat\w+|lungh?[eaio]|подробн\w+|длинн\w+)|详细",
    },
    "form of address": {
        "informal": r"\bduz\w*|\btuto\w+|tut[eé]a\w*|del tu\b|на ты\b|\bdu-form",
        "formal": r"\bsiez\w*|\bvouvo\w+|de usted\b|del lei\b|на вы\b|\bsie-form",
    },
    "units": {
        "metric": r"\b(?:metric|grams?|celsius|kilomet\w+|metrisch\w*|gramm)\b",
        "imperial": r"\b(?:imperial|cups|ounces|fahrenheit|miles)\b",
    },
    "clock": {
        "24 hours": r"\b24[ -]?(?:h|hour|stunden|heures|horas|ore)",
        "12 hours": r"\b12[ -]?h|am/pm",
    },
    "spelling": {"British": r"\bbritish\b", "American": r"\bamerican\b"},
    "indentation": {
        "tabs": r"\b(?:use|with|prefer) tabs\b",
        "spaces": r"\b(?:use|with|prefer) spaces\b",
    },
    "currency": {"EUR": r"\beuros?\b|€", "USD": r"\bdollars?\b|\$", "GBP": r"\bpounds\b|£"},
}
_WISH_PATTERNS = {
    name: {value: regex(pattern) for value, pattern in wishes.items()}
    for name, wishes in _WISHES.items()
}
_LANGUAGE_PATTERNS = {
    code: regex(rf"(?<![^\W一-龥])(?:{across(code, 'languages')})(?![^\W一-龥])")
    for code in (*CODES, "pt", "ja")
}
_COMPARISON = regex(
    r"(?:prefer|prefers|préfère|prefiero|preferisco|предпочитаю|bevorzuge|rather (?:have|use|get"
    r"|see))\s+"
    r"(?P<first>[^,.]{2,60}?)\s+"
    r"(?:over|to|rather than|than|instead of|als|statt|vor|gegenüber|plutôt que|à|que|antes que"
    r"|a|ai|agli|вместо|а не)\s+"
    r"(?P<second>[^,.!?]{2,60})"
)


def applies(instruction: Instruction, query: str) -> float:
    """Return how well the condition of an instruction fits a question by its words, in [0, 1].

    It is the share of the topic words of the condition that the question has, compared by stem in
    the languages of both texts. 1.0 without a condition, or if the condition names no topic.
    """
    topic = topic_words(instruction)
    if not topic:
        return 1.0
    return _share(topic, query, instruction.text)


def topic_words(instruction: Instruction) -> tuple[str, ...]:
    """Return the words of a condition that name its topic, as written: no "when I ask about"."""
    if instruction.condition is None:
        return ()
    condition = _CHINESE_FRAME.sub(" ", instruction.condition)
    return tuple(
        word.text
        for word in parse_query(condition).words
        if not word.is_stop and normalize(word.text) not in _FRAME
    )


def replaces_instruction(older: Instruction, newer: Instruction) -> bool:
    """Return True if a newer instruction is about the same matter and wants something else.

    Conservative: both must have no condition or the same one, and either be about one matter with
    known wishes (language and length of answers, name and form of address, units, clock, spelling,
    currency), or have the same words with an opposite sign, or compare the same things the other
    way round. A repetition replaces nothing.
    """
    if not _same_condition(older, newer):
        return False
    old, new = _wish(older.text), _wish(newer.text)
    is_opposite = old.is_negated != new.is_negated
    matter = next((name for name in old.topics if name in new.topics), None)
    if matter is not None and old.topics[matter] != new.topics[matter]:
        return not old.is_negated and not new.is_negated
    # A "no" may be about something else in the sentence.
    if is_opposite and (matter == "name" or _likeness(old, new) >= SAME_TOPIC_MIN):
        return True
    return matter is None and _is_swapped(old.text, new.text)


def _share(topic: tuple[str, ...], text: str, context: str) -> float:
    """Return the share of words that are in a text; `context` tells the language of the words."""
    languages = [detect(words(one), one).number for one in (text, context)]
    present = {number for word in parse_query(text, languages).words for number in word.terms}
    hits = [
        sum(number in present for number in word.terms) / len(word.terms)
        if word.in_pairs
        else float(any(number in present for number, weight in word.terms.items() if weight == 1))
        for word in parse_query(" ".join(topic), languages).words
    ]
    return sum(hits) / len(hits) if hits else 1.0


def _same_condition(older: Instruction, newer: Instruction) -> bool:
    if older.condition is None or newer.condition is None:
        return older.condition is newer.condition
    return (
        applies(older, newer.condition) >= SAME_CONDITION_MIN
        and applies(newer, older.condition) >= SAME_CONDITION_MIN
    )


class _Wish(NamedTuple):
    """A wish, as it is compared with another one."""

    text: str  # in one notation
    is_negated: bool
    topics: Mapping[str, str]  # the wish on each matter
    terms: frozenset[int]


@lru_cache(maxsize=512)  # a new wish is compared with all that its user has
def _wish(text: str) -> _Wish:
    plain = " ".join(normalize(text).replace("’", "'").split())
    terms = frozenset(_content(plain))
    return _Wish(plain, _NEGATION.search(plain) is not None, _topics(plain), terms)


def _topics(text: str) -> dict[str, str]:
    """Return the matters that an instruction is about, with what it wants."""
    topics = {}
    if match := _NAME.search(text):
        topics["name"] = match["name"].strip("'\"*_")
    if _ANSWERING.search(text):
        codes = [code for code, pattern in _LANGUAGE_PATTERNS.items() if pattern.search(text)]
        if len(codes) == 1:
            topics["language"] = codes[0]
    for name, wishes in _WISH_PATTERNS.items():
        if name == "length" and (not _ANSWERS.search(text) or _COMPARED.search(text)):
            continue  # "long lists", "tables rather than long texts"
        values = [value for value, pattern in wishes.items() if pattern.search(text)]
        if len(values) == 1:
            topics[name] = values[0]
    return topics


def _content(text: str) -> set[int]:
    """Return the terms of the words that say what an instruction is about."""
    return {
        number
        for word in parse_query(text).words
        if not word.is_stop and normalize(word.text) not in _MANNER
        for number, weight in word.terms.items()
        if weight == 1
    }


def _likeness(old: _Wish, new: _Wish) -> float:
    """Return the share of common words of two instructions, in [0, 1]."""
    first, second = old.terms, new.terms
    return len(first & second) / len(first | second) if first and second else 0.0


def _is_swapped(old: str, new: str) -> bool:
    """Return True if one prefers A to B and the other B to A."""
    first, second = _COMPARISON.search(old), _COMPARISON.search(new)
    if not first or not second:
        return False
    return _content(first["first"]) == _content(second["second"]) != set() and _content(
        first["second"]
    ) == _content(second["first"])
