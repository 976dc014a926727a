"""Correct definitions: parentheses and order of parameters, `global`, imports of the future."""

from __future__ import annotations
import __future__

import keyword
import re

from .proposal import Failure
from .source import (
    CLOSERS,
    OPENERS,
    Edit,
    ProgramSource,
    SourceStatement,
    Token,
    after_docstring,
    indent_of,
    matching_bracket,
)

_DECLARATION = re.compile(r"name '\w+' is (?:assigned to before|used prior to) (?:global|nonlocal)")
_FEATURE = re.compile(r"future feature (\w+) is not defined")
_ORDER_MESSAGES = ("cannot follow var-keyword", "must be ahead of *")


def add_parentheses(source: ProgramSource, failure: Failure) -> str:
    """Add the parentheses of `def f:` and `def f a, b:`; take a name out of quotes."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or not statement.is_header:
        return source.code
    tokens = statement.tokens
    at = 1 if tokens[0].text == "async" else 0
    if tokens[at].text != "def" or len(tokens) < at + 3:
        return source.code
    name, rest = tokens[at + 1], tokens[at + 2 : -1]
    text = name.text[1:-1]
    if name.kind == "string" and text.isidentifier() and not keyword.iskeyword(text):
        return source.apply([Edit(name.start, name.end, text)])
    if name.kind != "name" or any(token.text in (*OPENERS, *CLOSERS, ".", "-") for token in rest):
        return source.code
    if not rest:
        return source.apply([Edit(name.end, tokens[-1].start, "()")])
    return source.apply([Edit(name.end, rest[0].start, "("), Edit(rest[-1].end, rest[-1].end, ")")])


def order_parameters(source: ProgramSource, failure: Failure) -> str:
    """Move `**kwargs` to the end of the parameters, and `/` before `*`."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or not any(words in failure.message for words in _ORDER_MESSAGES):
        return source.code
    tokens = statement.tokens
    opening = next((at for at, token in enumerate(tokens) if token.text == "("), 0)
    closing = matching_bracket(tokens, opening) if opening else None
    if tokens[0].text not in ("def", "async") or closing is None:
        return source.code
    if "#" in source.code[tokens[opening].end : tokens[closing].start]:
        return source.code  # a comment would lose its place
    parts = _split(tokens[opening + 1 : closing])
    texts = [source.code[part[0].start : part[-1].end] for part in parts if part]
    first_star = next((at for at, text in enumerate(texts) if text[0] == "*"), len(texts))
    slashes = [text for text in texts if text == "/"]
    last = [text for text in texts if text.startswith("**")]
    if len(texts) != len(parts) or len(slashes) > 1 or len(last) > 1 or last == texts[-1:]:
        return source.code
    head = [text for text in texts[:first_star] if text != "/"]
    tail = [text for text in texts[first_star:] if text != "/" and text not in last]
    if tail == ["*"]:
        return source.code
    inner = ", ".join([*head, *slashes, *tail, *last])
    return source.apply([Edit(tokens[opening].end, tokens[closing].start, inner)])


def _split(tokens: list[Token]) -> list[list[Token]]:
    """Split the tokens at the commas outside brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def unpack_parameters(source: ProgramSource, failure: Failure) -> str:
    """Unpack a tuple of parameters in the first statement of the function, as Python 2 did."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or "parameters cannot be parenthesized" not in failure.message:
        return source.code
    tokens = statement.tokens
    words = [token.text for token in tokens]
    if words[0] != "def" or words[2:3] != ["("] or not statement.is_header:
        return _unpack_lambda(source, statement)
    index = source.statements.index(statement)
    below = source.statements[index + 1] if index + 1 < len(source.statements) else None
    opening = next((at for at in range(3, len(words)) if words[at] == "("), 0)
    closing = matching_bracket(tokens, opening) if opening else None
    if closing is None or below is None or len(below.indent) <= len(statement.indent):
        return source.code
    inner = tokens[opening + 1 : closing]
    names = [token.text for token in inner if token.text != ","]
    if not names or not all(name.isidentifier() for name in names):
        return source.code
    parameter = "_".join(names)
    if parameter in source.names:
        return source.code
    start = below.tokens[0].start
    unpacking = f"({', '.join(names)}{',' if len(names) == 1 else ''}) = {parameter}"
    return source.apply(
        [
            Edit(tokens[opening].start, tokens[closing].end, parameter),
            Edit(start, start, f"{unpacking}\n{below.indent}"),
        ]
    )


def _unpack_lambda(source: ProgramSource, statement: SourceStatement) -> str:
    """Remove the parentheses around all parameters of a lambda."""
    tokens = statement.tokens
    openings = [at + 1 for at, token in enumerate(tokens[:-1]) if token.text == "lambda"]
    openings = [at for at in openings if tokens[at].text == "("]
    closing = matching_bracket(tokens, openings[0]) if len(openings) == 1 else None
    if closing is None or closing + 1 >= len(tokens) or tokens[closing + 1].text != ":":
        return source.code
    ends = (tokens[openings[0]], tokens[closing])
    return source.apply(Edit(token.start, token.end, "") for token in ends)


def move_declaration(source: ProgramSource, failure: Failure) -> str:
    """Move `global` and `nonlocal` to the beginning of the function."""
    statement = source.statement_at(failure.line or 0)
    if (
        statement is None
        or not _DECLARATION.search(failure.message)
        or statement.tokens[0].text not in ("global", "nonlocal")
        or not _is_alone(source, statement)
    ):
        return source.code
    index = source.statements.index(statement)
    body: list[SourceStatement] = []
    for above in reversed(source.statements[:index]):
        if len(above.indent) < len(statement.indent):
            if above.tokens[0].text not in ("def", "async"):
                return source.code
            break
        body.append(above)
    body.reverse()
    if not body or body[0].indent != statement.indent:
        return source.code
    first = after_docstring(body)
    text = source.code[statement.tokens[0].start : statement.tokens[-1].end]
    start = first.tokens[0].start
    return source.apply(
        [Edit(start, start, f"{text}\n{first.indent}"), _removal(source, statement)]
    )


def move_future_import(source: ProgramSource, failure: Failure) -> str:
    """Move an import from `__future__` to the beginning of the program; correct its feature."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or [one.text for one in statement.tokens[:2]] != ["from", "__future__"]:
        return source.code
    if match := _FEATURE.search(failure.message):
        right = [name for name in __future__.all_feature_names if _is_close(match[1], name)]
        wrong = [token for token in statement.tokens if token.text == match[1]]
        if len(right) != 1 or len(wrong) != 1:
            return source.code
        return source.apply([Edit(wrong[0].start, wrong[0].end, right[0])])
    if "must occur at the beginning" not in failure.message or not _is_alone(source, statement):
        return source.code
    first = source.statements[0]
    if all(token.kind == "string" for token in first.tokens) and len(source.statements) > 1:
        first = source.statements[1]
    text = source.code[statement.tokens[0].start : statement.tokens[-1].end]
    edit = (
        Edit(statement.tokens[0].start, statement.tokens[-1].end, "pass")
        if statement.indent
        else _removal(source, statement)
    )
    start = first.tokens[0].start
    return source.apply([Edit(start, start, f"{text}\n"), edit])


def _is_close(wrong: str, right: str) -> bool:
    """Return True if one letter is missing, or one is superfluous."""
    short, long = sorted((wrong, right), key=len)
    return len(long) == len(short) + 1 and any(
        long[:at] + long[at + 1 :] == short for at in range(len(long))
    )


def _is_alone(source: ProgramSource, statement: SourceStatement) -> bool:
    """Return True if the statement is all that stands on its lines."""
    tokens = statement.tokens
    end = source.code[tokens[-1].end :].partition("\n")[0].strip()
    starts_line = indent_of(source.lines[statement.line - 1]) == statement.indent
    return not end and starts_line and all(token.text not in (";", ":") for token in tokens)


def _removal(source: ProgramSource, statement: SourceStatement) -> Edit:
    start = statement.tokens[0].start - len(statement.indent)
    end = source.code.find("\n", statement.tokens[-1].end) + 1 or len(source.code)
    return Edit(start, end, "")
