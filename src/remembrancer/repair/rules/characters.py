"""Replace characters that word processors, web pages and input methods substitute for Python's.

Characters in strings and comments stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .proposal import Failure
from .source import Edit, ProgramSource, Token

# Invisible characters: byte order mark, zero-width characters, direction marks, soft hyphen.
_INVISIBLE = re.compile(
    "[\\u00ad\\u034f\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u2069"
    "\\ufe00-\\ufe0f\\ufeff]"
)
# Control characters and all spaces that Python does not accept.
_SPACES = re.compile(
    "[\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f\\x85\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]"
)
_BREAKS = re.compile("[\\u2028\\u2029]")
_LOOKALIKES = {
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


def remove_invisible(source: ProgramSource) -> str:
    """Remove invisible characters; replace spaces and line breaks that Python does not accept."""
    code = source.code.removeprefix("\ufeff")
    if not (_INVISIBLE.search(code) or _SPACES.search(code) or _BREAKS.search(code)):
        return code
    tokens = ProgramSource(code)
    return tokens.apply(
        Edit(token.start, token.end, _clean(token.text))
        for token in tokens.tokens
        if _is_outside(token)
    )


def _clean(text: str) -> str:
    return _BREAKS.sub("\n", _SPACES.sub(" ", _INVISIBLE.sub("", text)))


def _is_outside(token: Token) -> bool:
    """Return True if the token is neither a string nor a comment."""
    return token.kind not in ("string", "comment")


def replace_lookalikes(source: ProgramSource) -> str:
    """Replace look-alikes of Python's operators: full-width characters, dashes, math symbols."""
    edits = (
        Edit(token.start, token.end, "".join(_LOOKALIKES.get(c, c) for c in token.text))
        for token in source.tokens
        if _is_outside(token) and not token.text.isascii()
    )
    return source.apply(edits)


def unescape_entities(source: ProgramSource) -> str:
    """Replace the character references of web pages, such as `&lt;`."""
    if not _ENTITY.search(source.code):
        return source.code
    spans = [
        (token.start, token.end)
        for token in source.tokens
        if not _is_outside(token) and (token.kind == "comment" or token.is_closed)
    ]
    edits, span = [], 0
    for match in _ENTITY.finditer(source.code):
        while span < len(spans) and spans[span][1] <= match.start():
            span += 1
        if span == len(spans) or spans[span][0] > match.start():
            edits.append(Edit(match.start(), match.end(), _ENTITIES[match[1]]))
    return source.apply(edits)


def unescape_entity_names(source: ProgramSource, failure: Failure) -> str:
    """Replace character references that Python reads as names: `a &lt; b` parses as `a & lt`."""
    return (
        unescape_entities(source)
        if any(f"'{name}'" in failure.message for name in ("lt", "gt", "amp", "quot"))
        else source.code
    )


def straighten_quotes(source: ProgramSource) -> str:
    """Replace curved quotes that begin or end a string.

    Curved quotes inside a string stay, and so do apostrophes.
    """
    if not _QUOTE.search(source.code):
        return source.code
    return "".join(_straighten(source.code))


_PLAIN = re.compile(rf"[^\"'#{_DOUBLE}{_SINGLE}]++|#[^\r\n]*+")
_TRIPLE = re.compile(
    r"\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*+(?:\"{3}|\Z|\\\Z)"
    r"|'{3}(?:[^'\\]|\\.|'(?!''))*+(?:'{3}|\Z|\\\Z)"
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


def _straighten(code: str) -> Iterator[str]:
    """Yield the text in pieces, with straight quotes around strings that had a curved one."""
    at = 0
    # By quote: no string that begins before this position is closed by it, so do not search again.
    unclosed_until = {'"': -1, "'": -1}
    while at < len(code):
        if match := _PLAIN.match(code, at):
            at = match.end()
            yield match[0]
            continue
        if match := _TRIPLE.match(code, at):
            at = match.end()
            yield _straighten_triple(match)
            continue
        straight = _STRAIGHT.get(code[at], code[at])
        if (
            code[at] == straight
            and at >= unclosed_until[straight]
            and (match := _STRAIGHT_STRING[straight].match(code, at))
        ):
            if match[1]:
                at = match.end()
                yield match[0]
                continue
            unclosed_until[straight] = match.end()
        at, text = _straighten_string(code, at, straight)
        yield text


def _straighten_triple(match: re.Match[str]) -> str:
    for name, quotes in (("double", '"""'), ("single", "'''")):
        if (body := match[name]) is not None:
            return f"{quotes}{body}{quotes}"
    return match[0]


def _straighten_string(code: str, at: int, straight: str) -> tuple[int, str]:
    """Return the end of the string that begins at `at`, and the string with straight quotes."""
    if pair := _PAIRED.match(code, at):
        return pair.end(), _quote(pair[1] or pair[2] or "", straight)
    match = _ENDS[straight].match(code, at + 1)
    if match is None or not match[2]:  # a single quote: unknown whether it opens or closes
        end = match.end() if match else at + 1
        return end, code[at:end]
    return match.end(), _quote(match[1], straight)


def _quote(inner: str, quote: str) -> str:
    """Return the text within quotes, with unescaped quotes in it escaped."""
    escaped = re.sub(
        rf"(\\.)|{quote}", lambda match: match[1] or f"\\{quote}", inner, flags=re.DOTALL
    )
    return f"{quote}{escaped}{quote}"
