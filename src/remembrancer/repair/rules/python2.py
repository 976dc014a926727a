"""Statements, literals and operators of Python 2 as Python 3 writes them.

What would mean something else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .proposal import Failure
from .python2_semantics import as_meant
from .source import CLOSERS, OPENERS, Edit, ProgramSource, SourceStatement, Token, matching

_OCTAL = re.compile(r"0[0-7]+[lL]?\Z")
_LONG = re.compile(r"(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|\d+)[lL]\Z")
_NEWER = frozenset({"nonlocal", "async", "await"})  # words that no program for Python 2 has


def python2(source: ProgramSource) -> str:
    """The program for Python 3, where it is one for Python 2; else as it is."""
    if not _is_python2(source):
        return source.code
    if _has_python3(
        source
    ):  # a slip into the older language: nothing else in it means something else
        return source.edited(_edits(source))
    meant = as_meant(ProgramSource(source.edited(_edits(source))))
    return source.code if meant is None else meant


def names(source: ProgramSource) -> str:
    """The same of a program that Python 3 can read, but that uses names and modules of Python 2
    alone.
    """
    meant = source.code if _has_python3(source) else as_meant(source)
    return source.code if meant is None else meant


def streams(source: ProgramSource, failure: Failure) -> str:
    """The same of a program that fails at `print >>stream, ...`, which Python 3 reads as a shift."""
    if (
        failure.type != "TypeError"
        or "unsupported operand type(s) for >>" not in failure.message
        or _has_python3(source)
    ):
        return source.code
    meant = as_meant(ProgramSource(source.edited(_edits(source))))
    return source.code if meant is None else meant


def _is_python2(source: ProgramSource) -> bool:
    """Whether something in it can be nothing but Python 2.

    `print (a, b)` may be either, and 010 a ten with a zero too many.
    """
    for statement in source.statements:
        tokens = statement.tokens
        if any(edit.text[:2] != "0o" or len(edit.text) == 3 for edit in _words(tokens)) or (
            tokens[0].text == "except" and any(True for _ in _except(tokens))
        ):
            return True
        for simple in _simple(statement):
            given = simple[1].text if len(simple) > 1 else ""
            if (
                simple[0].text == "print"
                and (given not in _AFTER_A_NAME)
                and any(True for _ in _print(simple))
            ):
                return True
            if simple[0].text in ("exec", "raise") and any(
                True for _ in _statement(simple, printing=False)
            ):
                return True
    return False


_AFTER_A_NAME = frozenset(
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
    if source.names & _NEWER:
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
    """Whether some `print(...)` has `end=` or the like, which is Python 3."""
    printing: list[bool] = []
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            printing.append(at > 0 and tokens[at - 1].text == "print" and token.text == "(")
        elif token.text in CLOSERS and printing:
            printing.pop()
        elif (
            token.text == "="
            and any(printing[-1:])
            and tokens[at - 1].text in ("end", "sep", "file", "flush")
        ):
            return True
    return False


def _edits(source: ProgramSource) -> Iterator[Edit]:
    for statement in source.statements:
        for simple in _simple(statement):
            yield from _statement(simple, printing="print_function" not in source.names)
        if statement.tokens[0].text == "except":
            yield from _except(statement.tokens)
        yield from _words(statement.tokens)


def _simple(statement: SourceStatement) -> Iterator[list[Token]]:
    """The simple statements in a logical line:

    what stands between semicolons, after the colon of a header.
    """
    part: list[Token] = []
    depth, header = 0, statement.tokens[0].text in _BLOCKS
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


_BLOCKS = frozenset(
    {"if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally", "with"}
)


def _statement(tokens: list[Token], *, printing: bool) -> Iterator[Edit]:
    word = tokens[0].text
    if word == "print" and printing:
        yield from _print(tokens)
    elif word == "exec" and len(tokens) > 1 and tokens[1].text not in ("(", "=", ".", ","):
        places = [Edit(tokens[at].start, tokens[at].end, ",") for at in _at_depth_0(tokens, "in")]
        yield Edit(tokens[0].end, tokens[1].start, "(")
        yield from places
        yield Edit(tokens[-1].end, tokens[-1].end, ")")
    elif word == "raise":
        yield from _raise(tokens)


def _print(tokens: list[Token]) -> Iterator[Edit]:
    """A print statement as a call.

    One pair of parentheses around all of it stays the call's, unless it is a tuple.
    """
    first, rest = tokens[0], tokens[1:]
    if not rest:
        yield Edit(first.end, first.end, "()")
        return
    if rest[0].text in ("=", ".", "is", "in", "==", "!=") or rest[0].text in CLOSERS:
        return  # the name of something
    end = tokens[-1]
    if sum((token.text in OPENERS) - (token.text in CLOSERS) for token in rest):
        return  # a bracket is missing; that is another fault
    if rest[0].text == "(" and matching(rest, 0) == len(rest) - 1:
        if len(rest) == 2 or _at_depth_0(rest[1:-1], ","):
            yield Edit(first.end, rest[0].start, "(")
            yield Edit(end.end, end.end, ")")
        return
    more = ""
    begin = rest[0].start
    if rest[0].text == ">>":
        commas = _at_depth_0(rest, ",")
        until = rest[commas[0]].start if commas else end.end
        target = rest[1 : commas[0] if commas else None]
        if not target:
            return
        more = "".join(token.text for token in target)
        if not commas:
            yield Edit(first.end, end.end, f"(file={more})")
            return
        begin, more = (
            rest[commas[0] + 1].start if commas[0] + 1 < len(rest) else until,
            f", file={more}",
        )
    yield Edit(first.end, begin, "(")
    if end.text == ",":
        yield Edit(end.start, end.end, f', end=" "{more})')
    else:
        yield Edit(end.end, end.end, f"{more})")


def _raise(tokens: list[Token]) -> Iterator[Edit]:
    commas = _at_depth_0(tokens, ",")
    if not commas or len(commas) > 2 or commas[0] < 2 or commas[-1] == len(tokens) - 1:
        return
    value = tokens[commas[0] + 1 : commas[1] if len(commas) == 2 else None]
    if not value:
        return
    bare = value[0].text == "(" and matching(value, 0) == len(value) - 1
    yield Edit(tokens[commas[0]].start, value[0].start, "" if bare else "(")
    if len(commas) == 2:
        yield Edit(
            value[-1].end, tokens[commas[1] + 1].start, ("" if bare else ")") + ".with_traceback("
        )
        yield Edit(tokens[-1].end, tokens[-1].end, ")")
    elif not bare:
        yield Edit(value[-1].end, value[-1].end, ")")


def _except(tokens: list[Token]) -> Iterator[Edit]:
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


def _words(tokens: list[Token]) -> Iterator[Edit]:
    """Operators and literals, wherever they stand."""
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
    """The indices at which this stands outside of all brackets."""
    depth, found = 0, []
    for index, token in enumerate(tokens):
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if token.text == text and depth == 0:
            found.append(index)
    return found
