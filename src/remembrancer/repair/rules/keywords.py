"""Correct keywords, operators of other languages, definitions and declarations."""

from __future__ import annotations
import __future__

import itertools
import keyword
import re

from .source import (
    CLOSERS,
    OPENERS,
    Edit,
    Failure,
    ProgramSource,
    SourceStatement,
    Token,
    after_docstring,
    bound_names,
    is_slip,
    matching_bracket,
    of_statement,
)

_LETTERS_MAX = 12
_OPERAND_TOKENS_MAX = 50  # a longer operand of `!` is not followed to its end
_BLOCK_KEYWORDS = frozenset({"if", "elif", "while", "def", "class", "with", "except", "for"})
_LONE_KEYWORDS = frozenset({"else", "try", "finally"})
_SIMPLE_KEYWORDS = frozenset({"return", "import", "del", "raise", "assert", "global", "nonlocal"})
_KEYWORDS = _BLOCK_KEYWORDS | _LONE_KEYWORDS | _SIMPLE_KEYWORDS | {"from"}
# Keywords of other languages that have one translation.
_FOREIGN_KEYWORDS = {
    "function": "def",
    "func": "def",
    "fun": "def",
    "fn": "def",
    "elseif": "elif",
    "elsif": "elif",
    "catch": "except",
    "foreach": "for",
}
# Operators that begin an expression: after them a name may follow.
_INFIX_WORDS = frozenset({"and", "or", "in", "is", "not", "if", "else", "for", "as", "import"})
_DECLARATIONS = frozenset(
    {"var", "let", "const", "int", "float", "double", "bool", "boolean", "char", "auto"}
    | {"str", "string", "String"}
)
# Pairs of signs that Python never accepts one after the other.
_FOREIGN_OPERATORS = {
    ("&", "&"): "and",
    ("|", "|"): "or",
    ("=", "<"): "<=",
    ("==", "="): "==",
    ("!=", "="): "!=",
}
# Keywords that no opening parenthesis follows.
_NEVER_CALLED = frozenset(
    {"pass", "break", "continue", "import", "from", "class", "def", "try", "global", "nonlocal"}
)
_SPLIT_OPERATORS = frozenset({"**", "/=", "+=", "-=", "*=", "<=", ">=", "!=", "//"})
_DECLARATION = re.compile(r"name '\w+' is (?:assigned to before|used prior to) (?:global|nonlocal)")
_FEATURE = re.compile(r"future feature (\w+) is not defined")
_ORDER_MESSAGES = ("cannot follow var-keyword", "must be ahead of *")


@of_statement
def fix_keyword(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Correct the keyword that begins the failing statement."""
    if statement.tokens[0].kind != "name":
        return source.code
    first = statement.tokens[0]
    is_header = [token.text for token in statement.tokens[1:]] == [":"]
    if first.text in _KEYWORDS or (first.text in bound_names(source) and not is_header):
        return source.code
    candidates = {
        keyword
        for keyword in _KEYWORDS
        if is_misspelt(first.text, keyword) and _fits(keyword, statement)
    }
    foreign = _FOREIGN_KEYWORDS.get(first.text.lower())
    if foreign and _fits(foreign, statement):
        candidates = {foreign}
    if len(candidates) != 1:
        return source.code
    return source.apply([Edit(first.start, first.end, candidates.pop())])


def is_misspelt(wrong: str, right: str) -> bool:
    """Return True if a keyword differs by case or by one slip."""
    return wrong.lower() == right or (len(wrong) <= _LETTERS_MAX and is_slip(wrong, right))


def _fits(keyword: str, statement: SourceStatement) -> bool:
    """Return True if the rest of the statement is what follows this keyword, and no expression."""
    words = [token.text for token in statement.tokens[1:]]
    if not words or keyword in _LONE_KEYWORDS:
        return words == [":"]
    if words[0] in ("=", ".", ",", "[") or (words[0] == "(" and keyword not in _BLOCK_KEYWORDS):
        return False
    if keyword in _BLOCK_KEYWORDS:
        return words[-1] == ":" and _fits_header(keyword, words)
    is_operand = statement.tokens[1].kind in ("name", "number", "string")
    return words[-1] != ":" and is_operand and (keyword != "from" or "import" in words[1:])


def _fits_header(keyword: str, words: list[str]) -> bool:
    """Return True if the words are those of a header with this keyword."""
    if keyword == "for":
        return "in" in words[1:-1]
    if keyword == "def":
        return words[1:2] == ["("]
    if keyword == "class":
        return len(words) == 2 or words[1] == "("
    return len(words) > 1


@of_statement
def rename_keyword(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Add an underscore to a keyword that is used as an attribute or a function's name (PEP 8)."""
    if "syntax" not in failure.message:
        return source.code
    tokens = statement.tokens
    names = {
        token.text
        for before, token in itertools.pairwise(tokens)
        if before.text == "." and keyword.iskeyword(token.text)
    }
    if tokens[0].text == "def" and len(tokens) > 1 and tokens[1].text in _NEVER_CALLED:
        names.add(tokens[1].text)
    edits = []
    for one in source.statements:
        for before, token, after in zip(
            [None, *one.tokens], one.tokens, [*one.tokens[1:], None], strict=False
        ):
            is_attribute = before is not None and before.text in (".", "def")
            is_call = token.text in _NEVER_CALLED and after is not None and after.text == "("
            if token.text in names and (is_attribute or is_call):
                edits.append(Edit(token.end, token.end, "_"))
    return source.apply(edits)


@of_statement
def join_else_if(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Replace `else if` at the beginning of a statement by `elif`."""
    edits = [
        Edit(statement.tokens[0].start, statement.tokens[1].end, "elif")
        for statement in source.statements
        if [token.text for token in statement.tokens[:2]] == ["else", "if"]
    ]
    if not edits or statement.tokens[0].text != "else":
        return source.code
    return source.apply(edits)


@of_statement
def replace_operators(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Replace operators of other languages: `&&`, `||`, `!`, `=<`, `=>`, `===`, `i++`.

    Applies to the whole program if the failing statement has one.
    """
    if not _operator_edits(statement):
        return source.code
    return source.apply(edit for one in source.statements for edit in _operator_edits(one))


def _operator_edits(statement: SourceStatement) -> list[Edit]:
    tokens = statement.tokens
    edits = _increment_edit(statement)
    openers: list[str] = []
    for at, (before, token) in enumerate(itertools.pairwise(tokens), 1):
        if before.text in OPENERS:
            openers.append(before.text)
        elif before.text in CLOSERS and openers:
            openers.pop()
        if before.end != token.start:
            continue
        pair = (before.text, token.text)
        if pair in _FOREIGN_OPERATORS:
            edits.append(_spaced(tokens, at, _FOREIGN_OPERATORS[pair]))
        elif pair == ("=", ">") and openers[-1:] == ["{"]:
            edits.append(Edit(before.start, token.end, ":"))
        elif pair == ("=", ">") and tokens[0].text in ("if", "elif", "while"):
            edits.append(Edit(before.start, token.end, ">="))
        elif before.text == "!" and _is_lone_operand(tokens, at):
            edits.append(Edit(before.start, before.end, "not "))
    return edits


def _spaced(tokens: list[Token], at: int, text: str) -> Edit:
    """Return the edit that replaces the signs at `at - 1` and `at`, with spaces around a word."""
    first, last = tokens[at - 1], tokens[at]
    if not text.isalpha():
        return Edit(first.start, last.end, text)
    lead = " " if at > 1 and tokens[at - 2].end == first.start else ""
    tail = " " if at + 1 < len(tokens) and tokens[at + 1].start == last.end else ""
    return Edit(first.start, last.end, f"{lead}{text}{tail}")


def _is_lone_operand(tokens: list[Token], at: int) -> bool:
    """Return True if the operand at `at` is not compared: `!a == b` means two things."""
    depth = 0
    for token in tokens[at : at + _OPERAND_TOKENS_MAX]:
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if depth < 0 or (depth == 0 and token.text in ("and", "or", "&", "|", ":", ",")):
            return True
        if depth == 0 and token.kind == "op" and token.text not in (".", *CLOSERS):
            return False
    return len(tokens) <= at + _OPERAND_TOKENS_MAX


def _increment_edit(statement: SourceStatement) -> list[Edit]:
    """Return the edit of a statement `i++` or `i--`."""
    tokens = statement.tokens
    is_step = (
        len(tokens) == 3
        and tokens[0].kind == "name"
        and tokens[1].text == tokens[2].text
        and tokens[1].text in ("+", "-")
    )
    return [Edit(tokens[0].end, tokens[2].end, f" {tokens[1].text}= 1")] if is_step else []


@of_statement
def join_operators(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Join the two signs of an operator that a space separates, and turn `\\` into `/`."""
    edits: list[Edit] = []
    tokens = statement.tokens
    is_condition = tokens[0].text in ("if", "elif", "while")
    for before, token in itertools.pairwise(tokens):
        joined = before.text + token.text
        is_split = joined in _SPLIT_OPERATORS or (is_condition and joined == "==")
        if is_split and before.line == token.line and before.end + 1 == token.start:
            edits.append(Edit(before.end, token.start, ""))
        elif before.kind in ("name", "number") and token.text == "\\":
            edits.append(Edit(token.start, token.end, "/"))
    return source.apply(edits) if len(edits) == 1 else source.code


@of_statement
def remove_declarations(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Remove words that declare a variable in other languages: `var x = 1`, `int n = 2`.

    Applies to the whole program if the failing statement has one. Removes `new` and `then` too.
    """
    if not _declaration_edits(statement):
        return source.code
    return source.apply(edit for one in source.statements for edit in _declaration_edits(one))


def _declaration_edits(statement: SourceStatement) -> list[Edit]:
    tokens = statement.tokens
    edits = []
    for at, token in enumerate(tokens):
        following = tokens[at + 1 : at + 3]
        if len(following) < 2 or following[0].kind != "name":
            if token.text == "then" and at > 1 and [one.text for one in following] == [":"]:
                edits.append(Edit(tokens[at - 1].end, token.end, ""))
            continue
        before = tokens[at - 1].text if at else ""
        is_first = not at or before in ("if", "(", "while")
        if (token.text in _DECLARATIONS and is_first and following[1].text in ("=", ":=")) or (
            token.text == "new" and before in ("=", "(", "return") and following[1].text == "("
        ):
            edits.append(Edit(token.start, following[0].start, ""))
    return edits


@of_statement
def complete_for(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Complete the header of a loop: `for x range(4):` and `for x in range 4:`."""
    if statement.tokens[0].text != "for" or not statement.is_header:
        return source.code
    tokens = statement.tokens
    words = [token.text for token in tokens]
    if "in" not in words:
        at = 1
        while at + 1 < len(tokens) and tokens[at].kind == "name" and words[at + 1] == ",":
            at += 2
        is_gap = tokens[at].kind == "name" and tokens[min(at + 1, len(tokens) - 1)].kind == "name"
        return (
            source.apply([Edit(tokens[at].end, tokens[at].end, " in")]) if is_gap else source.code
        )
    at = words.index("in") + 1
    is_call = words[at] in ("range", "enumerate", "reversed", "sorted", "zip")
    if not is_call or at + 1 >= len(tokens) or tokens[at + 1].kind not in ("name", "number"):
        return source.code
    if words[at + 1] in _INFIX_WORDS:
        return source.code
    end = tokens[-2].end
    return source.apply([Edit(tokens[at].end, tokens[at + 1].start, "("), Edit(end, end, ")")])


@of_statement
def add_parentheses(source: ProgramSource, _: Failure, statement: SourceStatement) -> str:
    """Add the parentheses of `def f:` and `def f a, b:`; take a name out of quotes."""
    if not statement.is_header:
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


@of_statement
def order_parameters(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Move `**kwargs` to the end of the parameters, and `/` before `*`."""
    if not any(words in failure.message for words in _ORDER_MESSAGES):
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


@of_statement
def unpack_parameters(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Unpack a parameter in parentheses, `def f(a, (b, c))`, at the beginning of the function."""
    if "parameters cannot be parenthesized" not in failure.message:
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


@of_statement
def move_declaration(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Move `global` and `nonlocal` to the beginning of the function."""
    if (
        not _DECLARATION.search(failure.message)
        or statement.tokens[0].text not in ("global", "nonlocal")
        or not source.is_alone(statement)
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
    return source.apply([Edit(start, start, f"{text}\n{first.indent}"), source.removal(statement)])


@of_statement
def move_future_import(source: ProgramSource, failure: Failure, statement: SourceStatement) -> str:
    """Move an import from `__future__` to the beginning of the program; correct its feature."""
    if [one.text for one in statement.tokens[:2]] != ["from", "__future__"]:
        return source.code
    if match := _FEATURE.search(failure.message):
        right = [name for name in __future__.all_feature_names if is_misspelt(match[1], name)]
        wrong = [token for token in statement.tokens if token.text == match[1]]
        if len(right) != 1 or len(wrong) != 1:
            return source.code
        return source.apply([Edit(wrong[0].start, wrong[0].end, right[0])])
    if "must occur at the beginning" not in failure.message or not source.is_alone(statement):
        return source.code
    first = source.statements[0]
    if all(token.kind == "string" for token in first.tokens) and len(source.statements) > 1:
        first = source.statements[1]
    text = source.code[statement.tokens[0].start : statement.tokens[-1].end]
    edit = (
        Edit(statement.tokens[0].start, statement.tokens[-1].end, "pass")
        if statement.indent
        else source.removal(statement)
    )
    start = first.tokens[0].start
    return source.apply([Edit(start, start, f"{text}\n"), edit])
