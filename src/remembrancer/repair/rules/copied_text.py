"""What comes along with a program copied out of a conversation, a prompt or a listing.

What is no code becomes a comment.
"""

from __future__ import annotations

import itertools
import re

from .proposal import Failure
from .source import Edit, ProgramSource, common, indent_of

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([^\s`{]*)[^`\r\n]*[\r\n]*\Z")
_PYTHON = frozenset(
    {"python", "py", "python3", "py3", "python2", "ipython", "pycon", "ipython3", "pyth", "gyp"}
)
_PROMPT = re.compile(r"[ \t]*(?:>>>|In \[\d*\]:)(?: |(?=[\r\n]|\Z))")
_MORE = re.compile(r"[ \t]*(?:\.\.\.:?)(?: |(?=[\r\n]|\Z))")
_NUMBER = re.compile(r"([ \t]*(?:\[?\d+\]?))([ \t]*[:.|)][ \t]?|[ \t]+|(?=[\r\n]|\Z))")
_CODE = re.compile(
    r"[=\[\]{}\\@#\"]|\w\(|^(?:def|class|import|from|for|while|if|elif|return|print|try|with|raise|assert|pass|del|global)\b"
)
_QUOTED = re.compile(r"(?<!\w)'|'(?!\w)")  # a quote that is no apostrophe
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
# What is code without a doubt: a statement that begins with a keyword, an assignment, a call that
# is all of its line.
_LIKE_CODE = re.compile(
    r"[ \t]*+(?:(?:def|class|async|with|while|elif|if)\b[^\r\n]*:\s*$|for [^\r\n]*? in\b|from [\w.]++ import\b"
    r"|import [\w.]++(?: as \w+)?\s*(?:$|[,#;])|@\w|(?:return|raise|assert|del|global|yield)\b *+[\w(\"'\[{-]|print\b *+[\w(\"'>]"
    r"|(?:else|try|finally) *+:|[\w.]++(?:\[[^\]\r\n]*+\])?+ *+[-+*/%]?=[^=]|[\w.]++\([^\r\n]*\)\s*$)"
)
_DEFINES = re.compile(
    r"[ \t]*+(?:(?:def|class|async|with|while)\b[^\r\n]*:\s*$|from [\w.]++ import\b|import [\w.]++\s*$|@\w+\s*$)"
)
_MAGIC = re.compile(
    r"%%?(?:matplotlib|time|load_ext|autoreload|reload_ext|config|pip|conda|pylab|capture|writefile)\b|!(?:pip|conda|apt)"
)
_CHAT_LINES_MAX = 40  # of talk before, and of talk after


def fences(source: ProgramSource) -> str:
    """What stands between lines of three backticks or tildes. Blocks of another language, and the
    talk around, become comments.

    Where some block says that it is Python, those that do not are of another language.
    """
    kinds = [_FENCE.match(line) for line in source.lines]
    if not any(kinds):
        return source.code
    blocks = _blocks(kinds)
    named = any(word.lower() in _PYTHON for _, _, word in blocks)
    inside = {
        number
        for first, last, word in blocks
        if word.lower() in _PYTHON or (not named and not word)
        for number in range(first, last)
    } or {number for first, last, _ in blocks for number in range(first, last)}
    if not blocks:  # one fence alone: what is before it may be the program
        return "".join("" if kind else line for kind, line in zip(kinds, source.lines, strict=True))
    if any(
        number not in inside and not kind and _LIKE_CODE.match(line)
        for number, (kind, line) in enumerate(zip(kinds, source.lines, strict=True))
    ):
        return source.code  # the fences stand within a program: in a text of it, or in a comment
    kept = []
    for number, (kind, line) in enumerate(zip(kinds, source.lines, strict=True)):
        if number in inside:
            kept.append(line)
        elif not kind:
            kept.append(_comment(line))
    return "".join(kept)


def _blocks(kinds: list[re.Match[str] | None]) -> list[tuple[int, int, str]]:
    """First line, line after the last, and word of each block.

    One that is not closed goes on to the end; a lone last fence opens none.
    """
    blocks: list[tuple[int, int, str]] = []
    begun: tuple[int, str, str] | None = None
    for number, kind in enumerate(kinds):
        if kind is None:
            continue
        if begun is None:
            begun = (number + 1, kind[1], kind[2])
        elif kind[1][0] == begun[1][0] and len(kind[1]) >= len(begun[1]) and not kind[2]:
            blocks.append((begun[0], number, begun[2]))
            begun = None
    if (
        begun
        and begun[1][0] == "`"
        and begun[0] < len(kinds)
        and (begun[2] or begun[0] * 2 < len(kinds))
    ):
        blocks.append((begun[0], len(kinds), begun[2]))
    return blocks


def prompts(source: ProgramSource) -> str:
    """What was typed at the prompts of an interpreter (`>>>`, `In [1]:`); what the interpreter
    answered becomes a comment.

    Only where the first line that is not empty, comments aside, has a prompt: elsewhere it may be
    the text of a docstring.
    """
    first = next(
        (line for line in source.lines if line.strip() and not line.lstrip().startswith("#")), ""
    )
    if not _PROMPT.match(first):
        return source.code
    kept, typed, answering = [], False, False
    for line in source.lines:
        found = _PROMPT.match(line) or (_MORE.match(line) if typed else None)
        typed = found is not None
        answering = bool(line.strip()) and (typed or answering)
        if not typed and (_DEFINES if answering else _LIKE_CODE).match(line):
            return source.code  # part of it has no prompts
        kept.append(line[found.end() :] if found else _comment(line))
    return "".join(kept)


def numbers(source: ProgramSource) -> str:
    """Without line numbers, where every line that is not empty has one and each is one more than
    the last; a single line has the 1.
    """
    found = [_NUMBER.match(line) if line.strip() else None for line in source.lines]
    given = [
        int(match[1].strip(" \t[]"))
        for match, line in zip(found, source.lines, strict=True)
        if match and line.strip()
    ]
    if (len(given) < 2 and given != [1]) or len(given) != sum(
        bool(line.strip()) for line in source.lines
    ):
        return source.code
    if any(after - before != 1 for before, after in itertools.pairwise(given)):
        return source.code
    rests = [
        line[len(match[1]) :] if match else line
        for match, line in zip(found, source.lines, strict=True)
    ]
    for mark in (r"[ \t]*[:.|)] ?", r"[ \t]"):
        pattern = re.compile(mark)
        cut = [pattern.match(rest) for rest in rests]
        if all(one or not rest.strip() for one, rest in zip(cut, rests, strict=True)):
            rests = [
                rest[one.end() :] if one else rest for one, rest in zip(cut, rests, strict=True)
            ]
            break
    return _dedented(rests)


def talk(source: ProgramSource) -> str:
    """With sentences before the program and after it as comments.

    The first line that may be code ends the search.
    """
    lines = source.lines
    first = _talk_until(lines)
    last = len(lines) - _talk_until(lines[first:][::-1])
    if first == 0 and last == len(lines):
        return source.code
    return "".join(
        line if first <= number < last else _comment(line) for number, line in enumerate(lines)
    )


def buttons(source: ProgramSource, failure: Failure) -> str:
    """With the word of a button above the program (`python`, `Copy`), which reads as a name, as a
    comment.
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


def _talk_until(lines: list[str]) -> int:
    """How many of the first lines are talk: up to the last of them that is not empty."""
    found = 0
    for number, line in enumerate(lines[:_CHAT_LINES_MAX]):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not _is_talk(line):
            break
        found = number + 1
    return found


def _is_talk(line: str) -> bool:
    said = line.strip()
    if said.lower() in _BUTTONS:
        return True
    words = re.findall(r"[^\W\d_][\w'\u2019-]*", said.lstrip("-*0123456789. "))
    if (
        min(len(words), len(said.split())) < 3
        or _CODE.search(said.replace("`", "").replace("()", ""))
        or _QUOTED.search(said)
    ):
        return False
    return said[-1] in ".:!?" and not any(sign in said for sign in ("==", "+=", "->", ";"))


def dedent(source: ProgramSource) -> str:
    """Without the white space that all lines begin with.

    Lines within strings and brackets stay where nothing can be taken from them.
    """
    return _dedented(source.lines)


def _dedented(lines: list[str]) -> str:
    margins = [indent_of(line) for line in lines if line.strip()]
    least, most = min(margins, default=""), max(margins, default="")
    margin = least[: common(least, most)]
    return "".join(line.removeprefix(margin) for line in lines)


def magics(source: ProgramSource) -> str:
    """With a notebook's words to itself as comments:

    what installs, times or sets up, and does nothing that a program could need.
    """
    begun = {statement.tokens[0].start for statement in source.statements}
    edits = (Edit(place, place, "# ") for place in begun if _MAGIC.match(source.code, place))
    return source.edited(edits)


def _comment(line: str) -> str:
    """The line as a comment; empty ones and comments stay as they are."""
    said = line.lstrip(" \t")
    return line if not said.strip() or said.startswith("#") else f"# {said}"
