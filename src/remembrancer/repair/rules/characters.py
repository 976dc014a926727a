"""Characters that word processors, web pages and input methods put in the place of the language's.

In strings and comments they stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .proposal import Failure
from .source import Edit, ProgramSource, Token

# Characters that nobody sees: byte order mark, zero-width spaces and joiners, marks of direction,
# soft hyphen.
_INVISIBLE = re.compile(
    "[\\u00ad\\u034f\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u2069\\ufe00-\\ufe0f\\ufeff]"
)
# Control characters, line separators of other systems and all spaces but the one of the language.
_SPACES = re.compile(
    "[\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f\\x85\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]"
)
_BREAKS = re.compile("[\\u2028\\u2029]")
_SIGNS = {
    **{
        chr(code): chr(code - 0xFEE0)
        for code in range(0xFF01, 0xFF5F)
        if chr(code) not in "\uff02\uff07"
    },  # full-width ASCII
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63", "-"),
    **dict(
        zip(
            "\u00d7\u2217\u22c5\u00f7\u2215\u2044\u3010\u3011\u3001\u3002\ufe50\ufe55",
            "***///[],.,:",
            strict=True,
        )
    ),
    **dict(zip("\u2264\u2265\u2260\u2254\u2026", ("<=", ">=", "!=", ":=", "..."), strict=True)),
}
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\uff02\u301d\u301e\u301f"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a\uff07\u00b4"
_STRAIGHT = {**dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_SINGLE, "'")}
_QUOTE = re.compile(f"[{_DOUBLE}{_SINGLE}]")
_ENTITIES = {
    "lt": "<",
    "gt": ">",
    "amp": "&",
    "quot": '"',
    "nbsp": " ",
    "apos": "'",
    "#39": "'",
    "#x27": "'",
    "#34": '"',
}
_ENTITY = re.compile(f"&({'|'.join(_ENTITIES)});")


def visible(source: ProgramSource) -> str:
    """Without the characters that nobody sees, and with spaces and line breaks that the language
    knows.
    """
    code = source.code.removeprefix("\ufeff")
    if not (_INVISIBLE.search(code) or _SPACES.search(code) or _BREAKS.search(code)):
        return code
    tokens = ProgramSource(code)
    return tokens.edited(
        Edit(token.start, token.end, _seen(token.text))
        for token in tokens.tokens
        if _is_outside(token)
    )


def _seen(text: str) -> str:
    return _BREAKS.sub("\n", _SPACES.sub(" ", _INVISIBLE.sub("", text)))


def _is_outside(token: Token) -> bool:
    """Whether it is neither a string nor a comment."""
    return token.kind not in ("string", "comment")


def signs(source: ProgramSource) -> str:
    """With the signs of the language for those that only look like them:

    full-width ones, long dashes, the signs of mathematics.
    """
    edits = (
        Edit(token.start, token.end, "".join(_SIGNS.get(c, c) for c in token.text))
        for token in source.tokens
        if _is_outside(token) and not token.text.isascii()
    )
    return source.edited(edits)


def entities(source: ProgramSource) -> str:
    """With the characters that a web page writes as `&lt;` and the like."""
    if not _ENTITY.search(source.code):
        return source.code
    spans = [
        (token.start, token.end)
        for token in source.tokens
        if not _is_outside(token) and (token.kind == "comment" or token.ends)
    ]
    edits, span = [], 0
    for match in _ENTITY.finditer(source.code):
        while span < len(spans) and spans[span][1] <= match.start():
            span += 1
        if span == len(spans) or spans[span][0] > match.start():
            edits.append(Edit(match.start(), match.end(), _ENTITIES[match[1]]))
    return source.edited(edits)


def entity_names(source: ProgramSource, failure: Failure) -> str:
    """The same where they read as names: `a &lt; b` is `a & lt`, and another statement."""
    return (
        entities(source)
        if any(f"'{name}'" in failure.message for name in ("lt", "gt", "amp", "quot"))
        else source.code
    )


def quotes(source: ProgramSource) -> str:
    """With straight quotes where a curved one begins or ends a string.

    Curved ones inside a string stay, and so does an apostrophe.
    """
    if not _QUOTE.search(source.code):
        return source.code
    return "".join(_straightened(source.code))


_PLAIN = re.compile(rf"[^\"'#{_DOUBLE}{_SINGLE}]++|#[^\r\n]*+")
_TRIPLE = re.compile(
    r"\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*+(?:\"{3}|\Z|\\\Z)|'{3}(?:[^'\\]|\\.|'(?!''))*+(?:'{3}|\Z|\\\Z)"
    rf"|[{_DOUBLE}]{{3}}(?P<double>(?:(?![\"{_DOUBLE}]{{3}}).)*+)(?:[\"{_DOUBLE}]{{3}}|\Z)"
    rf"|[{_SINGLE}]{{3}}(?P<single>(?:(?!['{_SINGLE}]{{3}}).)*+)(?:['{_SINGLE}]{{3}}|\Z)",
    re.DOTALL,
)
_STRAIGHT_STRING = {
    '"': re.compile(r"\"(?:[^\"\\\r\n]|\\(?:\r\n|.))*+(\"?)", re.DOTALL),
    "'": re.compile(r"'(?:[^'\\\r\n]|\\(?:\r\n|.))*+('?)", re.DOTALL),
}
_PAIRED = re.compile(
    "[\u201c\u201e]([^\u201c\u201d\r\n]*+)\u201d|\u00ab([^\u00ab\u00bb\r\n]*+)\u00bb"
)
_ENDS = {
    '"': re.compile(rf"((?:[^\"{_DOUBLE}\\\r\n]|\\.)*+)([\"{_DOUBLE}]?)", re.DOTALL),
    "'": re.compile(
        rf"((?:[^'{_SINGLE}\\\r\n]|\\.|['{_SINGLE}](?=\w))*+)(['{_SINGLE}]?)", re.DOTALL
    ),
}


def _straightened(code: str) -> Iterator[str]:
    """The text in pieces:

    code, comments and whole strings as they are, strings with a curved quote at an end with
    straight ones.
    """
    at, endless = (
        0,
        {'"': -1, "'": -1},
    )  # up to where no straight quote ends a string: it need not be looked for again
    while at < len(code):
        if found := _PLAIN.match(code, at):
            at = found.end()
            yield found[0]
            continue
        if found := _TRIPLE.match(code, at):
            at = found.end()
            yield _tripled(found)
            continue
        straight = _STRAIGHT.get(code[at], code[at])
        if (
            code[at] == straight
            and at >= endless[straight]
            and (found := _STRAIGHT_STRING[straight].match(code, at))
        ):
            if found[1]:
                at = found.end()
                yield found[0]
                continue
            endless[straight] = found.end()
        at, text = _one(code, at, straight)
        yield text


def _tripled(found: re.Match[str]) -> str:
    for name, quotes in (("double", '"""'), ("single", "'''")):
        if (held := found[name]) is not None:
            return f"{quotes}{held}{quotes}"
    return found[0]


def _one(code: str, at: int, straight: str) -> tuple[int, str]:
    """The string that begins at `at` and has a curved quote, with straight ones; where it ends."""
    if pair := _PAIRED.match(code, at):
        return pair.end(), _quoted(pair[1] or pair[2] or "", straight)
    found = _ENDS[straight].match(code, at + 1)
    if found is None or not found[2]:  # one quote alone: what it begins or ends is not known
        return (found.end() if found else at + 1), code[at : found.end() if found else at + 1]
    return found.end(), _quoted(found[1], straight)


def _quoted(inner: str, quote: str) -> str:
    """Within these quotes; the same ones inside are escaped, where they are not."""
    escaped = re.sub(
        rf"(\\.)|{quote}", lambda found: found[1] or f"\\{quote}", inner, flags=re.DOTALL
    )
    return f"{quote}{escaped}{quote}"
