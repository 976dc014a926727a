"""A program's text as tokens, read so that no text is refused and each character is looked at a
bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(OPENERS.values())
HEADERS = frozenset(
    {
        "if",
        "elif",
        "else",
        "for",
        "while",
        "def",
        "class",
        "try",
        "except",
        "finally",
        "with",
        "async",
    }
)
# Words that begin a line but cannot stand at the beginning of one within brackets: an earlier
# bracket was left open.
_NEVER_INSIDE = frozenset(
    {
        "def",
        "class",
        "import",
        "return",
        "while",
        "try",
        "except",
        "finally",
        "raise",
        "del",
        "pass",
        "break",
        "continue",
        "elif",
        "with",
    }
)
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\f]++|\\(?:\r\n|\r|\n))
  | (?P<newline>\r\n|\r|\n)
  | (?P<comment>\#[^\r\n]*+)
  | (?P<triple>(?:[rRbBuUfFtT]{1,3})?(?:\"{3}|'{3}))
  | (?P<string>(?:[rRbBuUfFtT]{1,3})?(?:\"(?:[^\"\\\r\n]|\\(?:\r\n|.|\Z))*+\"?|'(?:[^'\\\r\n]|\\(?:\r\n|.|\Z))*+'?))
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


class Token(NamedTuple):
    """`kind` is space, newline, comment, string, name, number or op; `start` a place in the text;
    `line` counts from 1.

    A string that does not end has all the text up to the end of its line (of the program, with
    three quotes); `ends` tells.
    """

    kind: str
    text: str
    start: int
    line: int

    @property
    def end(self) -> int:
        """The place after it."""
        return self.start + len(self.text)

    @property
    def ends(self) -> bool:
        """Whether a string has its closing quotes."""
        body = self.text.lstrip("rRbBuUfFtT")
        quote = body[:3] if body[:3] in ('"""', "'''") else body[:1]
        return len(body) >= 2 * len(quote) and body.endswith(quote) and not _escaped(body)


class Tokens(list[Token]):
    """Tokens of one statement; who asks for the partners of its brackets has them in one pass,
    however deep they nest.
    """

    @cached_property
    def pairs(self) -> dict[int, int]:
        """From the index of each bracket to that of its partner, both ways; brackets that have none
        are left out.
        """
        return self._brackets[0]

    @cached_property
    def commas(self) -> dict[int, int]:
        """From the index of each opening bracket to the number of commas right inside it; those
        without any are left out.
        """
        return self._brackets[1]

    @cached_property
    def _brackets(self) -> tuple[dict[int, int], dict[int, int]]:
        pairs: dict[int, int] = {}
        commas: dict[int, int] = {}
        open_: list[int] = []
        for index, token in enumerate(self):
            if token.text in OPENERS:
                open_.append(index)
            elif token.text == "," and open_:
                commas[open_[-1]] = commas.get(open_[-1], 0) + 1
            elif token.text in CLOSERS and open_:
                opening = open_.pop()
                if OPENERS[self[opening].text] == token.text:
                    pairs[opening], pairs[index] = index, opening
        return pairs, commas


class SourceStatement(NamedTuple):
    """A logical line:

    its tokens without spaces and comments, never empty; `indent` is the white space before it.
    """

    tokens: Tokens
    indent: str

    @property
    def line(self) -> int:
        """Its first line."""
        return self.tokens[0].line

    @property
    def is_header(self) -> bool:
        """Whether it opens a block and has nothing of the block in it."""
        return self.tokens[-1].text == ":"


class Edit(NamedTuple):
    """Put `text` in the place of what stands from `start` to `end`."""

    start: int
    end: int
    text: str


class ProgramSource:
    """A program's text, and what can be told of it without parsing."""

    def __init__(self, code: str) -> None:
        self.code = code

    @cached_property
    def tokens(self) -> list[Token]:
        """All of the text, in order: their texts joined are the program."""
        return list(_read(self.code))

    @cached_property
    def lines(self) -> list[str]:
        """Lines as the interpreter counts them, each with its end."""
        return split_lines(self.code)

    @cached_property
    def statements(self) -> list[SourceStatement]:
        """Logical lines.

        A bracket that is never closed ends where a line begins with a word that no bracket can
        hold.
        """
        return list(_statements(self.tokens))

    @cached_property
    def names(self) -> set[str]:
        """All names in it, attributes and keywords included."""
        return {token.text for token in self.tokens if token.kind == "name"}

    def statement_at(self, line: int) -> SourceStatement | None:
        """The statement that holds this line."""
        found = None
        for statement in self.statements:
            if statement.line > line:
                break
            found = statement
        return (
            found
            if found and line <= found.tokens[-1].line + found.tokens[-1].text.count("\n")
            else None
        )

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text with these edits, which must not overlap; of insertions at one place the first
        comes first.
        """
        parts, at = [], 0
        for edit in sorted(edits, key=lambda one: one[:2]):
            parts += [self.code[at : edit.start], edit.text]
            at = edit.end
        return "".join([*parts, self.code[at:]])


def split_lines(code: str) -> list[str]:
    """Lines as the interpreter counts them (not at the form feeds and separators of
    `str.splitlines`), each with its end.
    """
    return [line for line in _LINE.findall(code) if line]


def indent_of(line: str) -> str:
    """The white space it begins with."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items from the first on are the same in both."""
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


def matching(tokens: list[Token], at: int) -> int | None:
    """The index of the partner of the bracket at `at`; None when it has none."""
    return (tokens if isinstance(tokens, Tokens) else Tokens(tokens)).pairs.get(at)


def _read(code: str) -> Iterator[Token]:
    at, line = 0, 1
    while at < len(code):
        match = _TOKEN.match(code, at)
        assert match
        assert match.lastgroup  # every character is the beginning of some token
        kind, end = match.lastgroup, match.end()
        if kind == "triple":
            closing = _TRIPLE_ENDS[code[end - 1]].match(code, end)
            kind, end = "string", closing.end() if closing else len(code)
        text = code[at:end]
        yield Token(kind, text, at, line)
        at, line = end, line + (_breaks(text) if kind in ("newline", "string", "space") else 0)


def _breaks(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _escaped(body: str) -> bool:
    """Whether the last character has an odd number of backslashes before it."""
    return (len(body) - 1 - len(body[:-1].rstrip("\\"))) % 2 == 1


def _statements(tokens: list[Token]) -> Iterator[SourceStatement]:
    found = Tokens()
    indent = margin = ""  # of the statement, of the physical line
    depth, fresh = 0, True  # fresh: nothing of this physical line was seen
    for token in tokens:
        if token.kind == "newline":
            if found and depth == 0:
                yield SourceStatement(found, indent)
                found = Tokens()
            margin, fresh = "", True
            continue
        if token.kind == "comment":
            continue
        if token.kind == "space":
            margin = token.text if fresh and token.text[0] != "\\" else margin
            continue
        if fresh and found and token.kind == "name" and token.text in _NEVER_INSIDE:
            yield SourceStatement(found, indent)
            found, depth = Tokens(), 0
        indent = indent if found else margin
        fresh = False
        found.append(token)
        if token.text in OPENERS:
            depth += 1
        elif token.text in CLOSERS:
            depth = max(0, depth - 1)
    if found:
        yield SourceStatement(found, indent)
