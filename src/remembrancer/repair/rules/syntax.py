"""Signs that are missing, or one for another, where the place for them is plain."""

from __future__ import annotations

import re

from .proposal import Failure
from .source import (
    CLOSERS,
    HEADERS,
    OPENERS,
    Edit,
    ProgramSource,
    SourceStatement,
    Token,
    indent_of,
    matching,
)

_ALONE = frozenset(
    {"else", "try", "finally"}
)  # headers that have nothing between the word and the colon


def colons(source: ProgramSource, failure: Failure) -> str:
    """With the colon of each `if`, `for`, `def` and so on that has none and a block below it."""
    edits = [
        Edit(statement.tokens[-1].end, statement.tokens[-1].end, ":")
        for statement, below in zip(source.statements, source.statements[1:], strict=False)
        if _lacks_colon(statement) and len(below.indent) > len(statement.indent)
    ]
    return (
        source.edited(edits)
        if any(_lacks_colon(one) for one in [source.statement_at(failure.line or 0)] if one)
        else source.code
    )


def _lacks_colon(statement: SourceStatement) -> bool:
    first, *rest = statement.tokens
    if first.text not in HEADERS or first.kind != "name" or bool(rest) == (first.text in _ALONE):
        return False
    if rest and (
        rest[0].text in ("=", ".", ",", ":")
        or (first.text == "async" and rest[0].text not in ("def", "for", "with"))
    ):
        return False
    depth = 0
    lambdas = 0
    for token in rest:
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        lambdas += token.text == "lambda"
        if token.text == ":" and depth == 0:
            lambdas -= 1
            if lambdas < 0:
                return False
    return depth == 0 and statement.tokens[-1].text not in (":", ",", "\\", ";")


def equals(source: ProgramSource, failure: Failure) -> str:
    """With `==` for the only `=` of a condition."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or statement.tokens[0].text not in ("if", "elif", "while"):
        return source.code
    called: list[bool] = []  # of each open bracket: whether `=` in it names an argument
    found = []
    for before, token in zip(statement.tokens, statement.tokens[1:], strict=False):
        if token.text in OPENERS:
            called.append(
                token.text == "("
                and (before.kind == "name" or before.text in CLOSERS)
                and before.text not in _WORDS
            )
        elif token.text in CLOSERS and called:
            called.pop()
        elif token.text == "=" and not any(called[-1:]):
            found.append(token)
        elif token.text == ":" and not called:
            break
    return (
        source.edited([Edit(found[0].start, found[0].end, "==")])
        if len(found) == 1
        else source.code
    )


_WORDS = frozenset({"if", "elif", "while", "and", "or", "not", "in", "is", "return", "else"})


def brackets(source: ProgramSource, _: Failure) -> str:
    """With the brackets that a statement leaves open closed at its end, and one closed by the wrong
    bracket closed before that.
    """
    edits = [edit for statement in source.statements for edit in _closed(source, statement)]
    return source.edited(edits) if len(edits) <= len(OPENERS) else source.code


def _closed(source: ProgramSource, statement: SourceStatement) -> list[Edit]:
    open_: list[Token] = []
    edits = []
    last = first = statement.tokens[
        0
    ]  # `first` of what may be a statement of its own, once the one before it is closed
    outside = False  # whether some line within brackets is no further in than the one they stand in
    for token in statement.tokens:
        if (
            open_
            and token.line > last.line
            and token.text not in CLOSERS
            and not _is_deeper(source, token, first)
        ):
            outside = not (_may_end(last) and _may_begin(token))
            if not outside:
                edits.append(_closing(open_, first, last))
                open_, first = [], token
        last = token
        if token.text in OPENERS:
            open_.append(token)
        elif token.text in CLOSERS:
            edits += _closed_before(token, open_)
            if not open_ or OPENERS[open_.pop().text] != token.text:
                return []  # one too many: which is not known
        elif not open_ and token.line > first.line:
            first = token
        outside = outside and bool(open_)
    if open_ and (outside or not _may_end(last)):
        return []  # what they hold is not known
    return [*edits, _closing(open_, first, last)] if open_ else edits


def _closed_before(token: Token, open_: list[Token]) -> list[Edit]:
    """What closes the brackets that stand open inside the one that this token closes; they are
    taken off `open_`.
    """
    edits: list[Edit] = []
    if (
        open_
        and OPENERS[open_[-1].text] != token.text
        and any(OPENERS[one.text] == token.text for one in reversed(open_))
    ):
        while OPENERS[open_[-1].text] != token.text:
            edits.append(Edit(token.start, token.start, OPENERS[open_.pop().text]))
    return edits


def _closing(open_: list[Token], first: Token, last: Token) -> Edit:
    at = last.start if last.text == ":" and first.text in HEADERS else last.end
    return Edit(at, at, "".join(OPENERS[token.text] for token in reversed(open_)))


def _may_end(token: Token) -> bool:
    """Whether a statement may end with it."""
    return (
        token.kind in ("number", "string")
        or token.text in CLOSERS
        or token.text == ":"
        or (token.kind == "name" and token.text not in _WORDS)
    )


def _may_begin(token: Token) -> bool:
    return token.kind == "name" and token.text not in ("and", "or", "in", "is", "else")


def _is_deeper(source: ProgramSource, token: Token, first: Token) -> bool:
    """Whether the line of a token is further in than the one that its statement begins with."""
    return len(indent_of(source.lines[token.line - 1])) > len(
        indent_of(source.lines[first.line - 1])
    )


_STRING_MESSAGES = ("f-string", "unterminated", "invalid syntax", "EOL while")


def fstring_quotes(source: ProgramSource, failure: Failure) -> str:
    """With the other quotes inside the braces of an f-string that uses its own quotes there, as
    only newer versions of the language may.
    """
    if not any(word in failure.message for word in _STRING_MESSAGES):
        return source.code
    statement = source.statement_at(failure.line or 0)
    edits: list[Edit] = []
    at = -1
    for token in statement.tokens if statement else []:
        if (
            token.start < at
            or token.kind != "string"
            or "f" not in token.text.lower().partition(token.text.lstrip("rRbBuUfF")[:1])[0]
        ):
            continue
        quote = token.text.lstrip("rRbBuUfF")[:1]
        at, found = _braced(source.code, token.start + token.text.index(quote) + 1, quote)
        edits += found
    return source.edited(edits)


def _braced(code: str, at: int, quote: str) -> tuple[int, list[Edit]]:
    """Where the f-string ends that begins before `at`, and its own quotes within braces changed;
    none when the other kind is there too.
    """
    found: list[Edit] = []
    depth, other = 0, {'"': "'", "'": '"'}[quote]
    while at < len(code) and code[at] not in "\r\n":
        sign = code[at]
        if sign == "\\":
            at += 1
        elif sign == quote and depth == 0:
            return at + 1, found if len(found) % 2 == 0 else []
        elif sign == quote:
            found.append(Edit(at, at + 1, other))
        elif sign == other and depth:
            return at + 1, []
        elif sign in "{}":
            depth = max(0, depth + (1 if sign == "{" else -1))
        at += 1
    return at, []


_METHOD = re.compile(
    r"(?:(\w+)\.)?(\w+)\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given"
)


def missing_self(source: ProgramSource, failure: Failure) -> str:
    """With `self` as the first parameter of the one method that uses it and was given one argument
    more than it takes.
    """
    found = _METHOD.search(failure.message) if failure.type == "TypeError" else None
    if not found or int(found[4]) != int(found[3]) + 1:
        return source.code
    places = [
        at for at, one in enumerate(source.statements) if _defines(one, found[2]) and one.indent
    ]
    if len(places) != 1:
        return source.code
    statement = source.statements[places[0]]
    above = source.statements[places[0] - 1]
    opening = next((at for at, token in enumerate(statement.tokens) if token.text == "("), 0)
    closing = matching(statement.tokens, opening) if opening else None
    if (
        closing is None
        or above.tokens[0].text == "@"
        or any(token.text in ("self", "cls") for token in statement.tokens[opening:closing])
    ):
        return source.code
    body: list[Token] = []
    for below in source.statements[places[0] + 1 :]:
        if len(below.indent) <= len(statement.indent):
            break
        body += below.tokens
    if not any(token.text == "self" for token in body):
        return source.code
    at = statement.tokens[opening].end
    return source.edited([Edit(at, at, "self" if closing == opening + 1 else "self, ")])


def _defines(statement: SourceStatement, name: str) -> bool:
    words = [token.text for token in statement.tokens[:3]]
    return words[:2] == ["def", name] or words == ["async", "def", name]
