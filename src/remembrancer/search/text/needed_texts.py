"""Literal texts that a regular expression needs, so that most texts need not be searched for it.

Source: Cox, "Regular expression matching with a trigram index", 2012. Whole texts here, no
trigrams.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import _constants, _parser  # there is no public interface
from typing import Any

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


def needed_texts(pattern: str) -> tuple[str, ...]:
    """Return texts one of which is in every match of a pattern; empty if there are none.

    Of several such sets, that with the longest texts: they are the rarest. The pattern must not
    ignore case.
    """
    return tuple(sorted(_best(_parser.parse(pattern)) or ()))


def _best(tree: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    """Return the best set of texts that a sequence needs; None without any."""
    sets: list[frozenset[str]] = []
    literal = ""
    for kind, argument in tree:
        if kind is _constants.LITERAL:
            literal += chr(argument)
        elif kind is not _constants.AT:  # a boundary between two letters changes nothing
            sets += [frozenset({literal})] if literal else []
            literal = ""
            if (inner := _needed(kind, argument)) is not None:
                sets.append(inner)
    sets += [frozenset({literal})] if literal else []
    return max(sets, key=lambda one: (min(map(len, one)), -len(one)), default=None)


def _needed(kind: Any, argument: Any) -> frozenset[str] | None:
    if kind is _constants.SUBPATTERN:
        return _best(argument[3])
    if kind in _REPEATS:
        return _best(argument[2]) if argument[0] else None
    if kind is _constants.BRANCH:
        parts = [_best(one) for one in argument[1]]
        complete = [one for one in parts if one]
        return frozenset().union(*complete) if len(complete) == len(parts) else None
    return None
