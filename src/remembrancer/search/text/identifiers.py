"""Recognise identifiers, paths, versions, options and error codes in text.

The words inside are analysed like any others. Here they are also joined again, so that an exact
identifier finds its turn, and mixed case is split, so that plain words find `getUserById`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

CHARACTERS_MAX = 200  # a longer token is data, such as a hash or base64
# Tokens with a sign inside (paths, versions, options, pairs of key and value), words joined by
# underscores, and mixed case. `\w` matches the underscore. Each alternative starts at a boundary:
# otherwise a long word would be read again from each of its letters.
_TOKEN = re.compile(
    r"(?:(?<![\w-])--?)?\b\w+(?:[-./:=@]{1,2}\w+)+|(?<![^\W_])[^\W_]++(?:_+[^\W_]++)+"
    r"|\b[A-Za-z]*(?:[a-z][A-Z]|[A-Z]{2}[a-z])\w*"
)
_SEPARATOR = re.compile(r"[/:=@]+")
_MIXED = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_VERSION = re.compile(r"v?(\d+(?:\.\d+){2,})")
_SIGN = re.compile(r"[-./:=@_]")
_NO_LETTER = re.compile(r"[\W_\d]+")
_PUNCTUATION = ".,;:!?()[]{}\"'"
_PLAIN = re.compile(r"[a-z]+(?:-[a-z]+)+|[\d.,:/=-]+")  # a word with hyphens; a date, a number


class Identifier(NamedTuple):
    """An identifier in a text."""

    start: int
    end: int
    names: tuple[str, ...]  # lower case: the whole, and its parts that are identifiers themselves
    humps: tuple[str, ...]  # lower case: the words of names in mixed case


def identifiers(text: str) -> Iterator[Identifier]:
    """Yield the identifiers of a text in order, not overlapping."""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if len(token) <= CHARACTERS_MAX:
            names, humps = _analysed(token)
            if names or humps:
                yield Identifier(*match.span(), names, humps)


def identifier_names(text: str) -> Iterator[Identifier]:
    """Yield the identifiers of a text, each token between spaces once, wherever it is repeated.

    Their places are those within the token. A long text repeats most of its words.
    """
    for token in dict.fromkeys(text.split()):
        word = token.strip(_PUNCTUATION)
        if word.isalpha() and word[1:].islower():
            continue  # most of prose
        yield from _in_token(token) if len(token) <= CHARACTERS_MAX else identifiers(token)


@lru_cache(maxsize=16_384)
def _in_token(token: str) -> tuple[Identifier, ...]:
    return tuple(identifiers(token))


@lru_cache(maxsize=16_384)
def _analysed(token: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    whole = token.lstrip("-")
    parts = [part for part in _SEPARATOR.split(whole) if part]
    dotted = [name for part in parts for name in part.split(".") if "_" in name]
    names = dict.fromkeys(
        name.lower().strip("_")
        for name in (whole, *_without_line(parts, whole), *parts, *dotted)
        if _is_name(name, is_option=token.startswith("--"))
    )
    if version := _VERSION.fullmatch(whole.lower()):
        names |= dict.fromkeys((version[1],))
    humps = [
        hump.lower()
        for word in ([] if whole.islower() else _NO_LETTER.split(whole))
        if _HUMP.search(word)
        for hump in _MIXED.findall(word)
        if len(hump) > 1
    ]
    return tuple(names), tuple(dict.fromkeys(humps))


def _without_line(parts: list[str], whole: str) -> list[str]:
    """Return the path of `path:line`."""
    is_line = len(parts) > 1 and parts[-1].isdigit() and ":" in whole
    return [whole.rpartition(":")[0]] if is_line else []


def _is_name(name: str, *, is_option: bool) -> bool:
    if not _SIGN.search(name):
        return False
    return bool(is_option or _VERSION.fullmatch(name) or not _PLAIN.fullmatch(name))
