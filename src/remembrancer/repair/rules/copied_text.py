"""Remove or replace what copying a program from a conversation, a web page or a listing leaves.

Lines that are not code become comments. Characters in strings and comments stay."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator

from ...protocol.patterns import regex
from .source import (
    Edit,
    Failure,
    ProgramSource,
    Token,
    common_prefix_length,
    indent_of,
)

_FENCE = regex(r"[ \t>]*(`{3,}|~{3,})[ \t]*([^\s`{]*)[^`\r\n]*[\r\n]*\Z")
_PYTHON = frozenset(
    {"python", "py", "python3", "py3", "ipython", "pycon", "ipython3", "pyth", "gyp"}
)
_PROMPT = regex(r"[ \t]*(?:>>>|In \[\d*\]:)(?: |(?=[\r\n]|\Z))")
_CONTINUATION = regex(r"[ \t]*(?:\.\.\.:?)(?: |(?=[\r\n]|\Z))")
_NUMBER = regex(r"([ \t]*(?:\[?\d{1,9}\]?))([ \t]*[:.|)][ \t]?|[ \t]+|(?=[\r\n]|\Z))")
_CODE = regex(
    r"[=\[\]{}\\@#\"]|\w\("
    r"|^(?:def|class|import|from|for|while|if|elif|return|print|try|with|raise|assert|pass|del|global)\b"
)
_QUOTED = regex(r"(?<!\w)'|'(?!\w)")  # a quote other than an apostrophe
_BUTTONS = frozenset(
    {
        "python",
        "python3",
        "py",
        "copy",
        "copy code",
        "copied",
        "copied!",
        "edit",
        "copy edit",
        "run",
        "main.py",
        "code",
    }
)
# Unambiguous code: a statement that begins with a keyword, an assignment, a call that is the whole
# line.
_LIKE_CODE = regex(
    r"[ \t]*+(?:(?:def|class|async|with|while|elif|if)\b[^\r\n]*:\s*$"
    r"|for [^\r\n]*? in\b|from [\w.]++ import\b"
    r"|import [\w.]++(?: as \w+)?\s*(?:$|[,#;])|@\w"
    r"|(?:return|raise|assert|del|global|yield)\b *+[\w(\"'\[{-]|print\b *+[\w(\"'>]"
    r"|(?:else|try|finally) *+:|[\w.]++(?:\[[^\]\r\n]*+\])?+ *+[-+*/%]?=[^=]"
    r"|[\w.]++\([^\r\n]*\)\s*$)"
)
_DEFINITION = regex(
    r"[ \t]*+(?:(?:def|class|async|with|while)\b[^\r\n]*:\s*$"
    r"|from [\w.]++ import\b|import [\w.]++\s*$|@\w+\s*$)"
)
_MAGIC = regex(
    r"%%?(?:matplotlib|time|load_ext|autoreload|reload_ext|config|pip|conda|pylab|capture|writefile)\b"
    r"|!(?:pip|conda|apt)"
)
_PROSE_LINES_MAX = 40  # of prose before the program, and of prose after it
# Invisible characters: byte order mark, zero-width characters, direction marks, soft hyphen.
_INVISIBLE = regex(
    "[\\u00ad\\u034f\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u2069"
    "\\ufe00-\\ufe0f\\ufeff]"
)
# Control characters and all spaces that Python does not accept.
_SPACES = regex(
    "[\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f\\x85\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]"
)
_BREAKS = regex("[\\u2028\\u2029]")
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
_QUOTE = regex(f"[{_DOUBLE}{_SINGLE}]")
_ENTITY = regex("&(?:lt|gt|amp|quot|nbsp|apos|#39|#x27|#34);")
_PLAIN = regex(rf"[^\"'#{_DOUBLE}{_SINGLE}]++|#[^\r\n]*+")
_TRIPLE = regex(
    r"\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*+(?:\"{3}|\Z|\\\Z)"
    r"|'{3}(?:[^'\\]|\\.|'(?!''))*+(?:'{3}|\Z|\\\Z)"
    rf"|[{_DOUBLE}]{{3}}(?P<double>(?:(?![\"{_DOUBLE}]{{3}}).)*+)(?:[\"{_DOUBLE}]{{3}}|\Z)"
    rf"|[{_SINGLE}]{{3}}(?P<single>(?:(?!['{_SINGLE}]{{3}}).)*+)(?:['{_SINGLE}]{{3}}|\Z)",
    re.DOTALL,
)
_STRAIGHT_STRING = {
    '"': regex(r"\"(?:[^\"\\\r\n]|\\(?:\r\n|.))*+(\"?)", re.DOTALL),
    "'": regex(r"'(?:[^'\\\r\n]|\\(?:\r\n|.))*+('?)", re.DOTALL),
}
_PAIRED = regex("[\u201c\u201e]([^\u201c\u201d\r\n]*+)\u201d|\u00ab([^\u00ab\u00bb\r\n]*+)\u00bb")
_ENDS = {
    '"': regex(rf"((?:[^\"{_DOUBLE}\\\r\n]|\\.)*+)([\"{_DOUBLE}]?)", re.DOTALL),
    "'": regex(rf"((?:[^'{_SINGLE}\\\r\n]|\\.|['{_SINGLE}](?=\w))*+)(['{_SINGLE}]?)", re.DOTALL),
}


def strip_fences(source: ProgramSource, _: Failure) -> str:
    """Keep the fenced blocks of Python; blocks of other languages and prose become comments.

    If any block is marked as Python, unmarked blocks count as other languages.
    """
    fences = [_FENCE.match(line) for line in source.lines]
    if not any(fences):
        return source.code
    blocks = _blocks(fences)
    is_marked = any(word.lower() in _PYTHON for _, _, word in blocks)
    inside = {
        number
        for first, last, word in blocks
        if word.lower() in _PYTHON or (not is_marked and not word)
        for number in range(first, last)
    } or {number for first, last, _ in blocks for number in range(first, last)}
    if not blocks:  # a single fence: the program may be before it
        return "".join(
            "" if fence else line for fence, line in zip(fences, source.lines, strict=True)
        )
    shown = {number for number, fence in enumerate(fences) if number in inside or not fence}
    if any(_LIKE_CODE.match(source.lines[number]) for number in shown - inside):
        return source.code  # the fences belong to a string or a comment of the program
    return "".join(
        line if number in inside else _comment(line)
        for number, line in enumerate(source.lines)
        if number in shown
    )


def _blocks(fences: list[re.Match[str] | None]) -> list[tuple[int, int, str]]:
    """Return the first line, the line after the last, and the language of each block.

    An unclosed block extends to the end; a lone last fence opens none.
    """
    blocks: list[tuple[int, int, str]] = []
    open_block: tuple[int, str, str] | None = None
    for number, fence in enumerate(fences):
        if fence is None:
            continue
        if open_block is None:
            open_block = (number + 1, fence[1], fence[2])
        elif (
            fence[1][0] == open_block[1][0] and len(fence[1]) >= len(open_block[1]) and not fence[2]
        ):
            blocks.append((open_block[0], number, open_block[2]))
            open_block = None
    if (
        open_block
        and open_block[1][0] == "`"
        and open_block[0] < len(fences)
        and (open_block[2] or open_block[0] * 2 < len(fences))
    ):
        blocks.append((open_block[0], len(fences), open_block[2]))
    return blocks


def strip_prompts(source: ProgramSource, _: Failure) -> str:
    """Remove the prompts of an interpreter (`>>>`, `In [1]:`); its output becomes comments.

    Applies only if the first line other than blank lines and comments has a prompt: prompts further
    down may be the text of a docstring.
    """
    first = next(
        (line for line in source.lines if line.strip() and not line.lstrip().startswith("#")), ""
    )
    if not _PROMPT.match(first):
        return source.code
    result, is_input, in_output = [], False, False
    for line in source.lines:
        match = _PROMPT.match(line) or (_CONTINUATION.match(line) if is_input else None)
        is_input = match is not None
        in_output = bool(line.strip()) and (is_input or in_output)
        if not is_input and (_DEFINITION if in_output else _LIKE_CODE).match(line):
            return source.code  # a part of the program has no prompts
        result.append(line[match.end() :] if match else _comment(line))
    return "".join(result)


def strip_line_numbers(source: ProgramSource, _: Failure) -> str:
    """Remove line numbers if every non-blank line has one and they are consecutive.

    A single line must have the number 1.
    """
    matches = [_NUMBER.match(line) if line.strip() else None for line in source.lines]
    numbers = [int(match[1].strip(" \t[]")) for match in matches if match]
    if len(numbers) < sum(bool(line.strip()) for line in source.lines) or (
        len(numbers) < 2 and numbers != [1]
    ):
        return source.code
    if any(after - before != 1 for before, after in itertools.pairwise(numbers)):
        return source.code
    rests = [
        line[len(match[1]) :] if match else line
        for match, line in zip(matches, source.lines, strict=True)
    ]
    for mark in (r"[ \t]*[:.|)] ?", r"[ \t]"):
        pattern = re.compile(mark)
        separators = [pattern.match(rest) for rest in rests]
        pairs = list(zip(separators, rests, strict=True))
        if all(separator or not rest.strip() for separator, rest in pairs):
            rests = [rest[separator.end() :] if separator else rest for separator, rest in pairs]
            break
    return _dedent_lines(rests)


def strip_lone_prompts(source: ProgramSource, failure: Failure) -> str:
    """Remove the prompts of a program that has other lines too, and no output between them."""
    line_number = failure.line or 0
    failing = source.lines[line_number - 1 : line_number]
    if not failing or not failing[0].startswith((">>> ", "... ")):
        return source.code
    prompts = {
        token.line
        for token in source.tokens
        if token.kind != "space" and token.text in (">>", "...")
    }
    return "".join(
        line[4:] if number in prompts and line.startswith((">>> ", "... ")) else line
        for number, line in enumerate(source.lines, 1)
    )


def comment_out_prose(source: ProgramSource, _: Failure) -> str:
    """Turn sentences before and after the program into comments.

    The search stops at the first line that may be code.
    """
    lines = source.lines
    first = _prose_line_count(lines)
    last = len(lines) - _prose_line_count(lines[first:][::-1])
    return "".join(
        [*map(_comment, lines[:first]), *lines[first:last], *map(_comment, lines[last:])]
    )


def comment_out_button(source: ProgramSource, failure: Failure) -> str:
    """Turn the label of a button above the program (`python`, `Copy`) into a comment.

    Python reads it as an undefined name.
    """
    at = next((at for at, line in enumerate(source.lines) if line.strip()), 0)
    if (
        failure.type != "NameError"
        or failure.line != at + 1
        or source.lines[at].strip().lower() not in _BUTTONS
    ):
        return source.code
    return "".join([*source.lines[:at], _comment(source.lines[at]), *source.lines[at + 1 :]])


def _prose_line_count(lines: list[str]) -> int:
    """Return the number of lines up to the last one of the leading prose."""
    count = 0
    for number, line in enumerate(lines[:_PROSE_LINES_MAX]):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not _is_prose(line):
            break
        count = number + 1
    return count


def _is_prose(line: str) -> bool:
    text = line.strip()
    if text.lower() in _BUTTONS:
        return True
    words = re.findall(r"[^\W\d_][\w'\u2019-]*", text.lstrip("-*0123456789. "))
    if (
        min(len(words), len(text.split())) < 3
        or _CODE.search(text.replace("`", "").replace("()", ""))
        or _QUOTED.search(text)
    ):
        return False
    return text[-1] in ".:!?" and not any(symbol in text for symbol in ("==", "+=", "->", ";"))


def dedent(source: ProgramSource, _: Failure) -> str:
    """Remove the common leading whitespace of all lines."""
    return _dedent_lines(source.lines)


def _dedent_lines(lines: list[str]) -> str:
    margins = [indent_of(line) for line in lines if line.strip()]
    first, last = min(margins, default=""), max(margins, default="")
    margin = first[: common_prefix_length(first, last)]
    return "".join(line.removeprefix(margin) for line in lines)


def comment_out_magics(source: ProgramSource, _: Failure) -> str:
    """Turn notebook commands that install, time or configure into comments."""
    starts = {statement.tokens[0].start for statement in source.statements}
    edits = (Edit(start, start, "# ") for start in starts if _MAGIC.match(source.code, start))
    return source.apply(edits)


def _comment(line: str) -> str:
    """Return the line as a comment; blank lines and comments stay unchanged."""
    text = line.lstrip(" \t")
    return line if not text.strip() or text.startswith("#") else f"# {text}"


def remove_invisible(source: ProgramSource, _: Failure) -> str:
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


def replace_lookalikes(source: ProgramSource, _: Failure) -> str:
    """Replace look-alikes of Python's operators: full-width characters, dashes, math symbols."""
    edits = (
        Edit(token.start, token.end, "".join(_LOOKALIKES.get(c, c) for c in token.text))
        for token in source.tokens
        if _is_outside(token) and not token.text.isascii()
    )
    return source.apply(edits)


def unescape_entities(source: ProgramSource, _: Failure) -> str:
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
            character = html.unescape(match[0]).replace("\u00a0", " ")
            edits.append(Edit(match.start(), match.end(), character))
    return source.apply(edits)


def unescape_entity_names(source: ProgramSource, failure: Failure) -> str:
    """Replace character references that Python reads as names: `a &lt; b` parses as `a & lt`."""
    return (
        unescape_entities(source, failure)
        if any(f"'{name}'" in failure.message for name in ("lt", "gt", "amp", "quot"))
        else source.code
    )


def straighten_quotes(source: ProgramSource, _: Failure) -> str:
    """Replace curved quotes that begin or end a string.

    Curved quotes inside a string stay, and so do apostrophes.
    """
    if not _QUOTE.search(source.code):
        return source.code
    return "".join(_straighten(source.code))


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


RULES = (
    ("fences", strip_fences),
    ("prompts", strip_prompts),
    ("line numbers", strip_line_numbers),
    ("invisible characters", remove_invisible),
    ("quotes", straighten_quotes),
    ("look-alike signs", replace_lookalikes),
    ("web page", unescape_entities),
    ("notebook", comment_out_magics),
    ("chat text", comment_out_prose),
    ("dedent", dedent),
)
# For programs that can be parsed.
RUN_TIME_RULES = (("chat text", comment_out_button), ("web page", unescape_entity_names))
