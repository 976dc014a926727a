"""A program as the rules read it: tokens, statements, names, its failure and a proposal.

Accepts any text and takes linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, wraps
from typing import NamedTuple, TypeAlias

OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(OPENERS.values())
BLOCK_KEYWORDS = frozenset({"if", "elif", "while", "def", "class", "with", "except", "for"})
LONE_KEYWORDS = frozenset({"else", "try", "finally"})  # headers of one keyword
HEADERS = BLOCK_KEYWORDS | LONE_KEYWORDS | {"async"}
_LEAVING = frozenset({"return", "raise", "del", "pass", "break", "continue", "import"})
# Tokens before a name that is bound: in any statement, and in a list of these statements.
_BINDING = frozenset({"def", "class", "as", "for", "global", "nonlocal", "*", "**"})
_LISTING = frozenset({"import", "from", "for", "def", "async"})
_BEFORE_LISTED = frozenset({"import", ",", "(", "for", "lambda"})
# Keywords that never begin a line within brackets: if one does, an earlier bracket is unclosed.
_NEVER_INSIDE = (HEADERS | _LEAVING) - {"if", "else", "for", "async"}
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\f]++|\\(?:\r\n|\r|\n))
  | (?P<newline>\r\n|\r|\n)
  | (?P<comment>\#[^\r\n]*+)
  | (?P<triple>(?:[rRbBuUfFtT]{1,3})?(?:\"{3}|'{3}))
  | (?P<string>(?:[rRbBuUfFtT]{1,3})?
      (?:\"(?:[^\"\\\r\n]|\\(?:\r\n|.|\Z))*+\"?|'(?:[^'\\\r\n]|\\(?:\r\n|.|\Z))*+'?))
  | (?P<name>[^\W\d]\w*+)
  | (?P<number>\.?\d(?:[eE][+-]?\d|[\w.])*+)
  | (?P<op>\*\*=?|//=?|>>=?|<<=?|<>|[-+*/%&|^@=<>!:]=|->|\.\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_TRIPLE_ENDS = {
    '"': re.compile(r'(?:[^"\\]|\\.|"(?!""))*+(?:"""|\Z|\\\Z)', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]|\\.|'(?!''))*+(?:'''|\Z|\\\Z)", re.DOTALL),
}


class Failure(NamedTuple):
    """The error of a program; `line` counts the program's lines from 1."""

    type: str
    message: str
    line: int | None
    traceback: str

    @property
    def is_syntax_error(self) -> bool:
        """Return True if the program itself has a syntax error, not some text that it compiled."""
        is_syntax_type = self.type in ("SyntaxError", "IndentationError", "TabError")
        return is_syntax_type and not self.traceback.startswith("Traceback")


class Proposal(NamedTuple):
    """A changed program. `name` describes the change in a word or two."""

    name: str
    code: str


class Trial(NamedTuple):
    """The outcome of running a proposal.

    `failure` is None if the program succeeded, or if it was stopped: then no rule can help.
    """

    is_success: bool
    failure: Failure | None


class Token(NamedTuple):
    """One token; `start` is its position in the text, and `line` counts from 1.

    `kind` is space, newline, comment, string, name, number or op. An unclosed string extends to the
    end of its line, or of the program if it has triple quotes; see `is_closed`.
    """

    kind: str
    text: str
    start: int
    line: int

    @property
    def end(self) -> int:
        """Return the position after the token."""
        return self.start + len(self.text)

    @property
    def is_closed(self) -> bool:
        """Return True if a string has its closing quotes."""
        body = self.text.lstrip("rRbBuUfFtT")
        quote = body[:3] if body[:3] in ('"""', "'''") else body[:1]
        return len(body) >= 2 * len(quote) and body.endswith(quote) and not _ends_with_escape(body)


class Tokens(list[Token]):
    """The tokens of one statement. Brackets are matched in one pass, however deep they nest."""

    @cached_property
    def openers(self) -> list[int | None]:
        """Return for each token the index of the bracket around it, or None. See `pairs`."""
        return self._brackets[1]

    @cached_property
    def pairs(self) -> dict[int, int]:
        """Map the index of each matched bracket to the index of its partner."""
        return self._brackets[0]

    @cached_property
    def lists(self) -> set[int | None]:
        """Return the indices of the opening brackets with a comma directly inside."""
        pairs = zip(self, self.openers, strict=True)
        return {opener for token, opener in pairs if token.text == ","}

    @cached_property
    def _brackets(self) -> tuple[dict[int, int], list[int | None]]:
        pairs: dict[int, int] = {}
        openers: list[int | None] = []
        open_: list[int] = []
        for index, token in enumerate(self):
            if token.text in CLOSERS and open_:
                opening = open_.pop()
                if OPENERS[self[opening].text] == token.text:
                    pairs[opening], pairs[index] = index, opening
            openers.append(open_[-1] if open_ else None)
            if token.text in OPENERS:
                open_.append(index)
        return pairs, openers

    def words(self, start: int = 0, end: int | None = None) -> list[str]:
        """Return the texts of the tokens from `start` to `end`."""
        return [token.text for token in self[start:end]]


class SourceStatement(NamedTuple):
    """A logical line: at least one token, without spaces and comments, and its indentation."""

    tokens: Tokens
    indent: str

    @property
    def line(self) -> int:
        """Return the number of its first line."""
        return self.tokens[0].line

    @property
    def is_header(self) -> bool:
        """Return True if it opens a block that begins on the next line."""
        return self.tokens[-1].text == ":"


class Edit(NamedTuple):
    """The replacement of the text from `start` to `end`."""

    start: int
    end: int
    text: str


def over(first: Token, last: Token, text: str) -> Edit:
    """Return the edit that replaces the tokens from `first` to `last`."""
    return Edit(first.start, last.end, text)


class ProgramSource:
    """A program's text with its tokens, lines and statements."""

    def __init__(self, code: str) -> None:
        self.code = code

    @cached_property
    def tokens(self) -> list[Token]:
        """Return the tokens of the whole text, spaces and comments included."""
        return list(_tokenize(self.code))

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines as the interpreter counts them, with their ends."""
        return split_lines(self.code)

    @cached_property
    def statements(self) -> list[SourceStatement]:
        """Return the logical lines.

        An unclosed bracket ends at a line that begins with a keyword of `_NEVER_INSIDE`.
        """
        return list(_statements(self.tokens))

    @cached_property
    def names(self) -> set[str]:
        """Return all names, attributes and keywords included."""
        return {token.text for token in self.tokens if token.kind == "name"}

    def statement_at(self, line: int) -> SourceStatement | None:
        """Return the statement that contains this line, or None."""
        candidate = None
        for statement in self.statements:
            if statement.line > line:
                break
            candidate = statement
        if candidate is None:
            return None
        last = candidate.tokens[-1]
        return candidate if line <= last.line + last.text.count("\n") else None

    def apply(self, edits: Iterable[Edit]) -> str:
        """Return the text with these edits, which must not overlap.

        Insertions at the same position keep their order.
        """
        parts, at = [], 0
        for edit in sorted(edits, key=lambda edit: edit[:2]):
            parts += [self.code[at : edit.start], edit.text]
            at = edit.end
        return "".join([*parts, self.code[at:]])


def split_lines(code: str) -> list[str]:
    """Return the lines as the interpreter counts them, with their ends.

    Unlike `str.splitlines`, does not split at form feeds and Unicode separators.
    """
    return [line for line in _LINE.findall(code) if line]


def indent_of(line: str) -> str:
    """Return the leading whitespace of a line."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of leading items that are equal in both sequences."""
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


StatementRule: TypeAlias = Callable[[ProgramSource, Failure, SourceStatement], Iterable[Edit]]


def of_statement(rule: StatementRule) -> Callable[[ProgramSource, Failure], str]:
    """Return a rule that applies these edits to the program. Without a failing statement: none."""

    @wraps(rule)
    def apply(source: ProgramSource, failure: Failure) -> str:
        statement = source.statement_at(failure.line or 0)
        return source.code if statement is None else source.apply(rule(source, failure, statement))

    return apply


def _tokenize(code: str) -> Iterator[Token]:
    at, line = 0, 1
    while at < len(code):
        match = _TOKEN.match(code, at)
        assert match
        assert match.lastgroup  # every character begins some token
        kind, end = match.lastgroup, match.end()
        if kind == "triple":
            closing = _TRIPLE_ENDS[code[end - 1]].match(code, end)
            kind, end = "string", closing.end() if closing else len(code)
        text = code[at:end]
        yield Token(kind, text, at, line)
        at = end
        if kind in ("newline", "string", "space"):
            line += text.count("\n") + text.count("\r") - text.count("\r\n")


def _ends_with_escape(body: str) -> bool:
    """Return True if an odd number of backslashes precedes the last character."""
    return (len(body) - 1 - len(body[:-1].rstrip("\\"))) % 2 == 1


def _statements(tokens: list[Token]) -> Iterator[SourceStatement]:
    tokens_of_statement = Tokens()
    indent = margin = ""  # of the statement, of the physical line
    depth, at_line_start = 0, True
    for token in tokens:
        if token.kind == "newline":
            if tokens_of_statement and depth == 0:
                yield SourceStatement(tokens_of_statement, indent)
                tokens_of_statement = Tokens()
            margin, at_line_start = "", True
            continue
        if token.kind == "comment":
            continue
        if token.kind == "space":
            margin = token.text if at_line_start and token.text[0] != "\\" else margin
            continue
        if (
            at_line_start
            and tokens_of_statement
            and token.kind == "name"
            and token.text in _NEVER_INSIDE
        ):
            yield SourceStatement(tokens_of_statement, indent)
            tokens_of_statement, depth = Tokens(), 0
        indent = indent if tokens_of_statement else margin
        at_line_start = False
        tokens_of_statement.append(token)
        if token.text in OPENERS:
            depth += 1
        elif token.text in CLOSERS:
            depth = max(0, depth - 1)
    if tokens_of_statement:
        yield SourceStatement(tokens_of_statement, indent)


def bound_names(source: ProgramSource) -> set[str]:
    """Return the names that the program binds."""
    bindings: set[str] = set()
    for statement in source.statements:
        tokens = statement.tokens
        first = tokens[0].text
        for at, token in enumerate(tokens):
            if token.kind != "name":
                continue
            before = tokens[at - 1].text if at else ""
            after = tokens[at + 1].text if at + 1 < len(tokens) else ""
            is_assigned = after in (":=", ":") or (
                after.endswith("=") and after not in ("==", "!=", "<=", ">=")
            )
            is_listed = first in _LISTING and before in _BEFORE_LISTED
            if is_listed or before in _BINDING or (is_assigned and before != "."):
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
        if not is_docstring and statement.tokens.words(0, 2) != ["from", "__future__"]:
            break
        at = source.code.find("\n", statement.tokens[-1].end) + 1 or len(source.code)
    lead = "\n" if at and source.code[at - 1] != "\n" else ""
    return source.apply([Edit(at, at, lead + "".join(lines))])


def is_slip(wrong: str, right: str) -> bool:
    """Return True if the words differ by one letter more, less or other, or by two exchanged."""
    a, b = differing_ends(wrong, right)
    return a[1:] == b[1:] or a == b[1:] or a[1:] == b or (a[:2] == b[:2][::-1] and a[2:] == b[2:])


def differing_ends(one: str, other: str) -> tuple[str, str]:
    """Return what follows the common beginning of both words."""
    at = common_prefix_length(one, other)
    return one[at:], other[at:]
