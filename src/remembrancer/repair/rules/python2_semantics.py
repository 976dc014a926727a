"""What reads the same in Python 2 and 3 and means something else: lists that became views,
division, names and modules that moved.

Where the meaning cannot be told from the text (`a / b` of two whole numbers was a whole number),
nothing is proposed: a program that still fails says so, one that computes something else does not.
"""

from __future__ import annotations

import keyword
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .source import CLOSERS, OPENERS, Edit, ProgramSource, Token, Tokens, matching

# Names whose meaning changed, or went away, without an error.
_REFUSED = frozenset(
    {
        "__cmp__",
        "__metaclass__",
        "__getslice__",
        "__setslice__",
        "__coerce__",
        "__div__",
        "__idiv__",
        "apply",
        "coerce",
        "cmp",
    }
)
_LISTS = frozenset({"map", "filter", "zip", "range"})
_VIEWS = frozenset({"keys", "values", "items"})
_OLDER_VIEWS = {
    **{f"iter{name}": name for name in _VIEWS},
    **{f"view{name}": name for name in _VIEWS},
}
# What takes any iterable, so that no list need be made for it.
_CONSUMERS = frozenset(
    {
        "list",
        "tuple",
        "set",
        "frozenset",
        "dict",
        "sorted",
        "sum",
        "min",
        "max",
        "any",
        "all",
        "enumerate",
        "iter",
        "join",
        "extend",
        "update",
    }
    | {"deque", "Counter", "zip", "map", "filter", "izip", "imap"}
)
_WHOLE = frozenset({"len", "int", "ord"})
_WORDS = frozenset(keyword.kwlist) | {"print", "exec"}
_NESTED_MAX = 4  # has_key within has_key
# of a chain a.b().c[...]; one that is longer is no program's, and is not followed to its end
_LINKS_MAX = 100


@cache
def moved() -> dict[str, dict[str, str]]:
    """names.toml: `builtins`, `modules`, `members` and the like."""
    return tomllib.loads((Path(__file__).parent / "python2.toml").read_text("utf-8"))


def as_meant(source: ProgramSource) -> str | None:
    """The program for Python 3; None when its meaning cannot be told."""
    if source.names & _REFUSED:
        return None
    code = source.code
    for step in (_imports, _renamed, _methods, _membership, _lists):
        code = step(ProgramSource(code))
    return _divided(
        ProgramSource(code),
        true_division="division" in source.names and "__future__" in source.names,
    )


def _flat(source: ProgramSource) -> Iterator[Tokens]:
    for statement in source.statements:
        yield statement.tokens


def _imports(source: ProgramSource) -> str:
    modules, members = moved()["modules"], moved()["members"]
    edits = []
    for tokens in _flat(source):
        words = [token.text for token in tokens]
        if words[0] == "import" and len(words) == 2 and words[1] in modules:
            edits.append(Edit(tokens[1].start, tokens[1].end, f"{modules[words[1]]} as {words[1]}"))
        elif words[0] == "import" and len(words) == 4 and words[1] in modules and words[2] == "as":
            edits.append(Edit(tokens[1].start, tokens[1].end, modules[words[1]]))
        elif words[0] == "from" and len(words) > 3 and words[2] == "import":
            if words[1] in modules:
                edits.append(Edit(tokens[1].start, tokens[1].end, modules[words[1]]))
            elif len(words) == 4 and f"{words[1]}.{words[3]}" in members:
                module, _, name = members[f"{words[1]}.{words[3]}"].rpartition(".")
                edits.append(
                    Edit(
                        tokens[1].start,
                        tokens[3].end,
                        f"{module or 'builtins'} import {name} as {words[3]}",
                    )
                )
    return source.edited(edits)


def _renamed(source: ProgramSource) -> str:
    """Names of Python 2 alone, unless the program makes them itself."""
    builtins, members = moved()["builtins"], moved()["members"]
    made = bound(source)
    edits, needed = [], set()
    for tokens in _flat(source):
        for at, token in enumerate(tokens):
            before = tokens[at - 1].text if at else ""
            dotted = f"{tokens[at - 2].text}.{token.text}" if before == "." and at > 1 else ""
            if dotted in members and (at < 3 or tokens[at - 3].text != "."):
                edits.append(Edit(tokens[at - 2].start, token.end, members[dotted]))
            elif (
                token.text in builtins
                and before != "."
                and token.text not in made
                and tokens[0].text not in ("import", "from")
            ):
                if tokens[min(at + 1, len(tokens) - 1)].text == "=" and at:
                    continue  # the name of an argument
                edits.append(Edit(token.start, token.end, builtins[token.text]))
            elif token.text == "reduce" and before != "." and "reduce" not in made:
                needed.add("from functools import reduce\n")
    code = source.edited(edits)
    return with_imports(ProgramSource(code), sorted(needed)) if needed else code


def _methods(source: ProgramSource) -> str:
    edits = []
    for tokens in _flat(source):
        for at, token in enumerate(tokens):
            before = tokens[at - 1].text if at else ""
            called = [one.text for one in tokens[at + 1 : at + 3]] == ["(", ")"]
            if before == "." and called and token.text in _OLDER_VIEWS:
                edits.append(Edit(token.start, token.end, _OLDER_VIEWS[token.text]))
            elif (
                before == "."
                and called
                and token.text == "next"
                and (start := receiver(tokens, at - 1)) is not None
            ):
                edits.append(Edit(tokens[start].start, tokens[start].start, "next("))
                edits.append(Edit(tokens[at - 1].start, tokens[at + 2].end, ")"))
            elif (
                before == "def"
                and token.text in ("__nonzero__", "next")
                and at + 2 < len(tokens)
                and tokens[at + 2].text == "self"
            ):
                edits.append(
                    Edit(token.start, token.end, "__bool__" if token.text != "next" else "__next__")
                )
    return source.edited(edits)


def _membership(source: ProgramSource) -> str:
    """`d.has_key(k)` as `(k in d)`, the inner ones first where they nest."""
    for _ in range(_NESTED_MAX):
        edits, until = [], -1
        for tokens in _flat(source):
            for at in [
                at
                for at, token in enumerate(tokens)
                if token.text == "has_key" and at > 1 and tokens[at - 1].text == "."
            ][::-1]:
                closing = (
                    matching(tokens, at + 1)
                    if at + 1 < len(tokens) and tokens[at + 1].text == "("
                    else None
                )
                start = receiver(tokens, at - 1) if closing else None
                if (
                    closing is None
                    or start is None
                    or tokens[closing].end > until > tokens[start].start
                ):
                    continue
                held = source.code[tokens[start].start : tokens[at - 1].start]
                key = source.code[tokens[at + 1].end : tokens[closing].start]
                edits.append(Edit(tokens[start].start, tokens[closing].end, f"({key} in {held})"))
                until = tokens[start].start
            until = -1
        if not edits:
            break
        source = ProgramSource(source.edited(edits))
    return source.code


def _lists(source: ProgramSource) -> str:
    """`map(...)`, `d.keys()` and so on as lists, as they were, unless what takes them takes
    anything to go through.
    """
    edits = []
    made = bound(source)
    for tokens in _flat(source):
        for at, token in enumerate(tokens[:-1]):
            if tokens[at + 1].text != "(":
                continue
            before = tokens[at - 1].text if at else ""
            start: int | None = at
            if before == "." and token.text in _VIEWS and tokens[at + 2].text == ")":
                start = receiver(tokens, at - 1)
            elif before in (".", "def") or token.text not in _LISTS or token.text in made:
                continue
            end = matching(tokens, at + 1)
            if start is None or end is None or _is_consumed(tokens, start, end):
                continue
            edits += [
                Edit(tokens[start].start, tokens[start].start, "list("),
                Edit(tokens[end].end, tokens[end].end, ")"),
            ]
    return source.edited(edits)


def _is_consumed(tokens: list[Token], start: int, end: int) -> bool:
    before = tokens[start - 1].text if start else ""
    after = tokens[end + 1].text if end + 1 < len(tokens) else ""
    if before == "in" and after in (":", "", "]", ")", "}", "if", "for"):
        return True
    return (
        before == "(" and start > 1 and tokens[start - 2].text in _CONSUMERS and after in (")", ",")
    )


def _divided(source: ProgramSource, *, true_division: bool) -> str | None:
    """With `//` where both sides are whole numbers; None where that cannot be told of some
    division, or of some rounding.
    """
    edits = []
    kinds = _kinds(source)
    for tokens in _flat(source):
        for at, token in enumerate(tokens):
            if (
                token.text == "round"
                and at + 1 < len(tokens)
                and tokens[at + 1].text == "("
                and at + 1 not in tokens.commas
            ):
                return None
            if token.text not in ("/", "/=") or true_division or not 0 < at < len(tokens) - 1:
                continue
            left, right = _left(tokens, at - 1, kinds), _right(tokens, at + 1, kinds)
            if "float" in (left, right) or "text" in (left, right):
                continue
            if left != "whole" or right != "whole":
                return None
            edits.append(Edit(token.start, token.end, token.text.replace("/", "//")))
    return source.edited(edits)


def _kinds(source: ProgramSource) -> dict[str, str | None]:
    """Names that are whole or floating numbers wherever they are given a value that can be seen;
    None for others.
    """
    kinds: dict[str, str | None] = {}
    for tokens in _flat(source):
        words = [token.text for token in tokens]
        simple = len(words) > 2 and words[1] == "=" and words.count("=") == 1
        given = tokens[0].text if simple else None
        if given:
            kind = _kind_of(tokens[2:])
            kinds[given] = kind if kinds.get(given, kind) == kind else None
        elif (
            words[0] == "for"
            and len(words) > 4
            and words[2] == "in"
            and words[3] in ("range", "xrange")
            and words[4] == "("
        ):
            kinds[words[1]] = "whole" if kinds.get(words[1], "whole") == "whole" else None
        elif (
            len(words) > 2
            and words[1] in ("+=", "-=", "*=", "//=", "%=")
            and _kind_of(tokens[2:]) == kinds.get(words[0], "")
        ):
            continue
        else:
            kinds |= dict.fromkeys((token.text for token in _targets(tokens)), None)
    return kinds


def _targets(tokens: list[Token]) -> Iterator[Token]:
    """Names to which this statement may give a value in some other way."""
    first = tokens[0].text
    until = max(
        (at for at, token in enumerate(tokens) if token.text.endswith("=") and token.kind == "op"),
        default=0,
    )
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        if token.kind == "name" and (
            at < until
            or first in ("def", "for", "with", "global", "import", "from")
            or before in ("for", "as", "lambda", ",")
        ):
            yield token


def _kind_of(tokens: list[Token]) -> str | None:
    if len(tokens) == 2 and tokens[0].text in "+-":
        tokens = tokens[1:]
    if len(tokens) == 1 and tokens[0].kind == "number":
        return _number(tokens[0].text)
    called = len(tokens) > 2 and tokens[1].text == "(" and matching(tokens, 1) == len(tokens) - 1
    if called and tokens[0].text in _WHOLE:
        return "whole"
    return "float" if called and tokens[0].text == "float" else None


def _number(text: str) -> str:
    if text[:2].lower() in ("0x", "0b", "0o"):
        return "whole"
    return "float" if re.search(r"[.eEjJ]", text) else "whole"


def _left(tokens: list[Token], at: int, kinds: dict[str, str | None]) -> str | None:
    """What stands to the left of a division:

    of a chain of factors it is floating when one of them is.
    """
    found: list[str | None] = []
    while True:
        start = receiver(tokens, at + 1)
        if start is None or len(found) == _LINKS_MAX or at - start > _LINKS_MAX:
            return None
        found.append(_operand(tokens[start : at + 1], kinds))
        if start > 1 and tokens[start - 1].text in ("*", "/", "%", "//"):
            at = start - 2
            continue
        if start > 0 and tokens[start - 1].text == "**":
            return None
        break
    if "float" in found:
        return "float"
    return "whole" if found == ["whole"] * len(found) else None


def _right(tokens: list[Token], at: int, kinds: dict[str, str | None]) -> str | None:
    if tokens[at].text in ("-", "+") and at + 1 < len(tokens):
        at += 1
    end = at
    if tokens[at].text in OPENERS:
        end = matching(tokens, at) or at
    while (
        end + 1 < len(tokens) and end - at <= _LINKS_MAX and tokens[end + 1].text in (".", "(", "[")
    ):
        end = end + 2 if tokens[end + 1].text == "." else (matching(tokens, end + 1) or len(tokens))
    if end - at > _LINKS_MAX or (end + 1 < len(tokens) and tokens[end + 1].text == "**"):
        return None
    return _operand(tokens[at : end + 1], kinds)


def _operand(tokens: list[Token], kinds: dict[str, str | None]) -> str | None:
    if len(tokens) == 1 and tokens[0].kind == "name":
        return kinds.get(tokens[0].text)
    if tokens and tokens[0].text == "(" and matching(tokens, 0) == len(tokens) - 1:
        inner = [
            token
            for token in tokens[1:-1]
            if token.kind in ("number", "name") or token.text not in ("+", "-", "*")
        ]
        parts = [
            _operand([token], kinds) if token.kind == "name" else _kind_of([token])
            for token in inner
        ]
        if parts and "float" in parts and len(parts) * 2 - 1 == len(tokens) - 2:
            return "float"
        return "whole" if parts and all(part == "whole" for part in parts) else None
    if [token.text for token in tokens[:2]] == ["math", "."] and len(tokens) > 2:
        return "float" if tokens[2].text not in ("factorial", "floor", "ceil", "trunc") else None
    return _kind_of(tokens)


def receiver(tokens: list[Token], at: int) -> int | None:
    """Where the expression begins that ends before `at`:

    names, attributes, calls, subscripts. None when there is none.
    """
    index = at - 1
    for _ in range(_LINKS_MAX):
        if index < 0:
            break
        token = tokens[index]
        if token.text in CLOSERS:
            opening = matching(tokens, index)
            if opening is None:
                return None
            index = opening
            before = tokens[index - 1] if index else None
            if (
                before
                and token.text in ")]"
                and (before.kind in ("name", "string") or before.text in CLOSERS)
                and before.text not in _WORDS
            ):
                index -= 1
                continue
        elif token.kind not in ("name", "string", "number") or token.text in _WORDS:
            return None
        if index and tokens[index - 1].text == ".":
            index -= 2
            continue
        return index
    return None


def bound(source: ProgramSource) -> set[str]:
    """Names that the program gives a value to in any way that can be seen."""
    made: set[str] = set()
    for tokens in _flat(source):
        first = tokens[0].text
        for at, token in enumerate(tokens):
            if token.kind != "name":
                continue
            before, after = (
                tokens[at - 1].text if at else "",
                tokens[at + 1].text if at + 1 < len(tokens) else "",
            )
            given = after in ("=", ":=", ":") or (
                after.endswith("=") and after not in ("==", "!=", "<=", ">=")
            )
            listed = first in ("import", "from", "for", "def", "async") and before in (
                "import",
                ",",
                "(",
                "for",
                "lambda",
            )
            if listed or (
                before != "."
                and (
                    given
                    or before in ("def", "class", "as", "for", "global", "nonlocal", "*", "**")
                )
            ):
                made.add(token.text)
        made.update(_targets_of_many(tokens))
    return made


def _targets_of_many(tokens: Tokens) -> Iterator[str]:
    """Each of several names to be given values at once:

    `a, b = ...`, `for a, b in ...`, `lambda a, b: ...`.
    """
    given = False
    for at in range(len(tokens) - 1, -1, -1):
        token = tokens[at]
        if token.text in ("=", "in", ":"):
            given = True
        elif token.kind != "name" and token.text not in (",", ")", "(", "*"):
            given = False
        elif (
            given
            and token.kind == "name"
            and (
                tokens[at + 1].text in (",", ")") or (at and tokens[at - 1].text in (",", "lambda"))
            )
        ):
            yield token.text


def with_imports(source: ProgramSource, lines: list[str]) -> str:
    """With these lines after the docstring, the first comments and what must come from
    `__future__`.
    """
    at = 0
    for token in source.tokens:  # a first line for the shell, a coding, a licence
        if token.kind not in ("comment", "newline", "space"):
            break
        at = token.end if token.kind == "newline" else at
    for index, statement in enumerate(source.statements):
        is_text = index == 0 and all(token.kind == "string" for token in statement.tokens)
        if not is_text and [token.text for token in statement.tokens[:2]] != ["from", "__future__"]:
            break
        at = source.code.find("\n", statement.tokens[-1].end) + 1 or len(source.code)
    lead = "\n" if at and source.code[at - 1] != "\n" else ""
    return source.edited([Edit(at, at, lead + "".join(lines))])
