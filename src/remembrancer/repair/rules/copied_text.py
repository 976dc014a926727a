"""Remove what is copied along with a program from a conversation, a prompt or a listing.

Lines that are not code become comments.
"""

from __future__ import annotations

import itertools
import re

from .proposal import Failure
from .source import Edit, ProgramSource, common_prefix_length, indent_of

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([^\s`{]*)[^`\r\n]*[\r\n]*\Z")
_PYTHON = frozenset(
    {"python", "py", "python3", "py3", "python2", "ipython", "pycon", "ipython3", "pyth", "gyp"}
)
_PROMPT = re.compile(r"[ \t]*(?:>>>|In \[\d*\]:)(?: |(?=[\r\n]|\Z))")
_CONTINUATION = re.compile(r"[ \t]*(?:\.\.\.:?)(?: |(?=[\r\n]|\Z))")
_NUMBER = re.compile(r"([ \t]*(?:\[?\d{1,9}\]?))([ \t]*[:.|)][ \t]?|[ \t]+|(?=[\r\n]|\Z))")
_CODE = re.compile(
    r"[=\[\]{}\\@#\"]|\w\("
    r"|^(?:def|class|import|from|for|while|if|elif|return|print|try|with|raise|assert|pass|del|global)\b"
)
_QUOTED = re.compile(r"(?<!\w)'|'(?!\w)")  # a quote other than an apostrophe
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
_LIKE_CODE = re.compile(
    r"[ \t]*+(?:(?:def|class|async|with|while|elif|if)\b[^\r\n]*:\s*$"
    r"|for [^\r\n]*? in\b|from [\w.]++ import\b"
    r"|import [\w.]++(?: as \w+)?\s*(?:$|[,#;])|@\w"
    r"|(?:return|raise|assert|del|global|yield)\b *+[\w(\"'\[{-]|print\b *+[\w(\"'>]"
    r"|(?:else|try|finally) *+:|[\w.]++(?:\[[^\]\r\n]*+\])?+ *+[-+*/%]?=[^=]"
    r"|[\w.]++\([^\r\n]*\)\s*$)"
)
_DEFINITION = re.compile(
    r"[ \t]*+(?:(?:def|class|async|with|while)\b[^\r\n]*:\s*$"
    r"|from [\w.]++ import\b|import [\w.]++\s*$|@\w+\s*$)"
)
_MAGIC = re.compile(
    r"%%?(?:matplotlib|time|load_ext|autoreload|reload_ext|config|pip|conda|pylab|capture|writefile)\b"
    r"|!(?:pip|conda|apt)"
)
_PROSE_LINES_MAX = 40  # of prose before the program, and of prose after it


def strip_fences(source: ProgramSource) -> str:
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
    if any(
        number not in inside and not fence and _LIKE_CODE.match(line)
        for number, (fence, line) in enumerate(zip(fences, source.lines, strict=True))
    ):
        return source.code  # the fences belong to a string or a comment of the program
    result = []
    for number, (fence, line) in enumerate(zip(fences, source.lines, strict=True)):
        if number in inside:
            result.append(line)
        elif not fence:
            result.append(_comment(line))
    return "".join(result)


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


def strip_prompts(source: ProgramSource) -> str:
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


def strip_line_numbers(source: ProgramSource) -> str:
    """Remove line numbers if every non-blank line has one and they are consecutive.

    A single line must have the number 1.
    """
    matches = [_NUMBER.match(line) if line.strip() else None for line in source.lines]
    line_numbers = [
        int(match[1].strip(" \t[]"))
        for match, line in zip(matches, source.lines, strict=True)
        if match and line.strip()
    ]
    if (len(line_numbers) < 2 and line_numbers != [1]) or len(line_numbers) != sum(
        bool(line.strip()) for line in source.lines
    ):
        return source.code
    if any(after - before != 1 for before, after in itertools.pairwise(line_numbers)):
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


def comment_out_prose(source: ProgramSource) -> str:
    """Turn sentences before and after the program into comments.

    The search stops at the first line that may be code.
    """
    lines = source.lines
    first = _prose_line_count(lines)
    last = len(lines) - _prose_line_count(lines[first:][::-1])
    if first == 0 and last == len(lines):
        return source.code
    return "".join(
        line if first <= number < last else _comment(line) for number, line in enumerate(lines)
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
    return "".join(
        _comment(line) if number == at else line for number, line in enumerate(source.lines)
    )


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


def dedent(source: ProgramSource) -> str:
    """Remove the common leading whitespace of all lines."""
    return _dedent_lines(source.lines)


def _dedent_lines(lines: list[str]) -> str:
    margins = [indent_of(line) for line in lines if line.strip()]
    first, last = min(margins, default=""), max(margins, default="")
    margin = first[: common_prefix_length(first, last)]
    return "".join(line.removeprefix(margin) for line in lines)


def comment_out_magics(source: ProgramSource) -> str:
    """Turn notebook commands that install, time or configure into comments."""
    starts = {statement.tokens[0].start for statement in source.statements}
    edits = (Edit(start, start, "# ") for start in starts if _MAGIC.match(source.code, start))
    return source.apply(edits)


def _comment(line: str) -> str:
    """Return the line as a comment; blank lines and comments stay unchanged."""
    text = line.lstrip(" \t")
    return line if not text.strip() or text.startswith("#") else f"# {text}"
