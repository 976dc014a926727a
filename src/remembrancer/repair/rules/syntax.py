"""Rules for programs that cannot be parsed: keywords, signs, brackets, strings and numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from .source import (
    CLOSERS,
    HEADERS,
    LONE_KEYWORDS,
    OPENERS,
    Edit,
    Failure,
    ProgramSource,
    SourceStatement,
    Token,
    Tokens,
    indent_of,
    of_statement,
)

# --- Signs -----------------------------------------------------------------------------------

_LETTER = re.compile(r"\w")


@of_statement
def add_colons(source: ProgramSource, _: Failure, statement: SourceStatement) -> Iterable[Edit]:
    """Add the missing colon to each `if`, `for`, `def` and so on that is followed by a block."""
    if not _lacks_colon(statement):
        return []
    return [
        Edit(header.tokens[-1].end, header.tokens[-1].end, ":")
        for header, below in itertools.pairwise(source.statements)
        if _lacks_colon(header) and len(below.indent) > len(header.indent)
    ]


def _lacks_colon(statement: SourceStatement) -> bool:
    first, *rest = statement.tokens
    is_header = first.text in HEADERS and bool(rest) != (first.text in LONE_KEYWORDS)
    is_async = first.text == "async" and rest and rest[0].text not in ("def", "for", "with")
    if not is_header or is_async or (rest and rest[0].text in ("=", ".", ",", ":")):
        return False
    depth = lambdas = 0
    for token in rest:
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        lambdas += token.text == "lambda"
        if token.text == ":" and depth == 0:
            lambdas -= 1
            if lambdas < 0:
                return False
    return depth == 0 and statement.tokens[-1].text not in (":", ",", "\\", ";")


# --- Brackets --------------------------------------------------------------------------------


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
        if opening in tokens.lists and tokens[opening].text == "(":
            return True
        chain = tokens.words(max(0, opening - 3), opening)
        if len(chain) == 3 and chain[0] in CLOSERS and chain[1] == ".":
            return True
        at -= 1
    return False


def _close_inner(token: Token, open_: list[Token]) -> list[Edit]:
    """Return the edits that close the brackets inside the one that this token closes.

    Removes them from `open_`.
    """
    edits: list[Edit] = []
    if any(OPENERS[opener.text] == token.text for opener in reversed(open_)):
        while OPENERS[open_[-1].text] != token.text:
            edits.append(Edit(token.start, token.start, OPENERS[open_.pop().text]))
    return edits


def _closing_edit(open_: list[Token], first: Token, last: Token) -> Edit:
    at = last.start if last.text == ":" and first.text in HEADERS else last.end
    return Edit(at, at, "".join(OPENERS[token.text] for token in reversed(open_)))


# Words after which a statement cannot end.
_NO_CALLEES = frozenset({"if", "elif", "while", "and", "or", "not", "in", "is", "return", "else"})


def _may_end(token: Token) -> bool:
    """Return True if a statement may end with the token."""
    if token.kind == "name":
        return token.text not in _NO_CALLEES
    return token.kind in ("number", "string") or token.text in CLOSERS or token.text == ":"


def _may_begin(token: Token) -> bool:
    return token.kind == "name" and token.text not in ("and", "or", "in", "is", "else")


def _is_deeper(source: ProgramSource, token: Token, first: Token) -> bool:
    """Return True if the token's line is indented further than the line of `first`."""
    inner, outer = (indent_of(source.lines[one.line - 1]) for one in (token, first))
    return len(inner) > len(outer)


# --- Strings ---------------------------------------------------------------------------------

_STRING_MESSAGES = ("f-string", "unterminated", "invalid syntax", "EOL while")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_CLOSERS = " \t)]},:"
_SIGNS = re.compile(r"[=+%()\[\]{},:]")  # in a string without an end they may be code
_WINDOWS_PATH = re.compile(r"[\"'][A-Za-z]:\\[^\"']*[^\"'\\][\"']\Z")
_ESCAPES = {"n": "chr(10)", "t": "chr(9)"}
_FSTRING_ESCAPE = re.compile(r"'\\([nt])'|\"\\([nt])\"")
_FSTRING = re.compile(r"(?i)[rbut]*f[rbut]*(['\"])")


@of_statement
def fix_fstring_quotes(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Use the other kind of quotes inside the braces of an f-string.

    Only newer versions of Python allow the f-string's own quotes there.
    """
    if not any(word in failure.message for word in _STRING_MESSAGES):
        return
    at = -1
    for token in statement.tokens:
        match = _FSTRING.match(token.text) if token.kind == "string" else None
        if match and token.start >= at:
            at, edits = _fstring_edits(source.code, token.start + match.end(), match[1])
            yield from edits


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


@of_statement
def replace_escapes(
    _source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Replace a line break within the braces of an f-string, which older versions refuse."""
    if "cannot include a backslash" not in failure.message:
        return
    for token in statement.tokens:
        if token.kind != "string" or not _FSTRING.match(token.text):
            continue
        for match in _FSTRING_ESCAPE.finditer(token.text):
            head = token.text[: match.start()]
            if head.count("{") > head.count("}"):
                start = token.start + match.start()
                yield Edit(start, start + len(match[0]), _ESCAPES[match[1] or match[2]])


def close_string(source: ProgramSource, failure: Failure) -> str:
    """Correct the quotes of a line that has one string.

    Applies to an apostrophe in single quotes, a missing or different closing quote, and a backslash
    before it.
    """
    line = failure.line or 0
    if "unterminated string literal" not in failure.message or not 0 < line <= len(source.lines):
        return source.code
    body = source.lines[line - 1].rstrip("\r\n")
    start = sum(map(len, source.lines[: line - 1]))
    return source.apply([Edit(start, start + len(body), _close_line(body) or body)])


def _close_line(body: str) -> str | None:
    """Return the line with correct quotes, or None if they are ambiguous."""
    single, double = body.count("'"), body.count('"')
    if "#" in body or '"""' in body or "'''" in body:
        return None
    if "\\" in body:
        return _escape_backslash(body, single, double)
    if single == 1 and double == 1:
        return _equal_quotes(body)
    if single >= 3 and single % 2 and not double:
        return _quote_apostrophe(body)
    return _close_quote(body, "'" if single else '"') if single + double == 1 else None


def _equal_quotes(body: str) -> str | None:
    """Return the line with a closing quote like the opening one: `'abc"`."""
    first, last = sorted((body.index("'"), body.index('"')))
    if body[last + 1 :].strip(_CLOSERS) or not _LETTER.search(body[first + 1 : last]):
        return None
    return f"{body[:last]}{body[first]}{body[last + 1 :]}"


def _quote_apostrophe(body: str) -> str | None:
    """Return the line with double quotes around the text with an apostrophe."""
    first, last = body.index("'"), body.rindex("'")
    inner = body[first + 1 : last]
    if body[last + 1 :].strip(_CLOSERS) or inner.count("'") != len(_APOSTROPHE.findall(inner)):
        return None
    return f'{body[:first]}"{inner}"{body[last + 1 :]}'


def _close_quote(body: str, quote: str) -> str | None:
    """Return the line with a quote after its text, before the brackets that are open."""
    before, _, text = body.partition(quote)
    inner = text.rstrip(_CLOSERS)
    if not _LETTER.search(inner) or _LETTER.search(before[-1:]) or _SIGNS.search(inner):
        return None
    tail = text[len(inner) :].strip()
    open_count = sum(before.count(one) for one in "([{") - sum(before.count(one) for one in ")]}")
    closer_count = sum(tail.count(one) for one in ")]}")
    return f"{before}{quote}{inner}{quote}{tail}" if closer_count <= max(0, open_count) else None


def _escape_backslash(body: str, single: int, double: int) -> str | None:
    r"""Return the line with `\"` at the end of its string replaced by `\\"`."""
    stripped = body.rstrip(_CLOSERS)
    is_certain = (
        body.count("\\") == 1
        and stripped[-2:] in ('\\"', "\\'")
        and (single, double) == ((0, 2) if stripped[-1] == '"' else (2, 0))
    )
    at = len(stripped) - 1
    return f"{body[:at]}\\{body[at:]}" if is_certain else None


@of_statement
def make_raw(_: ProgramSource, failure: Failure, statement: SourceStatement) -> Iterator[Edit]:
    """Make a string with a path of Windows a raw string."""
    for token in statement.tokens:
        if "unicodeescape" in failure.message and _WINDOWS_PATH.match(token.text):
            yield Edit(token.start, token.start, "r")


RULES = (
    ("colon", add_colons),
    ("string", close_string),
    ("string", make_raw),
    ("f-string", replace_escapes),
)
# After the clauses that `layout` moves.
LATE_RULES = (
    ("brackets", close_brackets),
    ("f-string", fix_fstring_quotes),
)
