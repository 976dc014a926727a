"""Requests of a user to forget something, to leave a message out of memory, or that say it expired.

"Forget that I live in Rome", "Do not remember this", "This temporary note has expired: ...", in
seven languages.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, cast

from .tokens import load_table, sentences

LENGTH_MAX = 1_000  # characters of a message that are read
TARGET_WORDS_MIN = 2  # of content; a shorter target may be anything
SHARE_OF_TARGET_MIN = 0.8  # of the target's words that a turn to forget contains
SHARE_OF_TURN_MIN = 0.5  # of its own words that the target contains

_TABLE = load_table("withdrawal.toml")


def _phrases(name: str, **parts: str) -> str:
    """Return the alternatives of a list of withdrawal.toml as one pattern."""
    pattern = "|".join(map(str, cast("list[str]", _TABLE[name])))
    for part, text in parts.items():
        pattern = pattern.replace(f"{{{part}}}", text)
    return pattern


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_END = r"(?=\s*(?:[.!;:,)。！：]|$|please\b|anywhere\b|in (?:your )?memory\b|bitte\b))"
_ABOUT = f"(?:{_phrases('about')})"
_POLITE = rf"(?:(?:{_phrases('polite')})[\s,]+|(?:can|could|would) you (?:please )?)*"
_FORGET = _pattern(f"^{_POLITE}(?:{_phrases('forget', about=_ABOUT)})")
_TARGET_START = _pattern(rf"^(?:{_ABOUT}|{_phrases('target_start')})\s*")
_FROM_MEMORY = _pattern(rf"\s*(?:{_phrases('from_memory')})")
_OFF_RECORD = _pattern(_phrases("off_record", end=_END))
_NO_SAVING = _pattern(_phrases("no_saving", end=_END))
_CONFIDENTIAL = _pattern(_phrases("confidential"))
_EXPIRED = _pattern(rf"^{_POLITE}(?:{_phrases('expired')})\s*[:：]\s*")
_TOKEN = re.compile(r"[^\W_]+")
_HAN = re.compile("[\u4e00-\u9fff]")
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
