"""Correct colons, commas, dots, brackets, strings and numbers."""

from __future__ import annotations

import builtins
import itertools
import keyword
import re
import unicodedata
from collections.abc import Iterator

from .source import (
    CLOSERS,
    HEADERS,
    OPENERS,
    Edit,
    Failure,
    ProgramSource,
    SourceStatement,
    Token,
    Tokens,
    indent_of,
    matching_bracket,
    of_statement,
)

_BARE_HEADERS = frozenset({"else", "try", "finally"})  # headers of one keyword
_KEYWORDS = frozenset({"if", "elif", "while", "and", "or", "not", "in", "is", "return", "else"})
_STRING_MESSAGES = ("f-string", "unterminated", "invalid syntax", "EOL while")
_ARITHMETIC = frozenset("+-*/%&|^@<>") | {"**", "//", "==", "!=", "<=", ">=", "<<", ">>"}
_WORDS = frozenset(keyword.kwlist) - {"None", "True", "False"}
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_CLOSERS = " \t)]},:"
_LETTER = re.compile(r"\w")
_SIGNS = re.compile(r"[=+%()\[\]{},:]")  # in a string without an end they may be code
_WINDOWS_PATH = re.compile(r"[\"'][A-Za-z]:\\[^\"']*[^\"'\\][\"']\Z")
_IMAGINARY = re.compile(r"(\d+\.?\d*|\.\d+)i\Z")
_C_FLOAT = re.compile(r"(\d+)(\.\d*)?[fF]\Z")
_ZEROS = re.compile(r"0+(?:([0-7])|(\d*_\d[\d_]*))\Z")
_ESCAPES = {r"'\n'": "chr(10)", r'"\n"': "chr(10)", r"'\t'": "chr(9)", r'"\t"': "chr(9)"}
_FSTRING_ESCAPE = re.compile(r"'\\[nt]'|\"\\[nt]\"")
_PROSE_LINE = re.compile(r"[^=()\[\]{}#:]*+\Z")


@of_statement
def add_colons(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Add the missing colon to each `if`, `for`, `def` and so on that is followed by a block."""
    edits = [
        Edit(header.tokens[-1].end, header.tokens[-1].end, ":")
        for header, below in zip(source.statements, source.statements[1:], strict=False)
        if _lacks_colon(header) and len(below.indent) > len(header.indent)
    ]
    return source.apply(edits) if _lacks_colon(statement) else source.code


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


@of_statement
def fix_comparison(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Replace the only `=` of a condition by `==`."""
    if statement.tokens[0].text not in ("if", "elif", "while"):
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


@of_statement
def fix_assignment(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Correct an assignment: `a = (b = 2)` to `:=`, and `a-b = 2` to `a_b = 2`.

    Applies if the program has no other meaning for `b`, or for `a` and `b`.
    """
    if "instead of '='" not in failure.message:
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


@of_statement
def fix_fstring_quotes(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Use the other kind of quotes inside the braces of an f-string.

    Only newer versions of Python allow the f-string's own quotes there.
    """
    if not any(word in failure.message for word in _STRING_MESSAGES):
        return source.code
    edits: list[Edit] = []
    at = -1
    for token in statement.tokens:
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


@of_statement
def add_commas(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Add the comma between two elements in brackets that nothing separates."""
    if "syntax" not in failure.message:
        return source.code
    tokens = statement.tokens
    is_definition = tokens[0].text in ("def", "async")
    edits: list[Edit] = []
    openers: list[str] = []
    for at, (before, token) in enumerate(itertools.pairwise(tokens), 1):
        if before.text in OPENERS:
            openers.append(before.text)
        elif before.text in CLOSERS and openers:
            openers.pop()
        if not openers or before.end == token.start:
            continue
        is_key = at + 1 < len(tokens) and tokens[at + 1].text == ":"
        if openers[-1] == "{" and not is_key and not _is_set(tokens):
            continue  # a colon may be missing
        is_key = is_key and openers[-1] == "{"
        if _is_gap(before, token, is_key=is_key, is_definition=is_definition):
            edits.append(Edit(before.end, before.end, ","))
    return source.apply(edits)


def _is_set(tokens: Tokens) -> bool:
    """Return True if the statement has a comma, and no colon as a dict has."""
    words = {token.text for token in tokens}
    return "," in words and ":" not in words


def _is_gap(before: Token, token: Token, *, is_key: bool, is_definition: bool) -> bool:
    """Return True if a comma is missing between two tokens."""
    is_name = token.kind == "name" and token.text not in _WORDS
    if before.kind == "string" and token.kind == "string":
        return is_key
    if before.kind in ("number", "string") or before.text in CLOSERS:
        return is_name or token.kind in ("number", "string")
    if before.kind == "name" and before.text not in _WORDS:
        return token.kind == "string" or (is_definition and is_name)
    return False


@of_statement
def replace_semicolons(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Replace `;` by `,` in brackets, and by `:` at the end of a header; drop doubled signs."""
    tokens = statement.tokens
    if tokens[-1].text == ";" and tokens[0].text in HEADERS and len(tokens) > 1:
        end = "" if tokens[-2].text == ":" else ":"
        return source.apply([Edit(tokens[-1].start, tokens[-1].end, end)])
    edits, depth = [], 0
    if not _is_balanced(tokens):
        return source.code  # `f(1; g()` may be `f(1); g()`
    for before, token in zip([None, *tokens], tokens, strict=False):
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if token.text == ";" and depth > 0:
            edits.append(Edit(token.start, token.end, ","))
        elif before and before.text == token.text == "," and depth > 0:
            edits.append(Edit(before.end, token.end, ""))
    return source.apply(edits)


@of_statement
def fix_pairs(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Correct `{'a'=1}` to `{'a': 1}`, `dict('a'=1)` to `dict(a=1)`, and `a := 1` to `a = 1`."""
    tokens = statement.tokens
    if len(tokens) > 2 and tokens[0].kind == "name" and tokens[1].text == ":=":
        return source.apply([Edit(tokens[1].start, tokens[1].end, "=")])
    edits: list[Edit] = []
    openers: list[str] = []
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            is_call = token.text == "(" and at > 0 and tokens[at - 1].kind == "name"
            openers.append("call" if is_call else token.text)
        elif token.text in CLOSERS and openers:
            openers.pop()
        elif token.text == "=" and at > 0 and openers[-1:] == ["{"]:
            space = "" if token.end < len(source.code) and source.code[token.end] == " " else " "
            edits.append(Edit(tokens[at - 1].end, token.end, f":{space}"))
        elif token.text == "=" and at > 0 and openers[-1:] == ["call"]:
            name = tokens[at - 1].text[1:-1]
            if tokens[at - 1].kind == "string" and name.isidentifier() and name not in _WORDS:
                edits.append(Edit(tokens[at - 1].start, tokens[at - 1].end, name))
    return source.apply(edits)


@of_statement
def fix_dots(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Drop the dot of `len.(x)` and the fourth dot of an ellipsis."""
    tokens = statement.tokens
    edits = [
        Edit(before.start, before.end, "")
        for before, token in itertools.pairwise(tokens)
        if before.text == "." and token.text == "("
    ]
    if [token.text for token in tokens] == ["...", "."]:
        edits.append(Edit(tokens[1].start, tokens[1].end, ""))
    return source.apply(edits) if len(edits) == 1 else source.code


@of_statement
def remove_surplus_bracket(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> str:
    """Remove a closing bracket at the end of a statement if that can mean only one thing.

    `f(1))` may have lost an opening parenthesis, but wherever that was, it changed nothing.
    """
    if not failure.message.startswith("unmatched '"):
        return source.code
    tokens = statement.tokens
    if len(tokens) < 3 or tokens[-1].text not in ")}" or tokens[-2].text != tokens[-1].text:
        return source.code
    if not _is_surplus(Tokens(tokens[:-1]), _assigned_names(source)):
        return source.code
    return source.apply([Edit(tokens[-1].start, tokens[-1].end, "")])


def _is_surplus(tokens: Tokens, assigned: set[str]) -> bool:
    """Return True if a further closing bracket after the tokens can have no meaning."""
    opening = matching_bracket(tokens, len(tokens) - 1)
    if opening is None or not _is_balanced(tokens):
        return False
    if any(token.text in _ARITHMETIC or token.text in _WORDS for token in tokens):
        return False
    # `f(a))` may be `f(a())`, and `printf(1))` may be `print(f(1))`.
    end = next((at for at in range(len(tokens) - 1, -1, -1) if tokens[at].text not in CLOSERS), 0)
    callees = {tokens[at - 1].text for at in range(1, len(tokens)) if _is_call(tokens, at)}
    if (tokens[end].kind == "name" and tokens[end].text not in assigned) or not all(
        name in assigned or hasattr(builtins, name) for name in callees
    ):
        return False
    # `f(1, 2))` may be `f((1, 2))`, and `a, f(1))` may be `(a, f(1))`.
    outside = tokens if _is_call(tokens, opening) else tokens[:opening]
    return not any(token.text == "," for token in outside)


def _is_balanced(tokens: Tokens) -> bool:
    """Return True if every bracket has its partner."""
    return len(tokens.pairs) == sum(
        token.text in OPENERS or token.text in CLOSERS for token in tokens
    )


def _assigned_names(source: ProgramSource) -> set[str]:
    """Return the names that an assignment, a loop or a definition binds."""
    return {
        one.tokens[at].text
        for one in source.statements
        for at, before, after in ((0, "", "="), (1, "for", "in"), (1, "def", "("))
        if len(one.tokens) > at + 1
        and one.tokens[at + 1].text == after
        and (at == 0 or one.tokens[0].text == before)
    }


def _is_call(tokens: list[Token], at: int) -> bool:
    """Return True if the token at `at` opens the arguments of a call."""
    before = tokens[at - 1] if at else None
    is_callee = before is not None and (before.kind == "name" or before.text in "])")
    return is_callee and tokens[at].text == "("


@of_statement
def fix_call_brackets(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Use parentheses for a call: `sum[i for i in x]` and `print("a"]`."""
    tokens = statement.tokens
    edits: list[Edit] = []
    open_: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            open_.append(at)
        elif token.text in CLOSERS and open_:
            opening = open_.pop()
            words = [one.text for one in tokens[opening + 1 : at]]
            is_builtin = opening > 0 and callable(getattr(builtins, tokens[opening - 1].text, None))
            if tokens[opening].text == "(" and token.text != ")" and is_builtin:
                edits.append(Edit(token.start, token.end, ")"))
            elif (tokens[opening].text, token.text) == ("[", "]") and is_builtin and "for" in words:
                edits.append(Edit(tokens[opening].start, tokens[opening].end, "("))
                edits.append(Edit(token.start, token.end, ")"))
    return source.apply(edits) if len(edits) <= 2 else source.code


@of_statement
def parenthesize(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Add the parentheses that the interpreter misses around a part of an expression."""
    tokens = statement.tokens
    if "parentheses around the comprehension target" in failure.message:
        spans = list(_comprehension_targets(tokens))
    elif "Generator expression must be parenthesized" in failure.message:
        spans = list(_bare_generators(tokens))
    elif "multiple exception types must be parenthesized" in failure.message:
        words = [token.text for token in tokens]
        if words[0] != "except" or not {"as", ":"} & set(words):
            return source.code
        spans = [(1, words.index("as" if "as" in words else ":") - 1)]
    else:
        return source.code
    if len(spans) != 1:
        return source.code
    first, last = (tokens[at] for at in spans[0])
    return source.apply([Edit(first.start, first.start, "("), Edit(last.end, last.end, ")")])


def _comprehension_targets(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of the elements before a `for` that a comma separates."""
    open_: list[tuple[int, bool]] = []  # the index of each open bracket, and whether a comma is in
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            open_.append((at, False))
        elif token.text in CLOSERS and open_:
            open_.pop()
        elif token.text == "," and open_:
            open_[-1] = (open_[-1][0], True)
        elif token.text == "for" and open_ and open_[-1][1]:
            yield open_[-1][0] + 1, at - 1
            open_[-1] = (at, False)


def _bare_generators(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each generator that is one of several arguments."""
    # For each open bracket: start of the argument, 1 after its `for` and 2 after its `in`.
    open_: list[list[int]] = []
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            open_.append([at + 1, 0])
        elif token.text in ("for", "in") and open_:
            open_[-1][1] = {"for": 1, "in": 2 * (open_[-1][1] > 0)}[token.text]
        elif token.text in (",", *CLOSERS) and open_:
            start, progress = open_[-1]
            if progress == 1:
                continue  # a comma between `for` and `in`
            if progress == 2 and (token.text == "," or tokens[start - 1].text == ","):
                yield start, at - 1
            if token.text == ",":
                open_[-1] = [at + 1, 0]
            else:
                open_.pop()


@of_statement
def fix_import(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Correct an import: `import a, b from m`, `from m import a and b`, a comma at its end."""
    if statement.tokens[0].text not in ("import", "from"):
        return source.code
    tokens = statement.tokens
    words = [token.text for token in tokens]
    if words[0] == "import" and words.count("from") == 1:
        at = words.index("from")
        names = source.code[tokens[1].start : tokens[at - 1].end] if at > 1 else ""
        module = source.code[tokens[at + 1].start : tokens[-1].end] if at + 1 < len(words) else ""
        return (
            source.apply([Edit(tokens[0].start, tokens[-1].end, f"from {module} import {names}")])
            if names and module
            else source.code
        )
    edits = []
    if words[0] == "from" and "import" in words:
        for at in range(words.index("import") + 2, len(words) - 1):
            if words[at] == "and":
                start = tokens[at - 1].start if words[at - 1] == "," else tokens[at - 1].end
                edits.append(Edit(start, tokens[at].end, ","))
        if words[-1] == "," and "(" not in words:
            edits.append(Edit(tokens[-1].start, tokens[-1].end, ""))
    return source.apply(edits)


def close_string(source: ProgramSource, failure: Failure) -> str:
    """Correct the quotes of a line that has one string.

    Applies to an apostrophe in single quotes, a missing or different closing quote, and a backslash
    before it.
    """
    if "unterminated string literal" not in failure.message or not failure.line:
        return source.code
    if failure.line > len(source.lines):
        return source.code
    line = source.lines[failure.line - 1]
    body = line.rstrip("\r\n")
    new = _close_line(body)
    if new is None:
        return source.code
    start = sum(len(one) for one in source.lines[: failure.line - 1])
    return source.apply([Edit(start, start + len(body), new)])


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


def close_triple_string(source: ProgramSource, failure: Failure) -> str:
    """Close a string in triple quotes at the end of the program if only prose follows."""
    if "unterminated triple-quoted string" not in failure.message:
        return source.code
    last = source.tokens[-1]
    if last.kind != "string" or last.is_closed or last.text[-1] in "\"'\\":
        return source.code
    lines = last.text.rstrip().split("\n")
    quotes = last.text.lstrip("rRbBuUfFtT")[:3]
    if len(lines) < 2 or not all(_PROSE_LINE.match(line) for line in lines):
        return source.code
    end = last.start + len(last.text.rstrip())
    return source.apply([Edit(end, end, quotes)])


@of_statement
def make_raw(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Make a string with a path of Windows a raw string."""
    if "unicodeescape" not in failure.message:
        return source.code
    return source.apply(
        Edit(token.start, token.start, "r")
        for token in statement.tokens
        if token.kind == "string" and _WINDOWS_PATH.match(token.text)
    )


@of_statement
def fix_number(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Correct a number with a suffix of another language or leading zeros.

    `01` and `0_12` mean the same number in every version; `010` does not.
    """
    if "literal" not in failure.message:
        return source.code
    edits = []
    for token in statement.tokens:
        if token.kind != "number":
            continue
        if match := _IMAGINARY.match(token.text):
            edits.append(Edit(token.start, token.end, f"{match[1]}j"))
        elif match := _C_FLOAT.match(token.text):
            edits.append(Edit(token.start, token.end, f"{match[1]}{match[2] or '.0'}"))
        elif (match := _ZEROS.match(token.text)) and (match[1] or match[2]):
            number = token.text.lstrip("0_") or "0"
            edits.append(Edit(token.start, token.end, number))
    return source.apply(edits)


def replace_fractions(source: ProgramSource, failure: Failure) -> str:
    """Replace a fraction of one character: `¾` by `(3/4)` and `1½` by `1.5`."""
    if "invalid character" not in failure.message:
        return source.code
    edits = []
    for before, token in zip([None, *source.tokens], source.tokens, strict=False):
        if token.kind in ("string", "comment") or token.text.isascii():
            continue
        if token.text == "\u201a" and _is_comma(source, token.start):
            edits.append(Edit(token.start, token.end, ","))
        numerator, slash, denominator = unicodedata.normalize("NFKC", token.text[-1]).partition("⁄")
        if not slash or not numerator.isdecimal() or not denominator.isdecimal():
            continue
        whole = token.text[:-1]
        if whole and not whole.isdecimal():
            return source.code
        if not whole and before and before.kind == "number" and before.end == token.start:
            edits.append(Edit(before.start, token.end, _sum(before.text, numerator, denominator)))
        elif whole:
            edits.append(Edit(token.start, token.end, _sum(whole, numerator, denominator)))
        else:
            edits.append(Edit(token.start, token.end, f"({numerator}/{denominator})"))
    return source.apply(edits)


def _sum(whole: str, numerator: str, denominator: str) -> str:
    return f"({whole} + {numerator}/{denominator})"


def _is_comma(source: ProgramSource, at: int) -> bool:
    """Return True if the low quotation mark at `at` is written like a comma."""
    before, after = source.code[at - 1 : at], source.code[at + 1 : at + 2]
    return bool(_LETTER.match(before)) and after.isspace()


@of_statement
def replace_escapes(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Replace a line break within the braces of an f-string, which older versions refuse."""
    if "cannot include a backslash" not in failure.message:
        return source.code
    edits = []
    for token in statement.tokens:
        if (
            token.kind != "string"
            or "f" not in token.text[:3].lower().partition(token.text.lstrip("rRbBuUfF")[:1])[0]
        ):
            continue
        for match in _FSTRING_ESCAPE.finditer(token.text):
            head = token.text[: match.start()]
            if head.count("{") > head.count("}"):
                start = token.start + match.start()
                edits.append(Edit(start, start + len(match[0]), _ESCAPES[match[0]]))
    return source.apply(edits)
