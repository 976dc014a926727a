"""Fix indentation where only one interpretation is possible."""

from __future__ import annotations

from .proposal import Failure
from .source import Edit, ProgramSource, SourceStatement, indent_of

_TAB_WIDTHS = (8, 4)  # of Python 2, and of editors


def expand_tabs(source: ProgramSource, _: Failure) -> str:
    """Replace tabs by spaces if the usual tab widths agree or only one gives a valid program."""
    if not any("\t" in statement.indent for statement in source.statements):
        return source.code
    depths_by_width = {
        width: _depths(
            [len(statement.indent.expandtabs(width)) for statement in source.statements], source
        )
        for width in _TAB_WIDTHS
    }
    possible = [width for width, depths in depths_by_width.items() if depths is not None]
    if not possible or len({str(depths_by_width[width]) for width in possible}) > 1:
        return source.code
    string_lines = _string_lines(source)
    return "".join(
        line
        if number in string_lines
        else indent_of(line).expandtabs(possible[-1]) + line[len(indent_of(line)) :]
        for number, line in enumerate(source.lines, 1)
    )


def _depths(widths: list[int], source: ProgramSource) -> list[int] | None:
    """Return the depth of each statement, or None if the widths are inconsistent."""
    levels, depths, is_block_start = [0], [], False
    for width, statement in zip(widths, source.statements, strict=True):
        if is_block_start != (width > levels[-1]):
            return None
        if is_block_start:
            levels.append(width)
        while width < levels[-1]:
            levels.pop()
        if width != levels[-1]:
            return None
        depths.append(len(levels))
        is_block_start = statement.is_header
    return depths


def _string_lines(source: ProgramSource) -> set[int]:
    """Return the lines that begin inside a string, where whitespace is significant."""
    return {
        line
        for token in source.tokens
        if token.kind == "string" and "\n" in token.text
        for line in range(token.line + 1, token.line + token.text.count("\n") + 1)
    }


def fill_empty_block(source: ProgramSource, failure: Failure) -> str:
    """Add `pass` to a block of comments, or indent the only line that can be the block."""
    header, next_statement = _around(source, failure)
    if (
        header is None
        or not header.is_header
        or "expected an indented block" not in failure.message
    ):
        return source.code
    header_end = header.tokens[-1]
    block_end = next_statement.tokens[0].start if next_statement else len(source.code)
    comments = [
        token
        for token in source.tokens
        if token.kind == "comment"
        and header_end.end <= token.start < block_end
        and token.line > header_end.line
    ]
    indents = [_indent_at(source, token.line) for token in comments]
    indents = [
        indent
        for indent in indents
        if len(indent) > len(header.indent) and indent.startswith(header.indent)
    ]
    if indents:
        indent = indents[0]
        at = source.code.find("\n", header_end.end) + 1 or len(source.code)
        lead = "" if source.code[:at].endswith("\n") else "\n"
        return source.apply([Edit(at, at, f"{lead}{indent}pass\n")])
    if (
        next_statement is not None
        and next_statement is source.statements[-1]
        and next_statement.indent == header.indent
        and not next_statement.is_header
    ):
        at = next_statement.tokens[0].start
        return source.apply([Edit(at, at, "    ")])
    return source.code


def fix_stray_indent(source: ProgramSource, failure: Failure) -> str:
    """Dedent lines that are indented without a block; align a line that is one space off."""
    previous, statement_at_failure = _around(source, failure)
    if (
        statement_at_failure is None
        or statement_at_failure.tokens[0].line != failure.line
        or statement_at_failure.tokens[0].kind != "name"
    ):
        return source.code
    index = source.statements.index(statement_at_failure)
    if "unexpected indent" in failure.message and previous is not None and not previous.is_header:
        edits = []
        for statement in source.statements[index:]:
            if not statement.indent.startswith(statement_at_failure.indent):
                break
            start = statement.tokens[0].start - len(statement.indent)
            edits.append(Edit(start, start + len(statement_at_failure.indent), previous.indent))
        return source.apply(edits)
    if "unindent does not match" in failure.message:
        levels = {statement.indent for statement in source.statements[:index]}
        candidates = [
            level for level in levels if abs(len(level) - len(statement_at_failure.indent)) == 1
        ]
        if len(candidates) == 1:
            start = statement_at_failure.tokens[0].start - len(statement_at_failure.indent)
            return source.apply(
                [Edit(start, start + len(statement_at_failure.indent), candidates[0])]
            )
    return source.code


def _around(
    source: ProgramSource, failure: Failure
) -> tuple[SourceStatement | None, SourceStatement | None]:
    """Return the statement before the failing line, and the one at or after it."""
    previous = None
    for statement in source.statements:
        if (
            failure.line is not None
            and statement.line >= failure.line
            and not (statement.is_header and statement.line == failure.line)
        ):
            return previous, statement
        previous = statement
    return previous, None


def _indent_at(source: ProgramSource, line: int) -> str:
    return indent_of(source.lines[line - 1])
