"""Read what a message asks of memory: to forget something, or what was so before."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from ...protocol.patterns import regex
from ...protocol.tables import read_table
from ...search import Vectors, load_regression
from .reading import sentences

# --- Questions about an earlier state: "Where did I live before?", "Was it always on Thursdays?"
# Some phrases say so in seven languages. Most questions do not use them: a logistic regression over
# the vector of the question finds these.

ODDS_MIN = 1.0  # log odds from which a question asks for an earlier state
QUESTION_LENGTH_MAX = 300  # characters; longer sentences are no questions about one state
_STOP = r"(?=\s*(?:[?!.,;)]|$))"  # "before the meeting" does not ask for an earlier state
_NOUN = (
    r"(?:\w+\s+)?(?:address|job|number|plan|value|version|name|deadline|budget|date|state|price"
    r"|employer|city|home|doctor|password|title|choice|preference|setting|place|location|owner)"
)
_HISTORY = regex(
    rf"\b(?:before{_STOP}|before (?:it|that|this|the (?:change|move|update|switch))\b|originally"
    rf"|(?<!get )(?<!'m )(?<!is )(?<!are )used to\b"
    r"|previously|formerly|at first|initially|in the past|back then"
    rf"|(?:previous|former|original|old|earlier|initial) {_NOUN}\b|history of|changed? from"
    rf"|(?:was|were|did|had)\b.{{1,60}}\b(?:previous|no longer)"
    r"|vorher(?:ige[nrs]?)?|zuvor|ursprünglich(?:e[nrs]?)?|früher(?:e[nrs]?)?|ehemal(?:s|ige[nrs]?)"
    r"|anfangs|damals|zuerst|bisherige[nrs]?"
    r"|auparavant|autrefois|à l['\u2019]origine|au début|initialement|précédemment|ancien(?:ne)?s?"
    rf"|à l['\u2019]époque|avant{_STOP}|avant ça|avant cela"
    rf"|antes{_STOP}|anteriormente|al principio|originalmente|originariamente|previamente"
    r"|inicialmente|antiguamente|en un principio|solía[ns]?"
    rf"|prima{_STOP}|in origine|originariamente|in passato|all['\u2019]inizio|precedentemente"
    r"|inizialmente|un tempo|all['\u2019]epoca"
    r"|раньше|изначально|прежде|прежн(?:ий|яя|ее|ие|его|ей|их)|первоначальн\w+|ранее"
    r"|сначала|до этого|в прошлом|когда-то|бывш\w+"
    r"|стар(?:ый|ая|ое|ого) (?:адрес|номер|план|срок))\b"
    r"|原本|原来|原來|以前|之前|一开始|一開始|当初|當初|原先|最初|起初|先前|从前|從前|过去|過去"
    r"|旧状态|舊狀態|旧的|舊的|曾经|曾經|本来|本來",
    re.IGNORECASE,
)
_EXPERIENCE = regex(r"^\W*(?:have|has|had)\s+\w+\s.*\bbefore\b", re.IGNORECASE)
_BEFORE_ACTION = regex(r"\w[之以]前[,，]?(?:我|你|应该|應該|需要|要|必须|必須)")


def names_history(query: str, vector: Vectors | None = None, embedder: str = "none") -> bool:
    """Return True if a question asks for an earlier state ("Where did Ada live before?").

    "Have I ever been there before?" and "before the meeting" ask for no earlier state. `vector`,
    (dimensions,), is that of the words of the question, by the embedder of this name; without one
    of the built-in embedder, phrases decide.
    """
    has_phrase = any(
        len(sentence) <= QUESTION_LENGTH_MAX
        and _HISTORY.search(sentence) is not None
        and not _EXPERIENCE.match(sentence)
        and not _BEFORE_ACTION.search(sentence)
        for sentence in sentences(query)
    )
    regression = load_regression("history", embedder)
    if has_phrase or vector is None or regression is None or not vector.any():
        return has_phrase
    return regression.odds(vector) >= ODDS_MIN


# --- Requests of a user to forget something, to leave a message out of memory, or that say it
#     expired
# "Forget that I live in Rome", "Do not remember this", "This temporary note has expired: ...", in
# seven languages.

LENGTH_MAX = 1_000  # characters of a message that are read
TARGET_WORDS_MIN = 2  # of content; a shorter target may be anything
SHARE_OF_TARGET_MIN = 0.8  # of the target's words that a turn to forget contains
SHARE_OF_TURN_MIN = 0.5  # of its own words that the target contains

_TABLE = read_table(__package__, "withdrawal.toml")


def _phrases(name: str, **parts: str) -> str:
    """Return the alternatives of a list of withdrawal.toml as one pattern."""
    pattern = "|".join(_TABLE[name])
    for part, text in parts.items():
        pattern = pattern.replace(f"{{{part}}}", text)
    return pattern


def _pattern(text: str) -> re.Pattern[str]:
    return regex(text, re.IGNORECASE)


_END = r"(?=\s*(?:[.!;:,)。！：]|$|please\b|anywhere\b|in (?:your )?memory\b|bitte\b))"
_ABOUT = f"(?:{_phrases('about')})"
_POLITE = rf"(?:(?:{_phrases('polite')})[\s,]+|(?:can|could|would) you (?:please )?)*"
_FORGET = _pattern(f"^{_POLITE}(?:{_phrases('forget', about=_ABOUT)})")
_TARGET_START = _pattern(rf"^(?:{_ABOUT}|{_phrases('target_start')})\s*")
_FROM_MEMORY = _pattern(rf"(?<!\s)\s*+(?:{_phrases('from_memory')})")
_OFF_RECORD = _pattern(_phrases("off_record", end=_END))
_NO_SAVING = _pattern(_phrases("no_saving", end=_END))
_CONFIDENTIAL = _pattern(_phrases("confidential"))
_EXPIRED = _pattern(rf"^{_POLITE}(?:{_phrases('expired')})\s*[:：]\s*")
_TOKEN = regex(r"[^\W_]+")
_HAN = regex("[\u4e00-\u9fff]")
_GRAMMAR = frozenset(str(_TABLE["grammar"]).split())


class Withdrawal(NamedTuple):
    """A message that takes back itself, older statements like `target`, or both."""

    reason: Literal["forget", "off_record", "expired"]
    target: frozenset[str]  # words of content; empty: only the message itself


def withdrawal_in(message: str) -> Withdrawal | None:
    """Return what a user's message takes back, or None."""
    start = message[:LENGTH_MAX]
    if _OFF_RECORD.search(start) or (_NO_SAVING.search(start) and _CONFIDENTIAL.search(start)):
        return Withdrawal("off_record", frozenset())
    for sentence in sentences(start):
        expired = _EXPIRED.match(sentence)
        if expired is not None:
            return Withdrawal("expired", content_words(sentence[expired.end() :]))
        forget = _FORGET.match(sentence)
        if forget is not None:
            target = _FROM_MEMORY.sub("", sentence[forget.end() :].strip())
            words = content_words(_TARGET_START.sub("", target))
            if len(words) >= TARGET_WORDS_MIN:
                return Withdrawal("forget", words)
    return None


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text without those of grammar; of Chinese, the pairs of characters."""
    tokens = set(_TOKEN.findall(text.lower()))
    words = {
        token.removesuffix("s") if len(token) > 3 else token
        for token in tokens - _GRAMMAR
        if token.isascii() or not _HAN.search(token)
    }
    if not text.isascii():
        for token in tokens:
            if not token.isascii() and _HAN.search(token):
                words.update(token[at : at + 2] for at in range(max(len(token) - 1, 1)))
    return frozenset(words)


def is_about(target: frozenset[str], statement: str) -> bool:
    """Return True if a statement says what the words of a target say."""
    words = content_words(statement)
    shared = len(target & words)
    return (
        len(target) >= TARGET_WORDS_MIN
        and shared >= SHARE_OF_TARGET_MIN * len(target)
        and shared >= SHARE_OF_TURN_MIN * len(words)
    )
