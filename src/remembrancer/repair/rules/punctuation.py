"""Correct commas, colons, semicolons, dots and brackets within the failing statement."""

from __future__ import annotations

import builtins
import itertools
import keyword
from collections.abc import Iterator

from .proposal import Failure
from .source import (
    CLOSERS,
    HEADERS,
    OPENERS,
    Edit,
    ProgramSource,
    Token,
    Tokens,
    matching_bracket,
)

_ARITHMETIC = frozenset("+-*/%&|^@<>") | {"**", "//", "==", "!=", "<=", ">=", "<<", ">>"}
_WORDS = frozenset(keyword.kwlist) - {"None", "True", "False"}


def add_commas(source: ProgramSource, failure: Failure) -> str:
    """Add the comma between two elements in brackets that nothing separates."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or "syntax" not in failure.message:
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


def replace_semicolons(source: ProgramSource, failure: Failure) -> str:
    """Replace `;` by `,` in brackets, and by `:` at the end of a header; drop doubled signs."""
    statement = source.statement_at(failure.line or 0)
    if statement is None:
        return source.code
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


def fix_pairs(source: ProgramSource, failure: Failure) -> str:
    """Correct `{'a'=1}` to `{'a': 1}`, `dict('a'=1)` to `dict(a=1)`, and `a := 1` to `a = 1`."""
    statement = source.statement_at(failure.line or 0)
    if statement is None:
        return source.code
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


def fix_dots(source: ProgramSource, failure: Failure) -> str:
    """Drop the dot of `len.(x)` and the fourth dot of an ellipsis."""
    statement = source.statement_at(failure.line or 0)
    if statement is None:
        return source.code
    tokens = statement.tokens
    edits = [
        Edit(before.start, before.end, "")
        for before, token in itertools.pairwise(tokens)
        if before.text == "." and token.text == "("
    ]
    if [token.text for token in tokens] == ["...", "."]:
        edits.append(Edit(tokens[1].start, tokens[1].end, ""))
    return source.apply(edits) if len(edits) == 1 else source.code


def remove_surplus_bracket(source: ProgramSource, failure: Failure) -> str:
    """Remove a closing bracket at the end of a statement if that can mean only one thing.

    `f(1))` may have lost an opening parenthesis, but wherever that was, it changed nothing.
    """
    statement = source.statement_at(failure.line or 0)
    if statement is None or not failure.message.startswith("unmatched '"):
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


def fix_call_brackets(source: ProgramSource, failure: Failure) -> str:
    """Use parentheses for a call: `sum[i for i in x]` and `print("a"]`."""
    statement = source.statement_at(failure.line or 0)
    if statement is None:
        return source.code
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


def parenthesize(source: ProgramSource, failure: Failure) -> str:
    """Add the parentheses that the interpreter misses around a part of an expression."""
    statement = source.statement_at(failure.line or 0)
    if statement is None:
        return source.code
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


def fix_import(source: ProgramSource, failure: Failure) -> str:
    """Correct an import: `import a, b from m`, `from m import a and b`, a comma at its end."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or statement.tokens[0].text not in ("import", "from"):
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
