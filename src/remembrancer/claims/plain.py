"""Values of a draft that speak for themselves: in code, in a list, in right arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from ..protocol.patterns import regex

Span = tuple[int, int]
PIECE_CHARACTERS = 8_000
_CODE = regex(r"(?<!`)(`{1,2})(?!`)[^`\n]{1,500}\1(?!`)")
_DIGITS = regex(r"\d{1,30}(?:\.\d{1,30})?")
_ITEM = regex(r"(?<![^\s(:;,])(\d{1,2})[.)][ \t]{1,4}(?=[^\W\d_])")
_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?|\d{1,15}(?:[.,]\d{1,9})?)"
_SIGNS = str.maketrans("\u2212x\u00d7\u00b7\u00f7", "-***/")
_SIGN = r"[ \t]{0,2}[-+*/x\u2212\u00d7\u00b7\u00f7][ \t]{0,2}"
_EQUATION = regex(
    rf"(?<![\w.,])(?P<left>{_NUMBER}(?:{_SIGN}{_NUMBER}){{1,20}})[ \t]{{0,2}}=[ \t]{{0,2}}"
    rf"(?P<right>{_NUMBER})(?!\w|[.,]\d)"
)
_PERCENTAGE = regex(
    rf"(?<![\w.,])(?P<share>{_NUMBER})[ \t]?%[ \t]of[ \t](?P<whole>{_NUMBER})[ \t]"
    rf"(?:is|are|makes|=)[ \t](?P<right>{_NUMBER})(?!\w|[.,]\d)"
)
_TOKEN = regex(rf"{_NUMBER}|[-+*/x\u2212\u00d7\u00b7\u00f7]")


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield parts of a text, each with its offset. They end with a line, a sentence or a word.

    No other thread runs while a pattern looks for its next match, so a long text is read in parts.
    """
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        middle, end = start + PIECE_CHARACTERS // 2, start + PIECE_CHARACTERS
        ends = (text.rfind(mark, middle, end) + len(mark) for mark in ("\n", ". ", " "))
        end = next((place for place in ends if place > middle), end)
        yield start, text[start:end]
        start = end
    yield start, text[start:]


def plain_spans(text: str) -> list[Span]:
    """Return the spans of inline code, numbers of lists within a line, and right arithmetic."""
    spans = [
        (start + first, start + end)
        for start, piece in pieces(text)
        for first, end in (*(one.span() for one in _CODE.finditer(piece)), *_arithmetic(piece))
    ]
    return sorted([*spans, *_list_numbers(text)])


def numbers_in_code(text: str, blocks: Iterable[Span]) -> frozenset[str]:
    """Return the numbers, as written, of inline code and of code blocks, which are spans."""
    code = (match[0] for _, piece in pieces(text) for match in _CODE.finditer(piece))
    return frozenset(
        number
        for part in (*code, *(text[start:end] for start, end in blocks))
        for line in part.split("\n")
        for number in _DIGITS.findall(line)
    )


def _list_numbers(text: str) -> Iterator[Span]:
    """Yield the numbers of lists that begin with 1 and have two items at least."""
    items = (
        (int(match[1]), (start + match.start(1), start + match.end(1)))
        for start, piece in pieces(text)
        for match in _ITEM.finditer(piece)
    )
    run: list[Span] = []
    for number, span in (*items, (0, (0, 0))):
        if number == len(run) + 1:
            run.append(span)
            continue
        if len(run) > 1:
            yield from run
        run = [span] if number == 1 else []


def _arithmetic(text: str) -> Iterator[Span]:
    """Yield the spans of equations and percentages that are right."""
    if "=" not in text and "%" not in text:
        return
    for match in _EQUATION.finditer(text):
        if _is_equal(_calculated(match["left"]), match["right"]):
            yield match.span()
    for match in _PERCENTAGE.finditer(text):
        result = _number(match["share"]) * _number(match["whole"]) / 100
        if _is_equal(result, match["right"]):
            yield match.span()


def _number(text: str) -> Fraction:
    is_grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text) is not None
    return Fraction(text.replace(",", "" if is_grouped else "."))


def _calculated(text: str) -> Fraction | None:
    """Return the value of a sum of products; None for a division by zero."""
    tokens = _TOKEN.findall(text)
    total, product, sign = Fraction(0), _number(tokens[0]), 1
    for operator, token in zip(tokens[1::2], tokens[2::2], strict=True):
        value, meaning = _number(token), operator.translate(_SIGNS)
        if meaning in "+-":
            total, product, sign = total + sign * product, value, 1 if meaning == "+" else -1
        elif meaning == "*":
            product *= value
        elif not value:
            return None
        else:
            product /= value
    return total + sign * product


def _is_equal(value: Fraction | None, written: str) -> bool:
    """Return True if a value is the written one, or rounds to it after its last decimal."""
    if value is None:
        return False
    _, _, decimals = written.replace(",", ".").rpartition(".")
    has_decimals = "." in written or ("," in written and len(decimals) != 3)
    slack = Fraction(1, 2 * 10 ** len(decimals)) if has_decimals else Fraction(0)
    return abs(value - _number(written)) <= slack
