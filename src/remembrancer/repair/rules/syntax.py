"""Add or replace colons, operators, brackets and quotes where the position is unambiguous."""

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
    Tokens,
    indent_of,
    matching_bracket,
)

_BARE_HEADERS = frozenset({"else", "try", "finally"})  # headers of one keyword


def add_colons(source: ProgramSource, failure: Failure) -> str:
    """Add the missing colon to each `if`, `for`, `def` and so on that is followed by a block."""
    edits = [
        Edit(statement.tokens[-1].end, statement.tokens[-1].end, ":")
        for statement, below in zip(source.statements, source.statements[1:], strict=False)
        if _lacks_colon(statement) and len(below.indent) > len(statement.indent)
    ]
    statement = source.statement_at(failure.line or 0)
    return source.apply(edits) if statement and _lacks_colon(statement) else source.code


def _lacks_colon(statement: SourceStatement) -> bool:
    first, *rest = statement.tokens
    if (
        first.text not in HEADERS
        or first.kind != "name"
        or bool(rest) == (first.text in _BARE_HEADERS)
    ):
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


def fix_comparison(source: ProgramSource, failure: Failure) -> str:
    """Replace the only `=` of a condition by `==`."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or statement.tokens[0].text not in ("if", "elif", "while"):
        return source.code
    is_call: list[bool] = []  # for each open bracket; in a call `=` names an argument
    assignments = []
    for before, token in zip(statement.tokens, statement.tokens[1:], strict=False):
        if token.text in OPENERS:
            is_call.append(
                token.text == "("
                and (before.kind == "name" or before.text in CLOSERS)
                and before.text not in _KEYWORDS
            )
        elif token.text in CLOSERS and is_call:
            is_call.pop()
        elif token.text == "=" and not any(is_call[-1:]):
            assignments.append(token)
        elif token.text == ":" and not is_call:
            break
    return (
        source.apply([Edit(assignments[0].start, assignments[0].end, "==")])
        if len(assignments) == 1
        else source.code
    )


def fix_assignment(source: ProgramSource, failure: Failure) -> str:
    """Correct an assignment: `a = (b = 2)` to `:=`, and `a-b = 2` to `a_b = 2`.

    Applies if the program has no other meaning for `b`, or for `a` and `b`.
    """
    statement = source.statement_at(failure.line or 0)
    if statement is None or "instead of '='" not in failure.message:
        return source.code
    tokens = statement.tokens
    words = [token.text for token in tokens]
    if words[1:2] == ["-"] and words[3:4] == ["="] and tokens[2].kind == "name":
        uses = [
            one.tokens[at]
            for one in source.statements
            for at in range(1, len(one.tokens) - 1)
            if [token.text for token in one.tokens[at - 1 : at + 2]] == words[:3]
        ]
        # Elsewhere neither word is a name of its own.
        if sum(token.text in (words[0], words[2]) for token in source.tokens) != 2 * len(uses):
            return source.code
        return source.apply(Edit(token.start, token.end, "_") for token in uses)
    at = next((at for at in range(3, len(words)) if words[at] == "="), 0)
    is_nested = words[1:2] == ["="] and words[at - 2 : at - 1] == ["("]
    name_count = sum(token.text == words[at - 1] for token in source.tokens)
    if not at or not is_nested or tokens[at - 1].kind != "name" or name_count != 1:
        return source.code
    return source.apply([Edit(tokens[at].start, tokens[at].end, ":=")])


_KEYWORDS = frozenset({"if", "elif", "while", "and", "or", "not", "in", "is", "return", "else"})


def close_brackets(source: ProgramSource, _: Failure) -> str:
    """Close the open brackets of each statement, at its end or before a mismatched bracket."""
    edits = [
        edit for statement in source.statements for edit in _close_statement(source, statement)
    ]
    return source.apply(edits) if len(edits) <= len(OPENERS) else source.code


def _close_statement(source: ProgramSource, statement: SourceStatement) -> list[Edit]:
    open_: list[Token] = []
    edits = []
    # `first` begins the current statement; a line that is not indented may begin another one.
    last = first = statement.tokens[0]
    is_outdented = False  # a line within brackets is not indented further than the statement
    for token in statement.tokens:
        if (
            open_
            and token.line > last.line
            and token.text not in CLOSERS
            and not _is_deeper(source, token, first)
        ):
            is_outdented = not (_may_end(last) and _may_begin(token))
            if not is_outdented:
                edits.append(_closing_edit(open_, first, last))
                open_, first = [], token
        last = token
        if token.text in OPENERS:
            open_.append(token)
        elif token.text in CLOSERS:
            edits += _close_inner(token, open_)
            if not open_ or OPENERS[open_.pop().text] != token.text:
                return []  # a superfluous bracket: unknown which one
        elif not open_ and token.line > first.line:
            first = token
        is_outdented = is_outdented and bool(open_)
    if open_ and (is_outdented or not _may_end(last) or _may_end_earlier(statement.tokens)):
        return []  # unknown where the brackets end
    return [*edits, _closing_edit(open_, first, last)] if open_ else edits


def _may_end_earlier(tokens: Tokens) -> bool:
    """Return True if the missing bracket may belong before the last ones.

    `f(g(1, 2)` may be `f(g(1), 2)`, and `f(g(1).h()` may be `f(g(1)).h()`.
    """
    at = len(tokens) - 1
    while at > 0 and tokens[at].text in CLOSERS:
        opening = tokens.pairs.get(at)
        if opening is None:
            return False
        if tokens.commas.get(opening, 0) and tokens[opening].text == "(":
            return True
        chain = [token.text for token in tokens[max(0, opening - 3) : opening]]
        if len(chain) == 3 and chain[0] in CLOSERS and chain[1] == ".":
            return True
        at -= 1
    return False


def _close_inner(token: Token, open_: list[Token]) -> list[Edit]:
    """Return the edits that close the brackets inside the one that this token closes.

    Removes them from `open_`.
    """
    edits: list[Edit] = []
    if (
        open_
        and OPENERS[open_[-1].text] != token.text
        and any(OPENERS[opener.text] == token.text for opener in reversed(open_))
    ):
        while OPENERS[open_[-1].text] != token.text:
            edits.append(Edit(token.start, token.start, OPENERS[open_.pop().text]))
    return edits


def _closing_edit(open_: list[Token], first: Token, last: Token) -> Edit:
    at = last.start if last.text == ":" and first.text in HEADERS else last.end
    return Edit(at, at, "".join(OPENERS[token.text] for token in reversed(open_)))


def _may_end(token: Token) -> bool:
    """Return True if a statement may end with the token."""
    return (
        token.kind in ("number", "string")
        or token.text in CLOSERS
        or token.text == ":"
        or (token.kind == "name" and token.text not in _KEYWORDS)
    )


def _may_begin(token: Token) -> bool:
    return token.kind == "name" and token.text not in ("and", "or", "in", "is", "else")


def _is_deeper(source: ProgramSource, token: Token, first: Token) -> bool:
    """Return True if the token's line is indented further than the line of `first`."""
    return len(indent_of(source.lines[token.line - 1])) > len(
        indent_of(source.lines[first.line - 1])
    )


_STRING_MESSAGES = ("f-string", "unterminated", "invalid syntax", "EOL while")


def fix_fstring_quotes(source: ProgramSource, failure: Failure) -> str:
    """Use the other kind of quotes inside the braces of an f-string.

    Only newer versions of Python allow the f-string's own quotes there.
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
        start = token.start + token.text.index(quote) + 1
        at, more_edits = _fstring_edits(source.code, start, quote)
        edits += more_edits
    return source.apply(edits)


def _fstring_edits(code: str, at: int, quote: str) -> tuple[int, list[Edit]]:
    """Return the end of the f-string that begins before `at`, and the edits of quotes in braces.

    There are no edits if the braces also contain the other kind of quotes.
    """
    edits: list[Edit] = []
    depth, other = 0, {'"': "'", "'": '"'}[quote]
    while at < len(code) and code[at] not in "\r\n":
        character = code[at]
        if character == "\\":
            at += 1
        elif character == quote and depth == 0:
            return at + 1, edits if len(edits) % 2 == 0 else []
        elif character == quote:
            edits.append(Edit(at, at + 1, other))
        elif character == other and depth:
            return at + 1, []
        elif character in "{}":
            depth = max(0, depth + (1 if character == "{" else -1))
        at += 1
    return at, []


_METHOD = re.compile(
    r"(?:(\w+)\.)?(\w+)\(\) takes (\d{1,9}) positional arguments? but (\d{1,9}) (?:was|were) given"
)


def add_self(source: ProgramSource, failure: Failure) -> str:
    """Add the parameter `self` to the method that uses it and received one argument too many."""
    match = _METHOD.search(failure.message) if failure.type == "TypeError" else None
    if not match or int(match[4]) != int(match[3]) + 1:
        return source.code
    methods = [
        index
        for index, statement in enumerate(source.statements)
        if statement.indent and _defines(statement, match[2])
    ]
    if len(methods) != 1:
        return source.code
    statement = source.statements[methods[0]]
    above = source.statements[methods[0] - 1]
    opening = next((at for at, token in enumerate(statement.tokens) if token.text == "("), 0)
    closing = matching_bracket(statement.tokens, opening) if opening else None
    if (
        closing is None
        or above.tokens[0].text == "@"
        or any(token.text in ("self", "cls") for token in statement.tokens[opening:closing])
    ):
        return source.code
    body: list[Token] = []
    for below in source.statements[methods[0] + 1 :]:
        if len(below.indent) <= len(statement.indent):
            break
        body += below.tokens
    if not any(token.text == "self" for token in body):
        return source.code
    at = statement.tokens[opening].end
    return source.apply([Edit(at, at, "self" if closing == opening + 1 else "self, ")])


def _defines(statement: SourceStatement, name: str) -> bool:
    words = [token.text for token in statement.tokens[:3]]
    return words[:2] == ["def", name] or words == ["async", "def", name]
