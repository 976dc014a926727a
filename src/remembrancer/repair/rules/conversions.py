"""Correct expressions of the wrong type: text and numbers, `range`, calls with brackets."""

from __future__ import annotations

import builtins
import itertools
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .source import (
    CLOSERS,
    OPENERS,
    Edit,
    Failure,
    ProgramSource,
    SourceStatement,
    Token,
    Tokens,
    matching_bracket,
    of_statement,
)

_NO_TEXT = re.compile(
    r"can only concatenate str \(not \"\w+\"\) to str"
    r"|unsupported operand type\(s\) for \+: '\w+' and 'str'"
)
_DIGITS = re.compile(r"\A[rbuf]*[\"'][\s\d.,]*\d[\s\d.,]*[\"']\Z")
_NO_POWER = re.compile(
    r"unsupported operand type\(s\) for \^=?: '(?:float|int)' and '(?:float|int)'"
)
_NOT_SUBSCRIPTABLE = re.compile(
    r"'(?:builtin_function_or_method|function|method)' object is not subscriptable"
    r"|type '\w+' is not subscriptable"
)
_NO_INDEX = ("'float' object cannot be interpreted as an integer", "not float")
_UNPACK = re.compile(
    r"(?:too many|not enough) values to unpack \(expected 2"
    r"|cannot unpack non-iterable (?:int|float|bool) object"
)
# Words and signs that end one expression and begin another.
_BOUNDARIES = (frozenset(keyword.kwlist) - {"None", "True", "False", "await"}) | frozenset(
    {",", "=", ":", ";", "==", "!=", "<", ">", "<=", ">=", ":=", "|", "&", "^"}
)
_COUNTERS = frozenset({"i", "j", "n", "idx", "index", "num", "number", "pos", "position", "count"})
_BEYOND = re.compile(r"(?:list|tuple|string) (?:assignment )?index out of range")


@dataclass(slots=True)
class _Sum:
    """The operands of one chain of `+`, each as its first and last index."""

    start: int
    operands: list[tuple[int, int]] = field(default_factory=list)

    def end_operand(self, at: int) -> None:
        if at > self.start:
            self.operands.append((self.start, at - 1))
        self.start = at + 1


def _sums(tokens: Tokens) -> Iterator[_Sum]:
    """Yield the chains of `+` in a statement, nested ones too."""
    stack = [_Sum(0)]
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            stack.append(_Sum(at + 1))
        elif token.text in CLOSERS and len(stack) > 1:
            stack[-1].end_operand(at)
            yield stack.pop()
        elif token.text == "+" and at > stack[-1].start:
            stack[-1].end_operand(at)
        elif token.text in _BOUNDARIES or token.text.endswith("="):
            stack[-1].end_operand(at)
            yield stack[-1]
            stack[-1] = _Sum(at + 1)
    stack[-1].end_operand(len(tokens))
    yield stack[-1]


@of_statement
def convert_to_text(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Put `str()` around what is added to a string literal: `"a" + 3`.

    `"a" + x + y` stays, because `x + y` may be meant.
    """
    if failure.type != "TypeError" or not _NO_TEXT.search(failure.message):
        return source.code
    tokens = statement.tokens
    edits: list[Edit] = []
    for one in _sums(tokens):
        is_text = [_is_text(tokens, *operand) for operand in one.operands]
        literals = [tokens[first] for first, last in one.operands if first == last]
        has_words = any(
            token.kind == "string" and not _DIGITS.search(token.text) for token in literals
        )
        is_ambiguous = any(not a and not b for a, b in itertools.pairwise(is_text))
        if has_words and not is_ambiguous:
            for (first, last), text in zip(one.operands, is_text, strict=True):
                if not text:
                    edits.append(Edit(tokens[first].start, tokens[first].start, "str("))
                    edits.append(Edit(tokens[last].end, tokens[last].end, ")"))
    if not edits:
        edits = _convert_addition(tokens, failure)
    return source.apply(edits)


def _is_text(tokens: Tokens, first: int, last: int) -> bool:
    """Return True if the operand is certainly a string."""
    if all(token.kind == "string" for token in tokens[first : last + 1]):
        return True
    is_call = tokens[first].text == "str" and tokens[min(first + 1, last)].text == "("
    return is_call and matching_bracket(tokens, first + 1) == last


def _convert_addition(tokens: Tokens, failure: Failure) -> list[Edit]:
    """Return the edits of `text += number`."""
    if "can only concatenate str" not in failure.message:
        return []
    at = next((at for at, token in enumerate(tokens) if token.text == "+="), 0)
    if not at or any(token.kind in ("string", "op") for token in tokens[at + 1 :]):
        return []
    return [
        Edit(tokens[at + 1].start, tokens[at + 1].start, "str("),
        Edit(tokens[-1].end, tokens[-1].end, ")"),
    ]


@of_statement
def fix_operators(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Replace `^` of a float by `**`, and `=+` of a string by `+=`."""
    if failure.type != "TypeError":
        return source.code
    tokens = statement.tokens
    edits: list[Edit] = []
    if _NO_POWER.search(failure.message):
        edits = [
            Edit(token.start, token.start + 1, "**") for token in tokens if token.text[0] == "^"
        ]
    elif "bad operand type for unary +" in failure.message:
        edits = [
            Edit(before.start, token.end, "+=")
            for before, token in itertools.pairwise(tokens)
            if (before.text, token.text) == ("=", "+")
            and before.end == token.start
            and source.code[token.end : token.end + 1] == " "
        ]
    return source.apply(edits) if len(edits) == 1 else source.code


@of_statement
def add_range(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Put `range()` around the number that a loop counts to: `for i in 5:`."""
    if "'int' object is not iterable" not in failure.message:
        return source.code
    tokens = statement.tokens
    words = [token.text for token in tokens]
    if words[0] != "for" or words[2:3] != ["in"] or not statement.is_header:
        return source.code
    is_number = len(tokens) == 5 and tokens[3].kind == "number"
    is_length = words[3:5] == ["len", "("] and matching_bracket(tokens, 4) == len(tokens) - 2
    if not (is_number or is_length):
        return source.code
    end = tokens[-2].end
    return source.apply([Edit(tokens[3].start, tokens[3].start, "range("), Edit(end, end, ")")])


@of_statement
def replace_subscript(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Replace the brackets of a call by parentheses: `print["a"]`, `items.append[1]`."""
    if not _NOT_SUBSCRIPTABLE.search(failure.message):
        return source.code
    tokens = statement.tokens
    functions = {
        one.tokens[1].text
        for one in source.statements
        if one.tokens[0].text == "def" and len(one.tokens) > 1
    }
    pairs = []
    for at in range(1, len(tokens)):
        name = tokens[at - 1]
        is_function = (
            callable(getattr(builtins, name.text, None))
            or name.text in functions
            or (at > 1 and tokens[at - 2].text == ".")
        )
        closing = matching_bracket(tokens, at) if tokens[at].text == "[" else None
        if closing and name.kind == "name" and is_function:
            pairs.append((tokens[at], tokens[closing]))
    if len(pairs) != 1 or any(
        token.text == ":" and pairs[0][0].end <= token.start < pairs[0][1].start for token in tokens
    ):
        return source.code
    opening, closing_token = pairs[0]
    return source.apply(
        [
            Edit(opening.start, opening.end, "("),
            Edit(closing_token.start, closing_token.end, ")"),
        ]
    )


@of_statement
def divide_to_integer(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Replace the only `/` in an index or a `range()` by `//`; convert digits in quotes."""
    if failure.type != "TypeError":
        return source.code
    tokens = statement.tokens
    if any(words in failure.message for words in _NO_INDEX):
        edits = [
            Edit(token.start, token.end, "//")
            for token, depth in _depths(tokens)
            if token.text == "/" and depth
        ]
        return source.apply(edits) if len(edits) == 1 else source.code
    if "'str' object cannot be interpreted as an integer" not in failure.message:
        return source.code
    edits = [
        Edit(token.start, token.end, f"int({token.text})")
        for before, token in itertools.pairwise(tokens)
        if token.kind == "string" and token.text[1:-1].isdecimal() and before.text in ("(", ",")
    ]
    return source.apply(edits) if "range" in source.names else source.code


def _depths(tokens: list[Token]) -> Iterator[tuple[Token, int]]:
    """Yield each token with the number of brackets around it."""
    depth = 0
    for token in tokens:
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        yield token, depth


@of_statement
def iterate_pairs(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Iterate over pairs: `for k, v in d.items()` and `for i, x in enumerate(items)`.

    Applies if the program assigns the collection once, as a literal.
    """
    if not _UNPACK.search(failure.message):
        return source.code
    tokens = statement.tokens
    words = [token.text for token in tokens]
    is_loop = len(words) == 7 and (words[0], words[2], words[4], words[6]) == (
        "for",
        ",",
        "in",
        ":",
    )
    if not is_loop or tokens[5].kind != "name":
        return source.code
    assigned = [
        one.tokens[2].text
        for one in source.statements
        if len(one.tokens) > 2 and [token.text for token in one.tokens[:2]] == [words[5], "="]
    ]
    if assigned == ["{"]:
        return source.apply([Edit(tokens[5].end, tokens[5].end, ".items()")])
    if assigned == ["["] and words[1] in _COUNTERS:
        return source.apply([Edit(tokens[5].start, tokens[5].end, f"enumerate({words[5]})")])
    return source.code


@of_statement
def shorten_range(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Take `+ 1` from `range(len(x) + 1)` if the loop fails at `x[i]`; likewise `i <= len(x)`."""
    if failure.type != "IndexError" or not _BEYOND.search(failure.message):
        return source.code
    index = next((at for at, one in enumerate(source.statements) if one.line == statement.line), 0)
    indent = statement.indent
    for above in reversed(source.statements[:index]):
        if len(above.indent) >= len(indent):
            continue
        indent = above.indent
        words = [token.text for token in above.tokens]
        subscripts = _subscripts(statement.tokens)
        if (
            words[0] == "for"
            and words[2:4] == ["in", "range"]
            and words[-8:-5] == ["len", "(", words[-6]]
        ):
            end = words[-5:]
            if end == [")", "+", "1", ")", ":"] and (words[-6], words[1]) in subscripts:
                return source.apply([Edit(above.tokens[-5].end, above.tokens[-3].end, "")])
        is_while = len(words) == 8 and words[0] == "while" and words[2:5] == ["<=", "len", "("]
        if is_while and words[6:] == [")", ":"] and (words[5], words[1]) in subscripts:
            return source.apply([Edit(above.tokens[2].start, above.tokens[2].end, "<")])
    return source.code


def _subscripts(tokens: list[Token]) -> set[tuple[str, str]]:
    """Return the pairs (`x`, `i`) of all `x[i]` in the statement."""
    words = [token.text for token in tokens]
    return {
        (words[at - 1], words[at + 1])
        for at in range(1, len(words) - 2)
        if words[at] == "[" and words[at + 2] == "]"
    }
