"""Rules for programs that cannot be parsed: keywords, signs, brackets, strings and numbers."""

from __future__ import annotations
import __future__

import builtins
import itertools
import keyword
import re
import unicodedata
from collections.abc import Iterable, Iterator

from .source import (
    BLOCK_KEYWORDS,
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
    after_docstring,
    bound_names,
    indent_of,
    is_slip,
    of_statement,
    over,
    rewrite,
)

# --- Keywords and definitions ----------------------------------------------------------------

_LETTERS_MAX = 12
_SIMPLE_KEYWORDS = frozenset({"return", "import", "del", "raise", "assert", "global", "nonlocal"})
_KEYWORDS = BLOCK_KEYWORDS | LONE_KEYWORDS | _SIMPLE_KEYWORDS | {"from"}
# Keywords of other languages that have one translation.
_FOREIGN_KEYWORDS = dict.fromkeys(("function", "func", "fun", "fn"), "def") | {
    "elseif": "elif",
    "elsif": "elif",
    "catch": "except",
    "foreach": "for",
}
# Keywords that no opening parenthesis follows.
_NEVER_CALLED = "pass|break|continue|import|from|class|def|try|global|nonlocal"
_DECLARATION = re.compile(r"name '\w+' is (?:assigned to before|used prior to) (?:global|nonlocal)")
_FEATURE = re.compile(r"future feature (\w+) is not defined")
_ORDER_MESSAGES = ("cannot follow var-keyword", "must be ahead of *")

join_else_if = rewrite({r"^else\s+if\b": "elif"}, everywhere=True)
# `for x range(4):` and `for x in range 4:`
complete_for = rewrite(
    {
        r"^(for\s+\w+(?:\s*,\s*\w+)*+)\s+(?!in\b)(?=\w)(?!.*\bin\b)": r"\1 in ",
        r"^(for\b[^()]*\bin\s+(?:range|enumerate|reversed|sorted|zip))\s+"
        r"(?!(?:and|or|in|is|not|if|else|for|as|import)\b)(\w.*):$": r"\1(\2):",
    }
)
# `def f:`, `def f a, b:` and `def "f"():`
add_parentheses = rewrite(
    {
        r"^((?:async\s+)?def\s+\w+)\s*:$": r"\1():",
        r"^((?:async\s+)?def\s+\w+)\s+([^()\[\]{}.-]+):$": r"\1(\2):",
        r"^((?:async\s+)?def\s+)[\"'](\0+)[\"']": r"\1\2",
    }
)
# `var x = 1`, `int n = 2`, `new A()` and `if x then:`
remove_declarations = rewrite(
    {
        r"(^|\(\s*|\b(?:if|while)\s+)(?:var|let|const|int|float|double|bool|boolean|char|auto|str"
        r"|string|String)\s+(?=\w+\s*:?=(?!=))": r"\1",
        r"((?:=|\(|\breturn)\s*)new\s+(?=\w+\s*\()": r"\1",
        r"(?<!\s)\s++then(?=\s*:$)": "",
    },
    everywhere=True,
)


@of_statement
def fix_keyword(source: ProgramSource, _: Failure, statement: SourceStatement) -> Iterator[Edit]:
    """Correct the keyword that begins the failing statement."""
    first = statement.tokens[0]
    is_header = statement.tokens.words(1) == [":"]
    is_name = first.text in bound_names(source) and not is_header
    if first.kind != "name" or first.text in _KEYWORDS or is_name:
        return
    candidates = {
        keyword
        for keyword in _KEYWORDS
        if is_misspelt(first.text, keyword) and _fits(keyword, statement)
    }
    foreign = _FOREIGN_KEYWORDS.get(first.text.lower())
    if foreign and _fits(foreign, statement):
        candidates = {foreign}
    if len(candidates) == 1:
        yield over(first, first, candidates.pop())


def is_misspelt(wrong: str, right: str) -> bool:
    """Return True if a keyword differs by case or by one slip."""
    return wrong.lower() == right or (len(wrong) <= _LETTERS_MAX and is_slip(wrong, right))


def _fits(keyword: str, statement: SourceStatement) -> bool:
    """Return True if the rest of the statement is what follows this keyword, and no expression."""
    words = statement.tokens.words(1)
    if not words or keyword in LONE_KEYWORDS:
        return words == [":"]
    if words[0] in ("=", ".", ",", "[") or (words[0] == "(" and keyword not in BLOCK_KEYWORDS):
        return False
    if keyword in BLOCK_KEYWORDS:
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


def rename_keyword(source: ProgramSource, failure: Failure) -> str:
    """Add an underscore to a keyword that is used as an attribute or a function's name (PEP 8)."""
    statement = source.statement_at(failure.line or 0)
    if statement is None or "syntax" not in failure.message:
        return source.code
    tokens = statement.tokens
    names = {
        token.text
        for before, token in itertools.pairwise(tokens)
        if before.text == "." and keyword.iskeyword(token.text)
    }
    names.update(re.findall(rf"^def\s+({_NEVER_CALLED})\b", source.masked[tokens[0].start :]))
    if not names:
        return source.code
    words = "|".join(sorted(names))
    pattern = rf"(\.\s*|\bdef\s+)({words})\b|(?<![\w.])((?:{_NEVER_CALLED})\b)(?<={words})(?=\()"
    edits = [Edit(match.end(), match.end(), "_") for match in re.finditer(pattern, source.masked)]
    return source.apply(edits)


@of_statement
def order_parameters(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Move `**kwargs` to the end of the parameters, and `/` before `*`."""
    tokens = statement.tokens
    opening = next((at for at, token in enumerate(tokens) if token.text == "("), 0)
    closing = tokens.pairs.get(opening)
    if tokens[0].text not in ("def", "async") or closing is None:
        return
    inside = source.code[tokens[opening].end : tokens[closing].start]
    if not any(words in failure.message for words in _ORDER_MESSAGES) or "#" in inside:
        return  # a comment would lose its place
    commas = [
        at
        for at in range(opening + 1, closing)
        if tokens[at].text == "," and tokens.openers[at] == opening
    ]
    parts = itertools.pairwise([opening, *commas, closing])
    texts = [source.code[tokens[a].end : tokens[b].start].strip() for a, b in parts]
    first_star = next((at for at, text in enumerate(texts) if text[:1] == "*"), len(texts))
    slashes = [text for text in texts if text == "/"]
    last = [text for text in texts if text.startswith("**")]
    if "" in texts or len(slashes) > 1 or len(last) > 1 or last == texts[-1:]:
        return
    head = [text for text in texts[:first_star] if text != "/"]
    tail = [text for text in texts[first_star:] if text != "/" and text not in last]
    if tail != ["*"]:
        ordered = ", ".join([*head, *slashes, *tail, *last])
        yield Edit(tokens[opening].end, tokens[closing].start, ordered)


@of_statement
def move_declaration(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Move `global` and `nonlocal` to the beginning of the function."""
    is_declaration = statement.tokens[0].text in ("global", "nonlocal")
    if not (_DECLARATION.search(failure.message) and is_declaration and source.is_alone(statement)):
        return
    body: list[SourceStatement] = []
    header = None
    for above in reversed(source.statements[: source.statements.index(statement)]):
        if len(above.indent) < len(statement.indent):
            header = above
            break
        body.append(above)
    body.reverse()
    is_function = header is not None and header.tokens[0].text in ("def", "async")
    if is_function and body and body[0].indent == statement.indent:
        yield from _moved(source, statement, after_docstring(body))


@of_statement
def move_future_import(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Move an import from `__future__` to the beginning of the program; correct its feature."""
    if statement.tokens.words(0, 2) != ["from", "__future__"]:
        return
    if match := _FEATURE.search(failure.message):
        right = [name for name in __future__.all_feature_names if is_misspelt(match[1], name)]
        wrong = [token for token in statement.tokens if token.text == match[1]]
        if len(right) == len(wrong) == 1:
            yield over(wrong[0], wrong[0], right[0])
    elif "must occur at the beginning" in failure.message and source.is_alone(statement):
        yield from _moved(source, statement, after_docstring(source.statements))


def _moved(
    source: ProgramSource, statement: SourceStatement, first: SourceStatement
) -> Iterator[Edit]:
    """Yield the edits that move a statement before `first`."""
    text = source.code[statement.tokens[0].start : statement.tokens[-1].end]
    start = first.tokens[0].start
    yield Edit(start, start, f"{text}\n{first.indent}")
    if len(statement.indent) > len(first.indent):  # it may be all of its block
        yield over(statement.tokens[0], statement.tokens[-1], "pass")
    else:
        yield source.removal(statement)


# --- Signs -----------------------------------------------------------------------------------

_NO_CALLEES = frozenset({"if", "elif", "while", "and", "or", "not", "in", "is", "return", "else"})
_ARITHMETIC = frozenset("+-*/%&|^@<>") | {"**", "//", "==", "!=", "<=", ">=", "<<", ">>"}
_WORDS = frozenset(keyword.kwlist) - {"None", "True", "False"}
_LETTER = re.compile(r"\w")

# `&&`, `||`, `!`, `=<`, `=>`, `===` and `i++`; `!a == b` means two things.
replace_operators = rewrite(
    {
        r"(?<![ \t])[ \t]*+&&[ \t]*": " and ",
        r"(?<![ \t])[ \t]*+\|\|[ \t]*": " or ",
        r"!(?!=)\s*([\w.]{1,200}+(?:\([^()]{0,200}\))?)"
        r"(?=\s*(?:(?:and|or)\b|&|\||:|,|\)|$))": r"not \1",
        r"(?<![<>=])=<(?![<=])": "<=",
        r"([=!])==": r"\1=",
        r"=>(?=[^{}]{0,200}\})": ":",
        r"^((?:if|elif|while)\b[^=]*)=>": r"\1>=",
        r"^(\w+)(?:(\+)\+|(-)-)$": r"\1 \2\3= 1",
    },
    everywhere=True,
)
# An operator that a space cuts in two, and a backslash for a division.
join_operators = rewrite(
    {
        r"([-+*/<>!]) =(?!=)": r"\1=",
        r"\* \*": "**",
        r"/ /": "//",
        r"^((?:if|elif|while)\b[^=]*)= =": r"\1==",
        r"(?<=\w)([ \t]*)\\(?=[ \t]*\w)": r"\1/",
    },
    once=True,
)
fix_comparison = rewrite(
    {r"(?<![=!<>:])=(?!=)": "=="}, where=r"^(?:if|elif|while)\b(?!.*[\w)\]]\([^()]*=)", once=True
)
# `len.(x)` and an ellipsis of four dots
fix_dots = rewrite({r"\.(?=\s*\()": "", r"(?<=\.\.\.)\.": ""}, once=True)
# Suffixes of other languages and leading zeros; `010` has another meaning in other versions.
fix_number = rewrite(
    {
        r"(?<![\w.])(\d++\.?\d*+|\.\d++)i\b": r"\1j",
        r"(?<![\w.])(\d+)[fF]\b": r"\1.0",
        r"(?<![\w.])(\d+\.\d*)[fF]\b": r"\1",
        r"(?<![\w.])0+(?=[0-7](?![\w.]))": "",
        r"(?<![\w.])0[0_]*_0*(?=[1-9])": "",
    },
    message="literal",
)
# `import a from b`, `from m import a and b`, and a comma at the end
fix_import = rewrite(
    {
        r"^import\s+(.+?)\s+from\s+([\w.]+)$": r"from \2 import \1",
        r"(?<=\w)(?:\s*+,)?\s++and(?=\s+\w)": ",",
        r",(?=$)": "",
    },
    where=r"^import\b.*\bfrom\b|^from\b[^(]*\bimport\b",
)
# Parentheses that the interpreter misses around a part of an expression.
parenthesize_target = rewrite(
    {r"([\[{(]\s*)([^\[\]{}(),]+(?:,[^\[\]{}(),]+)+?)(?=\s+for\b)": r"\1(\2)"},
    message="parentheses around the comprehension target",
    once=True,
)
parenthesize_generator = rewrite(
    {
        r"(\(\s*)([^(),]+\sfor\s[^()]+?\sin\s(?:[^(),]|\([^()]*\))+)(?=,)": r"\1(\2)",
        r"(,\s*)([^(),]+\sfor\s[^(),]+\sin\s(?:[^(),]|\([^()]*\))+)(?=\))": r"\1(\2)",
    },
    message="Generator expression must be parenthesized",
    once=True,
)
parenthesize_exceptions = rewrite(
    {r"^except\s+(.+?)(?=\s+as\b|\s*:)": r"except (\1)"},
    message="multiple exception types must be parenthesized",
)
replace_walrus = rewrite({r"^(\w+)\s*:=": r"\1 ="})


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


@of_statement
def fix_assignment(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Correct an assignment: `a = (b = 2)` to `:=`, and `a-b = 2` to `a_b = 2`.

    Applies if the program has no other meaning for `b`, or for `a` and `b`.
    """
    if "instead of '='" not in failure.message:
        return
    text = source.masked[statement.tokens[0].start : statement.tokens[-1].end]
    words = [token.text for token in source.tokens if token.kind == "name"]
    if match := re.match(r"([^\W\d]\w*)-([^\W\d]\w*)\s*=", text):
        uses = list(re.finditer(rf"\b{match[1]}-{match[2]}\b", source.masked))
        # Elsewhere neither word is a name of its own.
        if words.count(match[1]) + words.count(match[2]) == 2 * len(uses):
            for use in uses:
                at = use.start() + len(match[1])
                yield Edit(at, at + 1, "_")
    elif (match := re.match(r"\w+\s*=[^=]*\(\s*([^\W\d]\w*)\s*=", text)) and words.count(
        match[1]
    ) == 1:
        at = statement.tokens[0].start + match.end() - 1
        yield Edit(at, at + 1, ":=")


@of_statement
def replace_semicolons(
    _source: ProgramSource, _: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Replace `;` by `,` in brackets, and by `:` at the end of a header; drop doubled commas."""
    tokens = statement.tokens
    if tokens[-1].text == ";" and tokens[0].text in HEADERS and len(tokens) > 1:
        yield over(tokens[-1], tokens[-1], "" if tokens[-2].text == ":" else ":")
    elif tokens.is_balanced:  # `f(1; g()` may be `f(1); g()`
        for (before, token), opener in zip(
            itertools.pairwise(tokens), tokens.openers[1:], strict=True
        ):
            if token.text == ";" and opener is not None:
                yield over(token, token, ",")
            elif before.text == token.text == "," and opener is not None:
                yield Edit(before.end, token.end, "")


@of_statement
def fix_pairs(source: ProgramSource, _: Failure, statement: SourceStatement) -> Iterator[Edit]:
    """Correct `{'a'=1}` to `{'a': 1}` and `dict('a'=1)` to `dict(a=1)`."""
    tokens = statement.tokens
    for at, opener in enumerate(tokens.openers):
        if tokens[at].text != "=" or opener is None:
            continue
        key = tokens[at - 1]
        name = key.text[1:-1]
        if tokens[opener].text == "{":
            space = "" if source.code[tokens[at].end : tokens[at].end + 1] == " " else " "
            yield Edit(key.end, tokens[at].end, f":{space}")
        elif (
            _is_call(tokens, opener)
            and key.kind == "string"
            and name.isidentifier()
            and name not in _WORDS
        ):
            yield over(key, key, name)


@of_statement
def add_commas(
    _source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Add the comma between two elements in brackets that nothing separates."""
    tokens = statement.tokens
    is_definition = tokens[0].text in ("def", "async")
    is_set = any(token.text == "," for token in tokens) and ":" not in tokens.words()
    if "syntax" not in failure.message:
        return
    for at in range(1, len(tokens)):
        opener, before, token = tokens.openers[at], tokens[at - 1], tokens[at]
        if opener is None or before.end == token.start or token.text in CLOSERS:
            continue
        is_key = tokens[opener].text == "{" and tokens.words(at + 1, at + 2) == [":"]
        if tokens[opener].text == "{" and not is_key and not is_set:
            continue  # a colon may be missing
        if _is_gap(before, token, is_key=is_key, is_definition=is_definition):
            yield Edit(before.end, before.end, ",")


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


@of_statement
def remove_surplus_bracket(
    source: ProgramSource, failure: Failure, statement: SourceStatement
) -> Iterator[Edit]:
    """Remove a closing bracket at the end of a statement if that can mean only one thing.

    `f(1))` may have lost an opening parenthesis, but wherever that was, it changed nothing.
    """
    tokens = statement.tokens
    is_doubled = len(tokens) > 2 and tokens[-1].text in ")}" and tokens[-2].text == tokens[-1].text
    if (
        failure.message.startswith("unmatched '")
        and is_doubled
        and _is_surplus(Tokens(tokens[:-1]), _assigned_names(source))
    ):
        yield over(tokens[-1], tokens[-1], "")


def _is_surplus(tokens: Tokens, assigned: set[str]) -> bool:
    """Return True if a further closing bracket after the tokens can have no meaning."""
    opening = tokens.pairs.get(len(tokens) - 1)
    if opening is None or not tokens.is_balanced:
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


def _assigned_names(source: ProgramSource) -> set[str]:
    """Return the names that an assignment, a loop or a definition binds."""
    pattern = r"(?m)^\s*+(?:(\w+)\s*=(?!=)|for\s+(\w+)\s+in\b|def\s+(\w+)\s*\()"
    return {name for names in re.findall(pattern, source.masked) for name in names if name}


def _is_call(tokens: Tokens, at: int) -> bool:
    """Return True if the token at `at` opens the arguments of a call."""
    before = tokens[at - 1] if at else None
    is_callee = before is not None and (before.kind == "name" or before.text in "])")
    return is_callee and tokens[at].text == "("


@of_statement
def fix_call_brackets(
    _source: ProgramSource, _: Failure, statement: SourceStatement
) -> Iterable[Edit]:
    """Use parentheses for a call: `sum[i for i in x]` and `print("a"]`."""
    tokens = statement.tokens
    edits: list[Edit] = []
    for at in range(2, len(tokens)):
        opener = at - 1 if tokens[at - 1].text in OPENERS else tokens.openers[at - 1]
        if tokens[at].text not in CLOSERS or not opener:
            continue
        if not callable(getattr(builtins, tokens[opener - 1].text, None)):
            continue
        closing = over(tokens[at], tokens[at], ")")
        if tokens[opener].text == "(" and tokens[at].text != ")":
            edits.append(closing)
        elif tokens[opener].text == "[" and "for" in tokens.words(opener, at):
            edits += [over(tokens[opener], tokens[opener], "("), closing]
    return edits if len(edits) <= 2 else []


# --- Strings ---------------------------------------------------------------------------------

_STRING_MESSAGES = ("f-string", "unterminated", "invalid syntax", "EOL while")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_CLOSERS = " \t)]},:"
_SIGNS = re.compile(r"[=+%()\[\]{},:]")  # in a string without an end they may be code
_WINDOWS_PATH = re.compile(r"[\"'][A-Za-z]:\\[^\"']*[^\"'\\][\"']\Z")
_ESCAPES = {"n": "chr(10)", "t": "chr(9)"}
_FSTRING_ESCAPE = re.compile(r"'\\([nt])'|\"\\([nt])\"")
_FSTRING = re.compile(r"(?i)[rbut]*f[rbut]*(['\"])")
_PROSE_LINE = re.compile(r"[^=()\[\]{}#:]*+\Z")


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


def close_triple_string(source: ProgramSource, failure: Failure) -> str:
    """Close a string in triple quotes at the end of the program if only prose follows."""
    is_unclosed = "unterminated triple-quoted" in failure.message and source.tokens
    last = source.tokens[-1] if is_unclosed else None
    if last is None or last.kind != "string" or last.is_closed or last.text[-1] in "\"'\\":
        return source.code
    text = last.text.rstrip()
    lines = text.split("\n")
    if len(lines) < 2 or not all(_PROSE_LINE.match(line) for line in lines):
        return source.code
    end = last.start + len(text)
    return source.apply([Edit(end, end, text.lstrip("rRbBuUfFtT")[:3])])


@of_statement
def make_raw(_: ProgramSource, failure: Failure, statement: SourceStatement) -> Iterator[Edit]:
    """Make a string with a path of Windows a raw string."""
    for token in statement.tokens:
        if "unicodeescape" in failure.message and _WINDOWS_PATH.match(token.text):
            yield Edit(token.start, token.start, "r")


def replace_fractions(source: ProgramSource, failure: Failure) -> str:
    """Replace a fraction of one character: `¾` by `(3/4)` and `1½` by `(1 + 1/2)`."""
    if "invalid character" not in failure.message:
        return source.code
    edits = []
    for match in re.finditer(r"(?<!\d)(\d*+)([^\x00-\x7f])", source.masked):
        fraction = unicodedata.normalize("NFKC", match[2])
        if re.fullmatch(r"\d+\u2044\d+", fraction):
            quotient = fraction.replace("\u2044", "/")
            text = f"({match[1]} + {quotient})" if match[1] else f"({quotient})"
            edits.append(Edit(match.start(), match.end(), text))
        # A low quotation mark that is written like a comma.
        elif match[2] == "\u201a" and re.match(r"\w\S\s", source.code[match.end(2) - 2 :]):
            edits.append(Edit(match.start(2), match.end(2), ","))
    return source.apply(edits)


RULES = (
    ("keyword", fix_keyword),
    ("keyword", rename_keyword),
    ("operator", replace_operators),
    ("declaration", remove_declarations),
    ("loop", complete_for),
    ("import", fix_import),
    ("colon", add_colons),
    ("colon", replace_walrus),
    ("colon", fix_pairs),
    ("semicolon", replace_semicolons),
    ("parameters", add_parentheses),
    ("parameters", order_parameters),
    ("parentheses", parenthesize_target),
    ("parentheses", parenthesize_generator),
    ("parentheses", parenthesize_exceptions),
    ("dot", fix_dots),
    ("number", fix_number),
    ("number", replace_fractions),
    ("string", close_string),
    ("string", close_triple_string),
    ("string", make_raw),
    ("f-string", replace_escapes),
    ("declaration", move_declaration),
    ("import", move_future_import),
)
# After the clauses that `layout` moves.
LATE_RULES = (
    ("comparison", fix_comparison),
    ("assignment", fix_assignment),
    ("operator", join_operators),
    ("brackets", fix_call_brackets),
    ("comma", add_commas),
    ("brackets", close_brackets),
    ("brackets", remove_surplus_bracket),
    ("f-string", fix_fstring_quotes),
)
