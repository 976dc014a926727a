"""Questions about an earlier state: before, originally, at first, in seven languages."""

from __future__ import annotations

import re

from .tokens import sentences

QUESTION_LENGTH_MAX = 300  # characters; longer sentences are no questions about one state
_END = r"(?=\s*(?:[?!.,;)]|$))"  # "before the meeting" does not ask for an earlier state
_NOUN = (
    r"(?:\w+\s+)?(?:address|job|number|plan|value|version|name|deadline|budget|date|state|price"
    r"|employer|city|home|doctor|password|title|choice|preference|setting|place|location|owner)"
)
_HISTORY = re.compile(
    rf"\b(?:before{_END}|before (?:it|that|this|the (?:change|move|update|switch))\b|originally"
    rf"|(?<!get )(?<!'m )(?<!is )(?<!are )used to\b"
    r"|previously|formerly|at first|initially|in the past|back then"
    rf"|(?:previous|former|original|old|earlier|initial) {_NOUN}\b|history of|changed? from"
    rf"|(?:was|were|did|had)\b.{{1,60}}\b(?:previous|no longer)"
    r"|vorher(?:ige[nrs]?)?|zuvor|ursprünglich(?:e[nrs]?)?|früher(?:e[nrs]?)?|ehemal(?:s|ige[nrs]?)"
    r"|anfangs|damals|zuerst|bisherige[nrs]?"
    r"|auparavant|autrefois|à l['\u2019]origine|au début|initialement|précédemment|ancien(?:ne)?s?"
    rf"|à l['\u2019]époque|avant{_END}|avant ça|avant cela"
    rf"|antes{_END}|anteriormente|al principio|originalmente|originariamente|previamente"
    r"|inicialmente|antiguamente|en un principio|solía[ns]?"
    rf"|prima{_END}|in origine|originariamente|in passato|all['\u2019]inizio|precedentemente"
    r"|inizialmente|un tempo|all['\u2019]epoca"
    r"|раньше|изначально|прежде|прежн(?:ий|яя|ее|ие|его|ей|их)|первоначальн\w+|ранее"
    r"|сначала|до этого|в прошлом|когда-то|бывш\w+"
    r"|стар(?:ый|ая|ое|ого) (?:адрес|номер|план|срок))\b"
    r"|原本|原来|原來|以前|之前|一开始|一開始|当初|當初|原先|最初|起初|先前|从前|從前|过去|過去"
    r"|旧状态|舊狀態|旧的|舊的|曾经|曾經|本来|本來",
    re.IGNORECASE,
)
_EXPERIENCE = re.compile(r"^\W*(?:have|has|had)\s+\w+\s.*\bbefore\b", re.IGNORECASE)
_BEFORE_ACTION = re.compile(r"\w[之以]前[,，]?(?:我|你|应该|應該|需要|要|必须|必須)")


def names_history(query: str) -> bool:
    """Return True if a question asks for an earlier state ("Where did Ada live before?").

    "Have I ever been there before?" and "before the meeting" ask for no earlier state.
    """
    return any(
        len(sentence) <= QUESTION_LENGTH_MAX
        and _HISTORY.search(sentence) is not None
        and not _EXPERIENCE.match(sentence)
        and not _BEFORE_ACTION.search(sentence)
        for sentence in sentences(query)
    )
