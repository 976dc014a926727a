"""White space at the beginning of lines, where only one reading of it is possible."""

from __future__ import annotations

from .proposal import Failure
from .source import Edit, ProgramSource, SourceStatement, indent_of

_TAB_WIDTHS = (8, 4)  # what the language once took a tab for, and what editors show


def tabs(source: ProgramSource, _: Failure) -> str:
    """With spaces for tabs, where both usual widths of a tab give the same program, or only one of
    them gives any.
    """
    if not any("\t" in statement.indent for statement in source.statements):
        return source.code
    shapes = {
        width: _shape(
            [len(statement.indent.expandtabs(width)) for statement in source.statements], source
        )
        for width in _TAB_WIDTHS
    }
    possible = [width for width, shape in shapes.items() if shape is not None]
    if not possible or len({str(shapes[width]) for width in possible}) > 1:
        return source.code
    inside = _lines_within(source)
    return "".join(
        line
        if number in inside
        else indent_of(line).expandtabs(possible[-1]) + line[len(indent_of(line)) :]
        for number, line in enumerate(source.lines, 1)
    )


def _shape(widths: list[int], source: ProgramSource) -> list[int] | None:
    """The depth of each statement; None where the widths are no program's."""
    levels, depths, opened = [0], [], False
    for width, statement in zip(widths, source.statements, strict=True):
        if opened != (width > levels[-1]):
            return None
        if opened:
            levels.append(width)
        while width < levels[-1]:
            levels.pop()
        if width != levels[-1]:
            return None
        depths.append(len(levels))
        opened = statement.is_header
    return depths


def _lines_within(source: ProgramSource) -> set[int]:
    """Lines that begin inside a string: their white space is a value."""
    return {
        line
        for token in source.tokens
        if token.kind == "string" and "\n" in token.text
        for line in range(token.line + 1, token.line + token.text.count("\n") + 1)
    }


def empty_block(source: ProgramSource, failure: Failure) -> str:
    """A block that is only comments gets a `pass`; the only line left to be a block becomes it."""
    header, after = _around(source, failure)
    if (
        header is None
        or not header.is_header
        or "expected an indented block" not in failure.message
    ):
        return source.code
    last = header.tokens[-1]
    until = after.tokens[0].start if after else len(source.code)
    comments = [
        token
        for token in source.tokens
        if token.kind == "comment" and last.end <= token.start < until and token.line > last.line
    ]
    deeper = [_indent_at(source, token.line) for token in comments]
    deeper = [
        indent
        for indent in deeper
        if len(indent) > len(header.indent) and indent.startswith(header.indent)
    ]
    if deeper:
        indent = deeper[0]
        at = source.code.find("\n", last.end) + 1 or len(source.code)
        lead = "" if source.code[:at].endswith("\n") else "\n"
        return source.edited([Edit(at, at, f"{lead}{indent}pass\n")])
    if (
        after is not None
        and after is source.statements[-1]
        and after.indent == header.indent
        and not after.is_header
    ):
        at = after.tokens[0].start
        return source.edited([Edit(at, at, "    ")])
    return source.code


def stray(source: ProgramSource, failure: Failure) -> str:
    """Lines that are indented although nothing opened a block go where the line before them is; one
    that is a space off, to its block.
    """
    before, at = _around(source, failure)
    if at is None or at.tokens[0].line != failure.line or at.tokens[0].kind != "name":
        return source.code
    index = source.statements.index(at)
    if "unexpected indent" in failure.message and before is not None and not before.is_header:
        edits = []
        for statement in source.statements[index:]:
            if not statement.indent.startswith(at.indent):
                break
            start = statement.tokens[0].start - len(statement.indent)
            edits.append(Edit(start, start + len(at.indent), before.indent))
        return source.edited(edits)
    if "unindent does not match" in failure.message:
        levels = {statement.indent for statement in source.statements[:index]}
        near = [level for level in levels if abs(len(level) - len(at.indent)) == 1]
        if len(near) == 1:
            start = at.tokens[0].start - len(at.indent)
            return source.edited([Edit(start, start + len(at.indent), near[0])])
    return source.code


def _around(
    source: ProgramSource, failure: Failure
) -> tuple[SourceStatement | None, SourceStatement | None]:
    """The statement before the failing line, and the one at it or after."""
    before = None
    for statement in source.statements:
        if (
            failure.line is not None
            and statement.line >= failure.line
            and not (statement.is_header and statement.line == failure.line)
        ):
            return before, statement
        before = statement
    return before, None


def _indent_at(source: ProgramSource, line: int) -> str:
    return indent_of(source.lines[line - 1])
