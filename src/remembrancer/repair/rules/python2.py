"""Convert statements, literals and operators of Python 2 to Python 3.

Programs whose meaning would change are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .proposal import Failure
from .python2_semantics import translate
from .source import CLOSERS, OPENERS, Edit, ProgramSource, SourceStatement, Token, matching_bracket

_OCTAL = re.compile(r"0[0-7]+[lL]?\Z")
_LONG = re.compile(r"(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|\d+)[lL]\Z")
_PYTHON3_KEYWORDS = frozenset({"nonlocal", "async", "await"})  # keywords that Python 2 lacks


def convert(source: ProgramSource) -> str:
    """Convert a Python 2 program to Python 3; return other programs unchanged."""
    if not _is_python2(source):
        return source.code
    if _has_python3(source):  # Python 3 with some old syntax: the semantics are those of Python 3
        return source.apply(_edits(source))
    code = translate(ProgramSource(source.apply(_edits(source))))
    return source.code if code is None else code


def convert_names(source: ProgramSource) -> str:
    """Convert a program that Python 3 can parse, but that uses names and modules of Python 2."""
    code = source.code if _has_python3(source) else translate(source)
    return source.code if code is None else code


def convert_print_streams(source: ProgramSource, failure: Failure) -> str:
    """Convert a program that fails at `print >>stream, ...`, which Python 3 parses as a shift."""
    if (
        failure.type != "TypeError"
        or "unsupported operand type(s) for >>" not in failure.message
        or _has_python3(source)
    ):
        return source.code
    code = translate(ProgramSource(source.apply(_edits(source))))
    return source.code if code is None else code


def _is_python2(source: ProgramSource) -> bool:
    """Return True if the program has syntax that only Python 2 accepts.

    `print (a, b)` is valid in both, and 010 may be a ten with a superfluous zero.
    """
    for statement in source.statements:
        tokens = statement.tokens
        if any(
            edit.text[:2] != "0o" or len(edit.text) == 3 for edit in _convert_tokens(tokens)
        ) or (tokens[0].text == "except" and any(True for _ in _convert_except(tokens))):
            return True
        for simple in _simple_statements(statement):
            second = simple[1].text if len(simple) > 1 else ""
            if (
                simple[0].text == "print"
                and second not in _AFTER_NAME
                and any(True for _ in _convert_print(simple))
            ):
                return True
            if simple[0].text in ("exec", "raise") and any(
                True for _ in _convert_statement(simple, convert_print=False)
            ):
                return True
    return False


_AFTER_NAME = frozenset(
    {
        "",
        "(",
        ">>",
        "=",
        ".",
        ",",
        "[",
        "-",
        "+",
        "*",
        "if",
        "and",
        "or",
        ":",
        ";",
        "%",
        "/",
        "|",
        "&",
    }
)


def _has_python3(source: ProgramSource) -> bool:
    if source.names & _PYTHON3_KEYWORDS:
        return True
    for token in source.tokens:
        if (
            token.kind == "string"
            and "f" in token.text[:3].lower().partition(token.text.lstrip("rRbBuUfF")[:1])[0]
        ):
            return True
        if token.text in (":=", "->"):
            return True
    return any(_prints_with_keywords(statement.tokens) for statement in source.statements)


def _prints_with_keywords(tokens: list[Token]) -> bool:
    """Return True if a `print(...)` has a keyword such as `end=`, which only Python 3 accepts."""
    is_print: list[bool] = []  # for each open bracket
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            is_print.append(at > 0 and tokens[at - 1].text == "print" and token.text == "(")
        elif token.text in CLOSERS and is_print:
            is_print.pop()
        elif (
            token.text == "="
            and any(is_print[-1:])
            and tokens[at - 1].text in ("end", "sep", "file", "flush")
        ):
            return True
    return False


def _edits(source: ProgramSource) -> Iterator[Edit]:
    for statement in source.statements:
        for simple in _simple_statements(statement):
            yield from _convert_statement(
                simple, convert_print="print_function" not in source.names
            )
        if statement.tokens[0].text == "except":
            yield from _convert_except(statement.tokens)
        yield from _convert_tokens(statement.tokens)


def _simple_statements(statement: SourceStatement) -> Iterator[list[Token]]:
    """Yield the simple statements of a logical line, after the colon of a header if it has one."""
    part: list[Token] = []
    depth, header = 0, statement.tokens[0].text in _BLOCK_KEYWORDS
    lambdas = 0
    for token in statement.tokens:
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        lambdas += token.text == "lambda"
        ends_header = header and token.text == ":" and depth == 0
        if ends_header and lambdas:
            lambdas -= 1
        elif ends_header or (token.text == ";" and depth == 0):
            if part and not ends_header:
                yield part
            part, header = [], False
            continue
        part.append(token)
    if part and not header:
        yield part


_BLOCK_KEYWORDS = frozenset(
    {"if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally", "with"}
)


def _convert_statement(tokens: list[Token], *, convert_print: bool) -> Iterator[Edit]:
    word = tokens[0].text
    if word == "print" and convert_print:
        yield from _convert_print(tokens)
    elif word == "exec" and len(tokens) > 1 and tokens[1].text not in ("(", "=", ".", ","):
        commas = [Edit(tokens[at].start, tokens[at].end, ",") for at in _at_depth_0(tokens, "in")]
        yield Edit(tokens[0].end, tokens[1].start, "(")
        yield from commas
        yield Edit(tokens[-1].end, tokens[-1].end, ")")
    elif word == "raise":
        yield from _convert_raise(tokens)


def _convert_print(tokens: list[Token]) -> Iterator[Edit]:
    """Yield the edits that turn a print statement into a call.

    Parentheses around the whole argument become those of the call, unless they make a tuple.
    """
    first, rest = tokens[0], tokens[1:]
    if not rest:
        yield Edit(first.end, first.end, "()")
        return
    if rest[0].text in ("=", ".", "is", "in", "==", "!=") or rest[0].text in CLOSERS:
        return  # `print` is a name here
    end = tokens[-1]
    if sum((token.text in OPENERS) - (token.text in CLOSERS) for token in rest):
        return  # a bracket is missing, which another rule handles
    if rest[0].text == "(" and matching_bracket(rest, 0) == len(rest) - 1:
        if len(rest) == 2 or _at_depth_0(rest[1:-1], ","):
            yield Edit(first.end, rest[0].start, "(")
            yield Edit(end.end, end.end, ")")
        return
    extra = ""
    start = rest[0].start
    if rest[0].text == ">>":
        commas = _at_depth_0(rest, ",")
        stop = rest[commas[0]].start if commas else end.end
        target = rest[1 : commas[0] if commas else None]
        if not target:
            return
        extra = "".join(token.text for token in target)
        if not commas:
            yield Edit(first.end, end.end, f"(file={extra})")
            return
        start, extra = (
            rest[commas[0] + 1].start if commas[0] + 1 < len(rest) else stop,
            f", file={extra}",
        )
    yield Edit(first.end, start, "(")
    if end.text == ",":
        yield Edit(end.start, end.end, f', end=" "{extra})')
    else:
        yield Edit(end.end, end.end, f"{extra})")


def _convert_raise(tokens: list[Token]) -> Iterator[Edit]:
    commas = _at_depth_0(tokens, ",")
    if not commas or len(commas) > 2 or commas[0] < 2 or commas[-1] == len(tokens) - 1:
        return
    value = tokens[commas[0] + 1 : commas[1] if len(commas) == 2 else None]
    if not value:
        return
    is_parenthesized = value[0].text == "(" and matching_bracket(value, 0) == len(value) - 1
    yield Edit(tokens[commas[0]].start, value[0].start, "" if is_parenthesized else "(")
    if len(commas) == 2:
        yield Edit(
            value[-1].end,
            tokens[commas[1] + 1].start,
            ("" if is_parenthesized else ")") + ".with_traceback(",
        )
        yield Edit(tokens[-1].end, tokens[-1].end, ")")
    elif not is_parenthesized:
        yield Edit(value[-1].end, value[-1].end, ")")


def _convert_except(tokens: list[Token]) -> Iterator[Edit]:
    colons = _at_depth_0(tokens, ":")
    commas = [at for at in _at_depth_0(tokens, ",") if not colons or at < colons[0]]
    if (
        len(commas) == 1
        and colons
        and colons[0] == commas[0] + 2
        and tokens[commas[0] + 1].kind == "name"
        and commas[0] > 1
    ):
        comma = tokens[commas[0]]
        yield Edit(comma.start, tokens[commas[0] + 1].start, " as ")


def _convert_tokens(tokens: list[Token]) -> Iterator[Edit]:
    """Yield the edits of operators and literals."""
    ticks = [token for token in tokens if token.text == "`"]
    if len(ticks) % 2 == 0:
        for number, tick in enumerate(ticks):
            yield Edit(tick.start, tick.end, ")" if number % 2 else "repr(")
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.text == "<>":
            yield Edit(token.start, token.end, "!=")
        elif token.kind == "number" and _OCTAL.match(token.text) and token.text.strip("0lL"):
            yield Edit(token.start, token.end, f"0o{token.text.lstrip('0').rstrip('lL')}")
        elif token.kind == "number" and _LONG.match(token.text):
            yield Edit(token.start, token.end, token.text[:-1])
        elif (
            token.kind == "string"
            and token.text[:2].lower() == "ur"
            and "\\u" not in token.text.lower()
        ):
            yield Edit(token.start, token.start + 2, "r")
        elif (
            token.kind == "string"
            and before
            and before.kind == "name"
            and before.text.lower() == "ur"
            and before.end == token.start
        ):
            yield Edit(before.start, before.end, "r")


def _at_depth_0(tokens: list[Token], text: str) -> list[int]:
    """Return the indices of tokens with this text outside all brackets."""
    depth, indices = 0, []
    for index, token in enumerate(tokens):
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if token.text == text and depth == 0:
            indices.append(index)
    return indices
