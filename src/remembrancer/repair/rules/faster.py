"""Propose faster versions of a working program: fewer imports, and results that are stored.

Constants are not folded and unreachable code is not removed: the interpreter does both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .source import (
    Edit,
    ProgramSource,
    Proposal,
    SourceStatement,
    add_import_lines,
    bound_names,
)

# Functions without side effects that return numbers, text or truth values.
_PURE_FUNCTIONS = frozenset(
    {"abs", "min", "max", "int", "float", "round", "divmod", "pow", "len", "ord", "chr", "bool"}
)
_PURE_WORDS = frozenset(
    {"if", "elif", "else", "return", "and", "or", "not", "is", "in", "None", "True", "False"}
    | {"pass", "while", "break", "continue"}
)
_PURE_SIGNS = frozenset("()+-*/%<>=,:&|^~;") | frozenset(
    {"**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+=", "-=", "*=", "//=", "%="}
)
_WORD = re.compile(r"[^\W\d]\w*")
_RECURSIVE_CALLS_MIN = 2  # with one call, a function is never called again with the same arguments


def proposals(code: str) -> Iterator[Proposal]:
    """Yield the changes that may make the program faster, each applied to the program alone."""
    for name, rule in (("unused imports", remove_unused_imports), ("cache", cache_results)):
        new_code = rule(ProgramSource(code))
        if new_code != code:
            yield Proposal(name, new_code)


def remove_unused_imports(source: ProgramSource) -> str:
    """Remove the imports at the top level of which no name occurs anywhere else.

    A name in a string counts too, because an f-string or `eval` may use it.
    """
    counts = _word_counts(source)
    edits = []
    for statement in source.statements:
        names = _imported_names(statement)
        if not names or statement.indent or not source.is_alone(statement):
            continue
        own = [token.text for token in statement.tokens]
        if all(counts.get(name, 0) == own.count(name) for name in names):
            edits.append(source.removal(statement))
    code = source.apply(edits)
    return code if ProgramSource(code).statements else source.code


def _word_counts(source: ProgramSource) -> dict[str, int]:
    """Count the words of all names and strings."""
    counts: dict[str, int] = {}
    for token in source.tokens:
        if token.kind in ("name", "string"):
            for word in _WORD.findall(token.text):
                counts[word] = counts.get(word, 0) + 1
    return counts


def _imported_names(statement: SourceStatement) -> list[str]:
    """Return the names that an import binds; none for `*` and `__future__`."""
    words = [token.text for token in statement.tokens]
    if words[0] not in ("import", "from") or "*" in words or "__future__" in words:
        return []
    if words[0] == "from" and "import" not in words:
        return []
    names: list[str] = []
    at = words.index("import") + 1
    is_part = False  # the word belongs to a dotted name that is bound by its first part
    for word in [word for word in words[at:] if word not in "()"]:
        if word == "as":
            names.pop()
        elif word == ".":
            is_part = True
            continue
        elif word != "," and not is_part:
            names.append(word)
        is_part = False
    return names


def cache_results(source: ProgramSource) -> str:
    """Store the results of recursive functions that only compute with their arguments.

    Such a function calls itself at least twice. Otherwise it uses its parameters, its own
    variables, literals, operators and built-in functions of numbers.
    """
    if "functools" in source.names or _PURE_FUNCTIONS & bound_names(source):
        return source.code
    edits = []
    bindings = _binding_counts(source)
    for index, statement in enumerate(source.statements):
        body = _pure_body(source, index)
        name = statement.tokens[1].text if len(statement.tokens) > 1 else ""
        calls = sum(token.text == name for one in body for token in one.tokens)
        is_decorated = index > 0 and source.statements[index - 1].tokens[0].text == "@"
        if calls >= _RECURSIVE_CALLS_MIN and not is_decorated and bindings[name] == 1:
            start = statement.tokens[0].start
            edits.append(Edit(start, start, f"@functools.cache\n{statement.indent}"))
    if not edits:
        return source.code
    return add_import_lines(ProgramSource(source.apply(edits)), ["import functools\n"])


def _binding_counts(source: ProgramSource) -> Counter[str]:
    """Count the functions and assignments of each name."""
    bindings: Counter[str] = Counter()
    for statement in source.statements:
        words = [token.text for token in statement.tokens[:2]]
        if len(words) == 2 and (words[0] == "def" or words[1] == "="):
            bindings[words[1] if words[0] == "def" else words[0]] += 1
    return bindings


def _pure_body(source: ProgramSource, index: int) -> list[SourceStatement]:
    """Return the body of the function defined at `index`, or nothing if it is not pure."""
    definition = source.statements[index]
    tokens = definition.tokens
    words = [token.text for token in tokens]
    if words[0] != "def" or words[2:3] != ["("] or not definition.is_header or definition.indent:
        return []
    closing = tokens.pairs.get(2)
    names = {token.text for token in tokens[1:closing] if token.kind == "name"}
    if closing is None or closing == 3 or any(word in ("=", "*", "**") for word in words[:closing]):
        return []
    body = []
    for statement in source.statements[index + 1 :]:
        if not statement.indent:
            break
        body.append(statement)
    for statement in body:
        if statement.tokens[1:2] and statement.tokens[1].text == "=":
            names.add(statement.tokens[0].text)
    allowed = names | _PURE_WORDS | _PURE_SIGNS | _PURE_FUNCTIONS
    is_pure = all(
        token.text in allowed or token.kind in ("number", "string")
        for statement in body
        for token in statement.tokens
    )
    return body if is_pure else []


def vectorizable_line(code: str) -> int | None:
    """Return the line of the first loop that computes with elements one by one, or None."""
    source = ProgramSource(code)
    for at, statement in enumerate(source.statements):
        words = [token.text for token in statement.tokens]
        if words[0] != "for" or words[2:4] != ["in", "range"] or not statement.is_header:
            continue
        for below in source.statements[at + 1 :]:
            if len(below.indent) <= len(statement.indent):
                break
            texts = [token.text for token in below.tokens]
            has_element = any(
                texts[i : i + 3] == ["[", words[1], "]"] for i in range(len(texts) - 2)
            )
            if has_element and {"+", "-", "*", "/", "+=", "-=", "*=", "**"} & set(texts):
                return statement.line
    return None
