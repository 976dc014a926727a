"""Correct attributes: names of other languages, missing parentheses, results that are None."""

from __future__ import annotations

import re

from .proposal import Failure
from .python2_semantics import receiver_start
from .source import Edit, ProgramSource, SourceStatement, matching_bracket

_NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
_NO_LENGTH = re.compile(r"object of type '(?:builtin_function_or_method|method)' has no len")
_LENGTHS = frozenset({"length", "size", "len", "count"})
_SIZED = frozenset({"list", "tuple", "str", "dict", "set", "range", "bytes", "frozenset"})
_SYNONYMS = {
    "list": {"add": "append", "push": "append", "push_back": "append", "addAll": "extend"},
    "set": {"append": "add", "push": "add", "insert": "add"},
    "str": {
        "toUpperCase": "upper",
        "toLowerCase": "lower",
        "upperCase": "upper",
        "lowerCase": "lower",
        "trim": "strip",
        "startsWith": "startswith",
        "endsWith": "endswith",
        "indexOf": "find",
    },
}
# Methods that change their object and return None.
_CHANGING = frozenset(
    {"append", "sort", "extend", "insert", "remove", "reverse", "clear", "add", "update", "discard"}
)


def fix_member(source: ProgramSource, failure: Failure) -> str:
    """Replace an attribute of another language by Python's: `x.push(1)`, `x.length`, `x.trim()`."""
    match = _NO_ATTRIBUTE.search(failure.message) if failure.type == "AttributeError" else None
    statement = source.statement_at(failure.line or 0)
    if match is None or statement is None:
        return source.code
    kind, name = match.groups()
    tokens = statement.tokens
    uses = [
        at for at in range(1, len(tokens)) if tokens[at].text == name and tokens[at - 1].text == "."
    ]
    if right := _SYNONYMS.get(kind, {}).get(name):
        return source.apply(Edit(tokens[at].start, tokens[at].end, right) for at in uses)
    if name in _LENGTHS and kind in _SIZED:
        edits = [edit for at in uses for edit in _length_edits(statement, at)]
        return source.apply(edits) if len(uses) == 1 else source.code
    if name == "join" and kind in ("list", "tuple"):
        return source.apply(edit for at in uses for edit in _join_edits(source, statement, at))
    if kind == "tuple" and hasattr(str, name):
        return _remove_comma(source, statement, uses)
    return source.code


def _length_edits(statement: SourceStatement, at: int) -> list[Edit]:
    tokens = statement.tokens
    start = receiver_start(tokens, at - 1)
    if start is None:
        return []
    is_call = [token.text for token in tokens[at + 1 : at + 3]] == ["(", ")"]
    end = tokens[at + 2].end if is_call else tokens[at].end
    return [
        Edit(tokens[start].start, tokens[start].start, "len("),
        Edit(tokens[at - 1].start, end, ")"),
    ]


def _join_edits(source: ProgramSource, statement: SourceStatement, at: int) -> list[Edit]:
    """Return the edit of `items.join(", ")`."""
    tokens = statement.tokens
    start = receiver_start(tokens, at - 1)
    words = [token.text for token in tokens[at + 1 : at + 4]]
    if start is None or len(words) < 3 or (words[0], words[2]) != ("(", ")"):
        return []
    if tokens[at + 2].kind != "string":
        return []
    receiver = source.code[tokens[start].start : tokens[at - 2].end]
    return [Edit(tokens[start].start, tokens[at + 3].end, f"{words[1]}.join({receiver})")]


def _remove_comma(source: ProgramSource, statement: SourceStatement, uses: list[int]) -> str:
    """Remove the comma after a string that makes it a tuple: `x = "a",`."""
    if len(uses) != 1 or uses[0] < 2:
        return source.code
    name = statement.tokens[uses[0] - 2].text
    assigned = [
        one.tokens
        for one in source.statements
        if [token.text for token in one.tokens[:2]] == [name, "="]
    ]
    if len(assigned) != 1 or len(assigned[0]) != 4 or assigned[0][3].text != ",":
        return source.code
    if assigned[0][2].kind != "string":
        return source.code
    return source.apply([Edit(assigned[0][3].start, assigned[0][3].end, "")])


def keep_object(source: ProgramSource, failure: Failure) -> str:
    """Keep an object that a method changes: `items = items.append(1)` assigns None."""
    if not failure.message.startswith("'NoneType' object"):
        return source.code
    edits = []
    for statement in source.statements:
        tokens = statement.tokens
        words = [token.text for token in tokens[:6]]
        is_change = (
            len(words) == 6
            and (words[1], words[3], words[5]) == ("=", ".", "(")
            and words[0] == words[2]
            and words[4] in _CHANGING
            and matching_bracket(tokens, 5) == len(tokens) - 1
        )
        if is_change:
            edits.append(Edit(tokens[0].start, tokens[2].start, ""))
    failing = source.statement_at(failure.line or 0)
    names = {source.code[edit.start : edit.end].partition(" ")[0] for edit in edits}
    if failing is None or not names & {token.text for token in failing.tokens}:
        return source.code
    return source.apply(edits)


def add_call(source: ProgramSource, failure: Failure) -> str:
    """Add the parentheses of a method that is not called: `text.strip.upper()`."""
    statement = source.statement_at(failure.line or 0)
    is_method = "'builtin_function_or_method' object has no attribute" in failure.message
    if statement is None or not (is_method or _NO_LENGTH.search(failure.message)):
        return source.code
    tokens = statement.tokens
    words = [token.text for token in tokens]
    uses = [
        at
        for at in range(1, len(tokens) - 1)
        if words[at - 1] == "." and words[at + 1] == ("." if is_method else ")")
    ]
    if len(uses) != 1 or (not is_method and "len" not in words):
        return source.code
    end = tokens[uses[0]].end
    return source.apply([Edit(end, end, "()")])
