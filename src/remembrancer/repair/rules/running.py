"""Rules for programs that fail while they run: names, attributes and types of values."""

from __future__ import annotations

import builtins
import importlib.util
import itertools
import keyword
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .source import (
    CLOSERS,
    OPENERS,
    Edit,
    Failure,
    ProgramSource,
    SourceStatement,
    Token,
    Tokens,
    add_import_lines,
    after_docstring,
    bound_names,
    differing_ends,
    is_slip,
    of_statement,
    over,
    rewrite,
)
from .syntax import is_misspelt

# --- Names -----------------------------------------------------------------------------------

_UNKNOWN = re.compile(
    r"name '(\w+)' is not defined|local variable '(\w+)' referenced"
    r"|cannot access free variable '(\w+)'"
)
_NO_ATTRIBUTE = re.compile(
    r"'(\w+)' object has no attribute '(\w+)'|module '([\w.]+)' has no attribute '(\w+)'"
    r"|type object '(\w+)' has no attribute '(\w+)'"
)
_NO_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_FOREIGN_CONSTANTS = {
    "true": "True",
    "false": "False",
    "null": "None",
    "none": "None",
    "nil": "None",
    "TRUE": "True",
    "FALSE": "False",
    "NULL": "None",
}
_KINDS = (str, bytes, bytearray, list, tuple, dict, set, frozenset, int, float, complex, range)
_TYPES = {kind.__name__: kind for kind in _KINDS}
_LETTERS_MIN = 4  # shorter names have no recognizable typos: `i` is not a typo of `j`
_LETTERS_MAX = 60
_UNBOUND = re.compile(r"local variable '(\w+)' (?:where|referenced)")
_NO_MODULE = re.compile(r"No module named '(\w+)'\Z")
_LIBRARIES = frozenset({"numpy", "matplotlib", "pandas", "scipy", "sympy"})
_STATEMENT_KEYWORDS = ("pass", "break", "continue")
_METHOD = re.compile(
    r"(?<!\w)(?:(\w++)\.)?(\w++)\(\) takes (\d{1,9}) positional arguments?"
    r" but (\d{1,9}) (?:was|were) given"
)


@cache
def _known_imports() -> dict[str, str]:
    """Return the import lines of well-known names."""
    table = tomllib.loads((Path(__file__).parent / "names.toml").read_text("utf-8"))
    lines = {name: f"import {name}" for name in table["modules"]}
    lines |= {
        name: f"import {module}" if name == module else f"import {module} as {name}"
        for name, module in table["aliases"].items()
    }
    return lines | {
        name: f"from {module} import {name}"
        for module, names in table["members"].items()
        for name in names
    }


def add_imports(source: ProgramSource, failure: Failure) -> str:
    """Import the well-known names that the program uses and does not define.

    Applies only if the undefined name of the failure is one of them.
    """
    bindings = bound_names(source)
    missing = _missing_name(failure)
    if missing is None or missing in bindings or _import_line(missing, source) is None:
        return source.code
    names = {token.text for token in _names(source)} - bindings
    lines = {line for name in names if (line := _import_line(name, source))}
    return add_import_lines(source, sorted({f"{line}\n" for line in lines}))


def _import_line(name: str, source: ProgramSource) -> str | None:
    """Return the line that imports this name.

    Return None if the name is not well known, is not used like a module, or is not installed.
    """
    line = _known_imports().get(name)
    if line is None:
        return None
    keyword_, module = line.split()[:2]
    if name == "datetime":
        line = (
            "import datetime"
            if re.search(
                r"\bdatetime\.(?:datetime|date|time|timedelta|timezone|UTC)\b", source.code
            )
            else "from datetime import datetime"
        )
    elif keyword_ == "import" and f"{name}." not in source.code:
        return None
    top = module.partition(".")[0]
    is_found = top in sys.stdlib_module_names or importlib.util.find_spec(top) is not None
    return line if is_found else None


def _names(source: ProgramSource, *, attributes: bool = False) -> Iterator[Token]:
    """Yield the names in the program: attributes, or all other ones."""
    for statement in source.statements:
        for before, token in zip([None, *statement.tokens], statement.tokens, strict=False):
            is_attribute = before is not None and before.text == "."
            if token.kind == "name" and is_attribute == attributes:
                yield token


def _renamed(source: ProgramSource, names: dict[str, str]) -> str:
    """Return the program with other names. Attributes keep theirs."""
    return source.apply(
        over(token, token, names[token.text]) for token in _names(source) if token.text in names
    )


def replace_foreign_constants(source: ProgramSource, failure: Failure) -> str:
    """Replace the constants of JSON and other languages by `True`, `False` and `None`."""
    bindings = bound_names(source)
    constants = {name: one for name, one in _FOREIGN_CONSTANTS.items() if name not in bindings}
    return _renamed(source, constants) if _missing_name(failure) in constants else source.code


def fix_typo(source: ProgramSource, failure: Failure) -> str:
    """Replace an undefined name by the only similar name, if the undefined name occurs once.

    Similar names differ by one letter added, removed or changed, or by two exchanged. A digit or a
    plural `s` does not count as a typo, since it often makes another valid name.
    """
    if source.statement_at(failure.line or 0) is None:
        return source.code
    typo = _name_typo(source, failure) or _attribute_typo(failure)
    if typo is None:
        return source.code
    wrong, right, is_attribute = typo
    uses = [one for one in _names(source, attributes=is_attribute) if one.text == wrong]
    return source.apply([over(uses[0], uses[0], right)]) if len(uses) == 1 else source.code


def _name_typo(source: ProgramSource, failure: Failure) -> tuple[str, str, bool] | None:
    missing = _missing_name(failure)
    if missing is None or missing in bound_names(source):
        return None
    right = _closest_name(missing, {*bound_names(source), *dir(builtins)} - {missing})
    return (missing, right, False) if right else None


def _attribute_typo(failure: Failure) -> tuple[str, str, bool] | None:
    if failure.type not in ("ImportError", "AttributeError"):
        return None
    match = _NO_IMPORT.search(failure.message) or _NO_ATTRIBUTE.search(failure.message)
    if match is None:
        return None
    is_attribute = match.re is _NO_ATTRIBUTE
    first, second = (group for group in match.groups() if group)
    owner, wrong = (first, second) if is_attribute else (second, first)
    names: Iterable[str] = (
        dir(_TYPES[owner]) if owner in _TYPES and "module" not in match[0] else _members(owner)
    )
    right = _closest_name(wrong, {name for name in names if not name.startswith("_")})
    return (wrong, right, is_attribute) if right else None


def _members(module: str) -> Iterable[str]:
    """Return the names of a module of the standard library or numpy that is already imported."""
    package = module.partition(".")[0]
    imported = sys.modules.get(module) if package in {*sys.stdlib_module_names, "numpy"} else None
    return dir(imported) if imported else ()


def _missing_name(failure: Failure) -> str | None:
    match = _UNKNOWN.search(failure.message) if failure.type == "NameError" else None
    return next((name for name in match.groups() if name), None) if match else None


def _closest_name(wrong: str, names: Iterable[str]) -> str | None:
    """Return the only name that differs by one typo, or None."""
    if len(wrong) > _LETTERS_MAX:
        return None
    if len(wrong) < _LETTERS_MIN:
        others = (name for name in names if name.lower() == wrong.lower() and name != wrong)
        return next(others, None)
    candidates = [
        name
        for name in names
        if name != wrong and not keyword.iskeyword(name) and is_typo(wrong, name)
    ]
    return candidates[0] if len(candidates) == 1 else None


def is_typo(wrong: str, right: str) -> bool:
    """Return True if the names differ by case or by one letter, not a digit or plural."""
    if wrong.lower() == right.lower():
        return True
    if abs(len(wrong) - len(right)) > 1 or len(right) < _LETTERS_MIN - 1:
        return False
    a, b = differing_ends(wrong, right)
    if any(c.isdigit() for c in a[:1] + b[:1]) or {a, b} == {"", "s"} or {a, b} == {"", "_"}:
        return False
    return is_slip(wrong, right)


@of_statement
def declare_global(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Declare a variable `global` or `nonlocal` in a function that only changes its value.

    Applies if the function never assigns anything but `x += ...`, and exactly one outer scope
    assigns it.
    """
    match = _UNBOUND.search(failure.message) if failure.type == "UnboundLocalError" else None
    scopes = [one for one in _headers(source, statement) if one.tokens[0].text == "def"]
    if match is None or not scopes or match[1] in scopes[0].tokens.words(2):
        return
    name = match[1]
    inside = _body(source, scopes[0])
    changes = [one for one in inside if one.tokens[0].text == name and len(one.tokens) > 2]
    if not changes or any(
        one.tokens[1].text[-1:] != "=" or one.tokens[1].text in ("=", "==") for one in changes
    ):
        return
    outer = _body(source, scopes[1]) if len(scopes) > 1 else []
    is_global = any(_assigns(one, name) for one in source.statements if not one.indent)
    lines = {one.line for one in inside}
    is_outer = any(_assigns(one, name) for one in outer if one.line not in lines)
    if is_global != is_outer:
        first = after_docstring(inside)
        start = first.tokens[0].start
        word = "global" if is_global else "nonlocal"
        yield Edit(start, start, f"{word} {name}\n{first.indent}")


def _headers(source: ProgramSource, statement: SourceStatement) -> Iterator[SourceStatement]:
    """Yield the statements around a statement that open its blocks, innermost first."""
    indent = statement.indent
    for above in reversed(source.statements[: source.statements.index(statement)]):
        if len(above.indent) < len(indent):
            indent = above.indent
            yield above


def _body(source: ProgramSource, header: SourceStatement) -> list[SourceStatement]:
    """Return the statements of the block after a header."""
    below = source.statements[source.statements.index(header) + 1 :]
    return list(itertools.takewhile(lambda one: len(one.indent) > len(header.indent), below))


def _assigns(statement: SourceStatement, name: str) -> bool:
    return statement.tokens.words(0, 2) == [name, "="]


@of_statement
def add_self_to_name(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Add `self.` to a name that only the class of the failing method defines."""
    name = _missing_name(failure)
    headers = [one for one in _headers(source, statement) if one.tokens[0].text in ("def", "class")]
    if name is None or [one.tokens[0].text for one in headers] != ["def", "class"]:
        return
    if headers[0].tokens.words(2, 4) != ["(", "self"]:
        return
    members = [one for one in _body(source, headers[1]) if one.indent == headers[0].indent]
    is_method = any(one.tokens.words(0, 2) == ["def", name] for one in members)
    is_attribute = re.search(rf"\bself\.{name}\b\s*=[^=]", source.code) is not None
    if is_method == is_attribute:
        return
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        if token.text != name or token.kind != "name" or (at and tokens[at - 1].text == "."):
            continue
        yield Edit(token.start, token.start, "self.")
        following = tokens.words(at + 1, at + 4)
        if is_method and following[:2] == ["(", "self"] and following[2:] in ([")"], [","]):
            end = tokens[at + 4].start if following[2] == "," else tokens[at + 2].end
            yield Edit(tokens[at + 2].start, end, "")


def fix_module(source: ProgramSource, failure: Failure) -> str:
    """Correct the name of a module that differs from one known module by one letter or case.

    `import ramdom` becomes `import random`; `Math.pi` becomes `math.pi` with its import.
    """
    match = _NO_MODULE.search(failure.message)
    if failure.type != "ModuleNotFoundError" or match is None or len(match[1]) < 3:
        return source.code
    wrong = match[1]
    modules = {name for name in sys.stdlib_module_names if not name.startswith("_")} | _LIBRARIES
    candidates = [name for name in modules if is_typo(wrong, name) or wrong == f"{name}s"]
    return _renamed(source, {wrong: candidates[0]}) if len(candidates) == 1 else source.code


@of_statement
def fix_lone_keyword(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Correct `pass`, `break` or `continue`, misspelt as the only word of a statement."""
    name = _missing_name(failure)
    if name and name not in bound_names(source) and statement.tokens.words() == [name]:
        candidates = [word for word in _STATEMENT_KEYWORDS if is_misspelt(name, word)]
        if len(candidates) == 1:
            yield over(statement.tokens[0], statement.tokens[0], candidates[0])


def add_self(source: ProgramSource, failure: Failure) -> str:
    """Add the parameter `self` to the method that uses it and received one argument too many."""
    match = _METHOD.search(failure.message) if failure.type == "TypeError" else None
    if not match or int(match[4]) != int(match[3]) + 1:
        return source.code
    pattern = rf"(?m)^[ \t]+(?:async[ \t]+)?def[ \t]+{match[2]}[ \t]*\("
    methods = list(re.finditer(pattern, source.masked))
    if len(methods) != 1:
        return source.code
    at = methods[0].end()
    method = source.statement_at(source.masked.count("\n", 0, at) + 1)
    if method is None or {"self", "cls"} & set(method.tokens.words()):
        return source.code
    above = [one for one in source.statements if one.line < method.line][-1:]
    is_decorated = bool(above) and above[0].tokens[0].text == "@"
    if is_decorated or not any("self" in one.tokens.words() for one in _body(source, method)):
        return source.code
    is_only = source.masked[at:].lstrip().startswith(")")
    return source.apply([Edit(at, at, "self" if is_only else "self, ")])


# --- Attributes ------------------------------------------------------------------------------

_LENGTHS = "length|size|len|count"
_SIZED = "list|tuple|str|dict|set|range|bytes|frozenset"
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
_CHANGING = "append|sort|extend|insert|remove|reverse|clear|add|update|discard"
# A name, an attribute, a literal list, a call or an element of one.
_OBJECT = r"((?:[\w.]{1,200}|\[[^\[\]]{0,200}\])(?:\([^()]{0,200}\)|\[[^\[\]]{0,200}\])?)"

rename_members = tuple(
    rewrite({rf"\.{wrong}\b": f".{right}"}, message=f"'{kind}' object has no attribute '{wrong}'")
    for kind, names in _SYNONYMS.items()
    for wrong, right in names.items()
)
fix_length = rewrite(
    {rf"{_OBJECT}\.(?:{_LENGTHS})\b(?:\(\))?": r"len(\1)"},
    message=f"'(?:{_SIZED})' object has no attribute '(?:{_LENGTHS})'",
    once=True,
)
fix_join = rewrite(
    {_OBJECT + r"\.join\(([\"']\0*[\"'])\)": r"\2.join(\1)"},
    message="'(?:list|tuple)' object has no attribute 'join'",
)
# `text.strip.upper()` and `len(text.strip)`
add_call = rewrite(
    {r"(\.\w+)(?=\.)": r"\1()"},
    message="'builtin_function_or_method' object has no attribute",
    once=True,
)
add_call_to_length = rewrite(
    {r"(\blen\([\w.]*\.\w+)(?=\))": r"\1()"},
    message=r"object of type '(?:builtin_function_or_method|method)' has no len",
    once=True,
)


def remove_comma(source: ProgramSource, failure: Failure) -> str:
    """Remove the comma after a string that makes it a tuple: `x = "a",`."""
    match = re.search(r"'tuple' object has no attribute '(\w+)'", failure.message)
    statement = source.statement_at(failure.line or 0)
    if statement is None or match is None or not hasattr(str, match[1]):
        return source.code
    uses = re.findall(rf"\b(\w+)\.{match[1]}\b", source.masked[statement.tokens[0].start :])
    pattern = rf"(?m)^[ \t]*{next(iter(uses), '')}[ \t]*=[ \t]*[\"']\0*[\"'][ \t]*(,)[ \t]*$"
    commas = list(re.finditer(pattern, source.masked))
    return source.apply(Edit(*one.span(1), "") for one in commas if len(commas) == 1)


def keep_object(source: ProgramSource, failure: Failure) -> str:
    """Keep an object that a method changes: `items = items.append(1)` assigns None."""
    failing = source.statement_at(failure.line or 0)
    if failing is None or not failure.message.startswith("'NoneType' object"):
        return source.code
    pattern = rf"(?m)(?<![\w.])((\w+)[ \t]*=[ \t]*)\2\.(?:{_CHANGING})\(.*\)[ \t]*$"
    changes = list(re.finditer(pattern, source.masked))
    if not {change[2] for change in changes} & set(failing.tokens.words()):
        return source.code
    return source.apply(Edit(*change.span(1), "") for change in changes)


# --- Values ----------------------------------------------------------------------------------

_NO_TEXT = re.compile(
    r"can only concatenate str \(not \"\w+\"\) to str"
    r"|unsupported operand type\(s\) for \+: '\w+' and 'str'"
)
_DIGITS = re.compile(r"\A[rbuf]*[\"'][\s\d.,]*\d[\s\d.,]*[\"']\Z")
_NOT_SUBSCRIPTABLE = re.compile(
    r"'(?:builtin_function_or_method|function|method)' object is not subscriptable"
    r"|type '\w+' is not subscriptable"
)
_UNPACK = re.compile(
    r"(?:too many|not enough) values to unpack \(expected 2"
    r"|cannot unpack non-iterable (?:int|float|bool) object"
)
# Words and signs that end one expression and begin another.
_BOUNDARIES = (frozenset(keyword.kwlist) - {"None", "True", "False", "await"}) | frozenset(
    {",", "=", ":", ";", "==", "!=", "<", ">", "<=", ">=", ":=", "|", "&", "^"}
)
_COUNTERS = "i|j|n|idx|index|num|number|pos|position|count"
_PAIRS = re.compile(r"for\s+(\w+)\s*,\s*\w+\s+in\s+(\w+)\s*:\Z")
_BEYOND = re.compile(r"(?:list|tuple|string) (?:assignment )?index out of range")

fix_power = rewrite(
    {r"\^": "**"},
    message=r"unsupported operand type\(s\) for \^=?: '(?:float|int)' and '(?:float|int)'",
    once=True,
)
fix_plus = rewrite({r"=\+(?= )": "+="}, message=r"bad operand type for unary \+", once=True)
# `for i in 5:` and `for i in len(x):`
add_range = rewrite(
    {r"^(for\s+\w+\s+in\s+)(\d\w*|len\(.*\))\s*:$": r"\1range(\2):"},
    message="'int' object is not iterable",
)
divide_to_integer = rewrite(
    {r"(?<!/)/(?![/=])": "//"},
    message="'float' object cannot be interpreted as an integer|not float",
    where=r"[\[(]",
    once=True,
)
convert_to_integer = rewrite(
    {r"(\brange\((?:[^()]*,\s*)?)([\"']\0+[\"'])": r"\1int(\2)"},
    message="'str' object cannot be interpreted as an integer",
)


@dataclass(slots=True)
class _Sum:
    """The operands of one chain of `+`, each as its first and last index."""

    start: int
    operands: list[tuple[int, int]] = field(default_factory=list)

    def end_operand(self, at: int) -> None:
        if at > self.start:
            self.operands.append((self.start, at - 1))
        self.start = at + 1


def _sums(tokens: Tokens) -> Iterator[_Sum]:
    """Yield the chains of `+` in a statement, nested ones too."""
    stack = [_Sum(0)]
    for at, token in enumerate(tokens):
        if token.text in OPENERS:
            stack.append(_Sum(at + 1))
        elif token.text in CLOSERS and len(stack) > 1:
            stack[-1].end_operand(at)
            yield stack.pop()
        elif token.text == "+" and at > stack[-1].start:
            stack[-1].end_operand(at)
        elif token.text in _BOUNDARIES or token.text.endswith("="):
            stack[-1].end_operand(at)
            yield stack[-1]
            stack[-1] = _Sum(at + 1)
    stack[-1].end_operand(len(tokens))
    yield stack[-1]


@of_statement
def convert_to_text(
    _: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterable[Edit]:
    """Put `str()` around what is added to a string literal: `"a" + 3`.

    `"a" + x + y` stays, because `x + y` may be meant.
    """
    if failure.type != "TypeError" or not _NO_TEXT.search(failure.message):
        return []
    tokens = statement.tokens
    edits: list[Edit] = []
    for one in _sums(tokens):
        is_text = [_is_text(tokens, *operand) for operand in one.operands]
        literals = [tokens[first] for first, last in one.operands if first == last]
        has_words = any(
            token.kind == "string" and not _DIGITS.search(token.text) for token in literals
        )
        is_ambiguous = any(not a and not b for a, b in itertools.pairwise(is_text))
        if has_words and not is_ambiguous:
            for (first, last), text in zip(one.operands, is_text, strict=True):
                edits += [] if text else _call("str", tokens[first], tokens[last])
    if not edits and "can only concatenate str" in failure.message:
        at = next((at for at, token in enumerate(tokens) if token.text == "+="), 0)  # `text += 3`
        if at and all(token.kind not in ("string", "op") for token in tokens[at + 1 :]):
            return _call("str", tokens[at + 1], tokens[-1])
    return edits


def _call(function: str, first: Token, last: Token) -> list[Edit]:
    return [Edit(first.start, first.start, f"{function}("), Edit(last.end, last.end, ")")]


def _is_text(tokens: Tokens, first: int, last: int) -> bool:
    """Return True if the operand is certainly a string."""
    if all(token.kind == "string" for token in tokens[first : last + 1]):
        return True
    return tokens[first].text == "str" and tokens.pairs.get(first + 1) == last


@of_statement
def replace_subscript(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterable[Edit]:
    """Replace the brackets of a call by parentheses: `print["a"]`, `items.append[1]`."""
    if not _NOT_SUBSCRIPTABLE.search(failure.message):
        return []
    tokens = statement.tokens
    functions = re.findall(r"\bdef\s+(\w+)", source.masked)
    edits: list[Edit] = []
    for at in range(1, len(tokens)):
        name = tokens[at - 1].text
        closing = tokens.pairs.get(at) if tokens[at].text == "[" else None
        is_attribute = at > 1 and tokens[at - 2].text == "."
        is_function = callable(getattr(builtins, name, None)) or name in functions
        if closing and (is_attribute or is_function) and ":" not in tokens.words(at, closing):
            edits += [
                over(tokens[at], tokens[at], "("),
                over(tokens[closing], tokens[closing], ")"),
            ]
    return edits if len(edits) == 2 else []


@of_statement
def iterate_pairs(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Iterate over pairs: `for k, v in d.items()` and `for i, x in enumerate(items)`.

    Applies if the program assigns the collection once, as a literal.
    """
    start = statement.tokens[0].start
    loop = _PAIRS.match(source.masked[start : statement.tokens[-1].end])
    if loop is None or not _UNPACK.search(failure.message):
        return
    assigned = re.findall(rf"(?m)^[ \t]*{loop[2]}[ \t]*=[ \t]*(\S)", source.masked)
    if assigned == ["{"]:
        yield Edit(start + loop.end(2), start + loop.end(2), ".items()")
    elif assigned == ["["] and re.fullmatch(_COUNTERS, loop[1]):
        yield Edit(start + loop.start(2), start + loop.end(2), f"enumerate({loop[2]})")


@of_statement
def shorten_range(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Take `+ 1` from `range(len(x) + 1)` if the loop fails at `x[i]`; likewise `i <= len(x)`."""
    if failure.type != "IndexError" or not _BEYOND.search(failure.message):
        return
    text = source.masked[statement.tokens[0].start : statement.tokens[-1].end]
    subscripts = set(re.findall(r"\b(\w++)\[(\w++)\]", text))
    for above in _headers(source, statement):
        start = above.tokens[0].start
        line = source.masked[start : above.tokens[-1].end]
        loop = re.match(r"for\s+(\w+)\s+in\s+range\(.*len\((\w+)\)(\s*\+\s*1)\)\s*:\Z", line)
        if loop and (loop[2], loop[1]) in subscripts:
            yield Edit(start + loop.start(3), start + loop.end(3), "")
            return
        loop = re.match(r"while\s+(\w+)\s*(<=)\s*len\((\w+)\)\s*:\Z", line)
        if loop and (loop[3], loop[1]) in subscripts:
            yield Edit(start + loop.start(2), start + loop.end(2), "<")
            return


RULES = (
    ("JSON words", replace_foreign_constants),
    ("imports", add_imports),
    ("module", fix_module),
    ("self", add_self_to_name),
    ("keyword", fix_lone_keyword),
    ("name", fix_typo),
    ("self", add_self),
    *(("attribute", rule) for rule in rename_members),
    ("attribute", fix_length),
    ("attribute", fix_join),
    ("attribute", remove_comma),
    ("attribute", add_call),
    ("attribute", add_call_to_length),
    ("None", keep_object),
    ("text", convert_to_text),
    ("operator", fix_power),
    ("operator", fix_plus),
    ("range", add_range),
    ("call", replace_subscript),
    ("integer", divide_to_integer),
    ("integer", convert_to_integer),
    ("pairs", iterate_pairs),
)
# For errors that most often need knowledge of the data: only what the message makes certain.
VALUE_RULES = (
    ("scope", declare_global),
    ("range", shorten_range),
    ("pairs", iterate_pairs),
)
