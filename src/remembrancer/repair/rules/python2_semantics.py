"""Convert Python 2 code that Python 3 interprets differently: views, division, moved names.

If the meaning is ambiguous (`a / b` of two integers was an integer), nothing is proposed: a program
that still fails is better than one that computes a wrong result.
"""

from __future__ import annotations

import keyword
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .source import CLOSERS, OPENERS, Edit, ProgramSource, Token, Tokens, matching_bracket

# Names that changed or lost their meaning without an error.
_UNTRANSLATABLE = frozenset(
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
# Functions that accept any iterable, so that their arguments need not become lists.
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
_INT_FUNCTIONS = frozenset({"len", "int", "ord"})
_KEYWORDS = frozenset(keyword.kwlist) | {"print", "exec"}
_NESTED_MAX = 4  # has_key within has_key
# Links of a chain a.b().c[...]. Longer chains are not followed, so that parsing stays linear.
_LINKS_MAX = 100


@cache
def replacements() -> dict[str, dict[str, str]]:
    """Return the tables of python2.toml: `builtins`, `modules` and `members`."""
    return tomllib.loads((Path(__file__).parent / "python2.toml").read_text("utf-8"))


def translate(source: ProgramSource) -> str | None:
    """Return the program for Python 3, or None if its meaning is ambiguous."""
    if source.names & _UNTRANSLATABLE:
        return None
    code = source.code
    for step in (
        _convert_imports,
        _rename_names,
        _convert_methods,
        _convert_has_key,
        _wrap_in_lists,
    ):
        code = step(ProgramSource(code))
    return _convert_divisions(
        ProgramSource(code),
        true_division="division" in source.names and "__future__" in source.names,
    )


def _token_lists(source: ProgramSource) -> Iterator[Tokens]:
    for statement in source.statements:
        yield statement.tokens


def _convert_imports(source: ProgramSource) -> str:
    modules, members = replacements()["modules"], replacements()["members"]
    edits = []
    for tokens in _token_lists(source):
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
    return source.apply(edits)


def _rename_names(source: ProgramSource) -> str:
    """Replace names that exist only in Python 2, unless the program defines them."""
    builtins, members = replacements()["builtins"], replacements()["members"]
    bindings = bound_names(source)
    edits, import_lines = [], set()
    for tokens in _token_lists(source):
        for at, token in enumerate(tokens):
            before = tokens[at - 1].text if at else ""
            qualified_name = (
                f"{tokens[at - 2].text}.{token.text}" if before == "." and at > 1 else ""
            )
            if qualified_name in members and (at < 3 or tokens[at - 3].text != "."):
                edits.append(Edit(tokens[at - 2].start, token.end, members[qualified_name]))
            elif (
                token.text in builtins
                and before != "."
                and token.text not in bindings
                and tokens[0].text not in ("import", "from")
            ):
                if tokens[min(at + 1, len(tokens) - 1)].text == "=" and at:
                    continue  # a keyword argument
                edits.append(Edit(token.start, token.end, builtins[token.text]))
            elif token.text == "reduce" and before != "." and "reduce" not in bindings:
                import_lines.add("from functools import reduce\n")
    code = source.apply(edits)
    return add_import_lines(ProgramSource(code), sorted(import_lines)) if import_lines else code


def _convert_methods(source: ProgramSource) -> str:
    edits = []
    for tokens in _token_lists(source):
        for at, token in enumerate(tokens):
            before = tokens[at - 1].text if at else ""
            is_call = [following.text for following in tokens[at + 1 : at + 3]] == ["(", ")"]
            if before == "." and is_call and token.text in _OLDER_VIEWS:
                edits.append(Edit(token.start, token.end, _OLDER_VIEWS[token.text]))
            elif (
                before == "."
                and is_call
                and token.text == "next"
                and (start := receiver_start(tokens, at - 1)) is not None
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
    return source.apply(edits)


def _convert_has_key(source: ProgramSource) -> str:
    """Replace `d.has_key(k)` by `(k in d)`, innermost first."""
    for _ in range(_NESTED_MAX):
        edits, until = [], -1
        for tokens in _token_lists(source):
            for at in [
                at
                for at, token in enumerate(tokens)
                if token.text == "has_key" and at > 1 and tokens[at - 1].text == "."
            ][::-1]:
                closing = (
                    matching_bracket(tokens, at + 1)
                    if at + 1 < len(tokens) and tokens[at + 1].text == "("
                    else None
                )
                start = receiver_start(tokens, at - 1) if closing else None
                if (
                    closing is None
                    or start is None
                    or tokens[closing].end > until > tokens[start].start
                ):
                    continue
                container = source.code[tokens[start].start : tokens[at - 1].start]
                key = source.code[tokens[at + 1].end : tokens[closing].start]
                edits.append(
                    Edit(tokens[start].start, tokens[closing].end, f"({key} in {container})")
                )
                until = tokens[start].start
            until = -1
        if not edits:
            break
        source = ProgramSource(source.apply(edits))
    return source.code


def _wrap_in_lists(source: ProgramSource) -> str:
    """Wrap `map(...)`, `d.keys()` and so on in `list()` unless used as a mere iterable."""
    edits = []
    bindings = bound_names(source)
    for tokens in _token_lists(source):
        for at, token in enumerate(tokens[:-1]):
            if tokens[at + 1].text != "(":
                continue
            before = tokens[at - 1].text if at else ""
            start: int | None = at
            if before == "." and token.text in _VIEWS and tokens[at + 2].text == ")":
                start = receiver_start(tokens, at - 1)
            elif before in (".", "def") or token.text not in _LISTS or token.text in bindings:
                continue
            end = matching_bracket(tokens, at + 1)
            if start is None or end is None or _is_consumed(tokens, start, end):
                continue
            edits += [
                Edit(tokens[start].start, tokens[start].start, "list("),
                Edit(tokens[end].end, tokens[end].end, ")"),
            ]
    return source.apply(edits)


def _is_consumed(tokens: list[Token], start: int, end: int) -> bool:
    before = tokens[start - 1].text if start else ""
    after = tokens[end + 1].text if end + 1 < len(tokens) else ""
    if before == "in" and after in (":", "", "]", ")", "}", "if", "for"):
        return True
    return (
        before == "(" and start > 1 and tokens[start - 2].text in _CONSUMERS and after in (")", ",")
    )


def _convert_divisions(source: ProgramSource, *, true_division: bool) -> str | None:
    """Replace `/` by `//` between integers. Return None if a division or rounding is ambiguous."""
    edits = []
    types = _name_types(source)
    for tokens in _token_lists(source):
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
            left, right = _left_type(tokens, at - 1, types), _right_type(tokens, at + 1, types)
            if "float" in (left, right) or "text" in (left, right):
                continue
            if left != "int" or right != "int":
                return None
            edits.append(Edit(token.start, token.end, token.text.replace("/", "//")))
    return source.apply(edits)


def _name_types(source: ProgramSource) -> dict[str, str | None]:
    """Return the type of each assigned name: `int` or `float`, or None if it is ambiguous."""
    types: dict[str, str | None] = {}
    for tokens in _token_lists(source):
        words = [token.text for token in tokens]
        simple = len(words) > 2 and words[1] == "=" and words.count("=") == 1
        name = tokens[0].text if simple else None
        if name:
            type_ = _type_of(tokens[2:])
            types[name] = type_ if types.get(name, type_) == type_ else None
        elif (
            words[0] == "for"
            and len(words) > 4
            and words[2] == "in"
            and words[3] in ("range", "xrange")
            and words[4] == "("
        ):
            types[words[1]] = "int" if types.get(words[1], "int") == "int" else None
        elif (
            len(words) > 2
            and words[1] in ("+=", "-=", "*=", "//=", "%=")
            and _type_of(tokens[2:]) == types.get(words[0], "")
        ):
            continue
        else:
            types |= dict.fromkeys((token.text for token in _targets(tokens)), None)
    return types


def _targets(tokens: list[Token]) -> Iterator[Token]:
    """Yield the names that a statement may bind in another way than by a simple assignment."""
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


def _type_of(tokens: list[Token]) -> str | None:
    if len(tokens) == 2 and tokens[0].text in "+-":
        tokens = tokens[1:]
    if len(tokens) == 1 and tokens[0].kind == "number":
        return _number_type(tokens[0].text)
    is_call = (
        len(tokens) > 2 and tokens[1].text == "(" and matching_bracket(tokens, 1) == len(tokens) - 1
    )
    if is_call and tokens[0].text in _INT_FUNCTIONS:
        return "int"
    return "float" if is_call and tokens[0].text == "float" else None


def _number_type(text: str) -> str:
    if text[:2].lower() in ("0x", "0b", "0o"):
        return "int"
    return "float" if re.search(r"[.eEjJ]", text) else "int"


def _left_type(tokens: list[Token], at: int, types: dict[str, str | None]) -> str | None:
    """Return the type of the left operand of a division: `float` if any factor of it is."""
    factor_types: list[str | None] = []
    while True:
        start = receiver_start(tokens, at + 1)
        if start is None or len(factor_types) == _LINKS_MAX or at - start > _LINKS_MAX:
            return None
        factor_types.append(_operand_type(tokens[start : at + 1], types))
        if start > 1 and tokens[start - 1].text in ("*", "/", "%", "//"):
            at = start - 2
            continue
        if start > 0 and tokens[start - 1].text == "**":
            return None
        break
    if "float" in factor_types:
        return "float"
    return "int" if factor_types == ["int"] * len(factor_types) else None


def _right_type(tokens: list[Token], at: int, types: dict[str, str | None]) -> str | None:
    if tokens[at].text in ("-", "+") and at + 1 < len(tokens):
        at += 1
    end = at
    if tokens[at].text in OPENERS:
        end = matching_bracket(tokens, at) or at
    while (
        end + 1 < len(tokens) and end - at <= _LINKS_MAX and tokens[end + 1].text in (".", "(", "[")
    ):
        end = (
            end + 2
            if tokens[end + 1].text == "."
            else (matching_bracket(tokens, end + 1) or len(tokens))
        )
    if end - at > _LINKS_MAX or (end + 1 < len(tokens) and tokens[end + 1].text == "**"):
        return None
    return _operand_type(tokens[at : end + 1], types)


def _operand_type(tokens: list[Token], types: dict[str, str | None]) -> str | None:
    if len(tokens) == 1 and tokens[0].kind == "name":
        return types.get(tokens[0].text)
    if tokens and tokens[0].text == "(" and matching_bracket(tokens, 0) == len(tokens) - 1:
        inner = [
            token
            for token in tokens[1:-1]
            if token.kind in ("number", "name") or token.text not in ("+", "-", "*")
        ]
        parts = [
            _operand_type([token], types) if token.kind == "name" else _type_of([token])
            for token in inner
        ]
        if parts and "float" in parts and len(parts) * 2 - 1 == len(tokens) - 2:
            return "float"
        return "int" if parts and all(part == "int" for part in parts) else None
    if [token.text for token in tokens[:2]] == ["math", "."] and len(tokens) > 2:
        return "float" if tokens[2].text not in ("factorial", "floor", "ceil", "trunc") else None
    return _type_of(tokens)


def receiver_start(tokens: list[Token], at: int) -> int | None:
    """Return the index at which the expression that ends before `at` begins, or None.

    The expression consists of names, attributes, calls and subscripts.
    """
    index = at - 1
    for _ in range(_LINKS_MAX):
        if index < 0:
            break
        token = tokens[index]
        if token.text in CLOSERS:
            opening = matching_bracket(tokens, index)
            if opening is None:
                return None
            index = opening
            before = tokens[index - 1] if index else None
            if (
                before
                and token.text in ")]"
                and (before.kind in ("name", "string") or before.text in CLOSERS)
                and before.text not in _KEYWORDS
            ):
                index -= 1
                continue
        elif token.kind not in ("name", "string", "number") or token.text in _KEYWORDS:
            return None
        if index and tokens[index - 1].text == ".":
            index -= 2
            continue
        return index
    return None


def bound_names(source: ProgramSource) -> set[str]:
    """Return the names that the program binds."""
    bindings: set[str] = set()
    for tokens in _token_lists(source):
        first = tokens[0].text
        for at, token in enumerate(tokens):
            if token.kind != "name":
                continue
            before, after = (
                tokens[at - 1].text if at else "",
                tokens[at + 1].text if at + 1 < len(tokens) else "",
            )
            is_assigned = after in ("=", ":=", ":") or (
                after.endswith("=") and after not in ("==", "!=", "<=", ">=")
            )
            is_listed = first in ("import", "from", "for", "def", "async") and before in (
                "import",
                ",",
                "(",
                "for",
                "lambda",
            )
            if is_listed or (
                before != "."
                and (
                    is_assigned
                    or before in ("def", "class", "as", "for", "global", "nonlocal", "*", "**")
                )
            ):
                bindings.add(token.text)
        bindings.update(_targets_of_many(tokens))
    return bindings


def _targets_of_many(tokens: Tokens) -> Iterator[str]:
    """Yield the names of `a, b = ...`, `for a, b in ...` and `lambda a, b: ...`."""
    in_targets = False
    for at in range(len(tokens) - 1, -1, -1):
        token = tokens[at]
        if token.text in ("=", "in", ":"):
            in_targets = True
        elif token.kind != "name" and token.text not in (",", ")", "(", "*"):
            in_targets = False
        elif (
            in_targets
            and token.kind == "name"
            and (
                tokens[at + 1].text in (",", ")") or (at and tokens[at - 1].text in (",", "lambda"))
            )
        ):
            yield token.text


def add_import_lines(source: ProgramSource, lines: list[str]) -> str:
    """Insert lines after the first comments, the docstring and the imports from `__future__`."""
    at = 0
    for token in source.tokens:  # shebang, encoding, licence
        if token.kind not in ("comment", "newline", "space"):
            break
        at = token.end if token.kind == "newline" else at
    for index, statement in enumerate(source.statements):
        is_docstring = index == 0 and all(token.kind == "string" for token in statement.tokens)
        if not is_docstring and [token.text for token in statement.tokens[:2]] != [
            "from",
            "__future__",
        ]:
            break
        at = source.code.find("\n", statement.tokens[-1].end) + 1 or len(source.code)
    lead = "\n" if at and source.code[at - 1] != "\n" else ""
    return source.apply([Edit(at, at, lead + "".join(lines))])
