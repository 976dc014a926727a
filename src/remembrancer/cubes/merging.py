"""Which lessons say the same, which one says it more clearly, and which contradict each other.

Pure: texts in, decisions out. Two lessons that share nearly all words may still differ in the one
that matters, so numbers, negations and code must be equal too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..search import normalize
from ..search.text.analysis import identifier_names, words
from .fit import Wording, terms_of

SAME_SHARE_MIN = 0.75  # of the terms of both lessons that both have
RULE_SHARE_MIN = 0.6  # the same, of two rules that contradict each other
RULE_TERMS_MIN = 3
_ITEM = re.compile(r"^[^\S\n]*+(?:[-*+]|\d+[.)])\s+", re.MULTILINE)
_DUTY = re.compile(r"\b(?:MUST|SHALL)\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CODE = re.compile(r"`([^`\n]{1,120})`")
_NEGATION = re.compile(
    r"\b(?:not|never|no|without|avoid|cannot|nicht|nie|kein\w*|ohne|ne|pas|jamais|sans|sin|nunca"
    r"|non|mai|senza|не|никогда|без)\b|n['’]t\b|不|没|勿"
)
_CLEAR_RULES = 3  # more rules are harder to follow
_CLEAR_CHARACTERS = 600


def says_same(one: Wording, other: Wording) -> bool:
    """Return True if two lessons are equal, or nearly: in another order, with some more words."""
    if _plain(one.text) == _plain(other.text):
        return True
    first, second = _reading(one.text), _reading(other.text)
    return (
        first.exact == second.exact
        and first.negations == second.negations
        # Each with a word of its own: that word may be what the lesson is about.
        and (first.terms <= second.terms or second.terms <= first.terms)
        and _shared(first.terms, second.terms) >= SAME_SHARE_MIN
    )


def clarity(wording: Wording) -> float:
    """Return how clear a wording is; higher is clearer.

    Rules that are a list with MUST or SHALL in each item, that name code or numbers, and that are
    few and short.
    """
    items = [item for item in _ITEM.split(wording.rules) if item.strip()]
    dutiful = sum(bool(_DUTY.search(item)) for item in items) / max(len(items), 1)
    concrete = min(len(_reading(wording.rules).exact), _CLEAR_RULES) / _CLEAR_RULES
    crowded = max(len(items) - _CLEAR_RULES, 0) / _CLEAR_RULES
    lengthy = max(len(wording.text) - _CLEAR_CHARACTERS, 0) / _CLEAR_CHARACTERS
    return dutiful + 0.5 * concrete - 0.5 * crowded - 0.5 * lengthy


def contradicts(one: Wording, other: Wording) -> bool:
    """Return True if a rule of one lesson forbids or changes what a rule of the other demands.

    Two rules about the same thing, by their words: only one of them has a negation, or they name
    other numbers or other code.
    """
    return any(
        _opposed(_reading(first), _reading(second))
        for first in _rules(one)
        for second in _rules(other)
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """The parts of a text that are compared."""

    terms: frozenset[str]  # stems of its content words, without those of `exact`
    exact: frozenset[str]  # numbers, code and identifiers
    negations: int


@lru_cache(maxsize=1_024)
def _reading(text: str) -> _Reading:
    plain = normalize(text)
    names = {name for one in identifier_names(plain) for name in one.names}
    exact = {*_NUMBER.findall(plain), *_CODE.findall(plain), *names}
    inside = {word for text in exact for word in words(text)}
    terms = {
        term for term in terms_of(_CODE.sub(" ", plain)) if term not in inside and term[0] != "`"
    }
    return _Reading(frozenset(terms), frozenset(exact), len(_NEGATION.findall(plain)))


def _opposed(one: _Reading, other: _Reading) -> bool:
    if min(len(one.terms), len(other.terms)) < RULE_TERMS_MIN:
        return False
    if _shared(one.terms, other.terms) < RULE_SHARE_MIN:
        return False
    if one.negations % 2 != other.negations % 2:
        return True
    return bool(one.exact and other.exact) and not (one.exact & other.exact)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the terms of both that both have; 1 without any (Jaccard)."""
    either = one | other
    return len(one & other) / len(either) if either else 1.0


def _rules(wording: Wording) -> list[str]:
    return [item.strip() for item in _ITEM.split(wording.rules) if item.strip()]


def _plain(text: str) -> str:
    return " ".join(words(text))
