"""Fix indentation, and indent blocks that begin in the column of their header."""

from __future__ import annotations

from .source import (
    Edit,
    Failure,
    ProgramSource,
    SourceStatement,
    indent_of,
)

_TAB_WIDTHS = (8, 4)  # of terminals, and of editors
_STEP = "    "
_CLAUSES = {
    "else": frozenset({"if", "elif", "for", "while", "try", "except"}),
    "elif": frozenset({"if", "elif"}),
    "except": frozenset({"try", "except"}),
    "finally": frozenset({"try", "except", "else"}),
}
_LOOPS = frozenset({"for", "while"})
_OUTER = frozenset({"def", "class", "import", "from"})  # these begin a new part of a program


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
    indents = [indent_of(source.lines[token.line - 1]) for token in comments]
    deeper = (one for one in indents if one.startswith(header.indent) and one != header.indent)
    indent = next(deeper, None)
    if indent is not None:
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
    previous, failing = _around(source, failure)
    if failing is None or failing.line != failure.line or failing.tokens[0].kind != "name":
        return source.code
    index = source.statements.index(failing)
    if "unexpected indent" in failure.message and previous is not None and not previous.is_header:
        edits = []
        for statement in source.statements[index:]:
            if not statement.indent.startswith(failing.indent):
                break
            start = statement.tokens[0].start - len(statement.indent)
            edits.append(Edit(start, start + len(failing.indent), previous.indent))
        return source.apply(edits)
    if "unindent does not match" in failure.message:
        levels = {statement.indent for statement in source.statements[:index]}
        candidates = [level for level in levels if abs(len(level) - len(failing.indent)) == 1]
        if len(candidates) == 1:
            end = failing.tokens[0].start
            return source.apply([Edit(end - len(failing.indent), end, candidates[0])])
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


def indent_block(source: ProgramSource, failure: Failure) -> str:
    """Indent the statements after a header, if it is certain where the block ends.

    It ends before `else` and similar, at the first blank line, after the first `return` of a
    function, after the last method of a class, after the only statement, or after the last one that
    uses the loop's variable.
    """
    if "expected an indented block" not in failure.message:
        return source.code
    index = next(
        (
            at
            for at, statement in enumerate(source.statements)
            if failure.line is not None
            and statement.line >= failure.line
            and at > 0
            and source.statements[at - 1].is_header
            and len(statement.indent) <= len(source.statements[at - 1].indent)
        ),
        None,
    )
    if index is None:
        return source.code
    header = source.statements[index - 1]
    if source.statements[index].indent != header.indent:
        return source.code
    count = _block_length(source, index)
    return source.apply(
        Edit(statement.tokens[0].start, statement.tokens[0].start, _STEP)
        for statement in source.statements[index : index + count]
    )


def _block_length(source: ProgramSource, index: int) -> int:
    """Return the number of statements of the block that begins at `index`, or 0 if unknown."""
    header = source.statements[index - 1]
    keyword = header.tokens[0].text
    group = _group(source, index)
    words = [statement.tokens[0].text for statement in group]
    after = index + len(group)
    if keyword == "class":
        return _method_count(group)
    if keyword in ("def", "async"):
        for count, statement in enumerate(group, 1):
            if statement.indent == header.indent and words[count - 1] in ("return", "raise"):
                return count
    following = source.statements[after] if after < len(source.statements) else None
    clause = following.tokens[0].text if following and following.indent == header.indent else ""
    if keyword in _CLAUSES.get(clause, ()):
        return len(group)
    top_count = sum(statement.indent == header.indent for statement in group)
    if top_count <= 1 or words[0] in ("break", "continue", "pass"):
        return len(group) if top_count <= 1 else 1
    if _has_blank_line(source, group[-1], following):
        return len(group)
    return _uses_count(header, group)


def _group(source: ProgramSource, index: int) -> list[SourceStatement]:
    """Return the statements up to a blank line, a clause of the header, or a new part."""
    header = source.statements[index - 1]
    is_class = header.tokens[0].text == "class"
    group: list[SourceStatement] = []
    for statement in source.statements[index:]:
        word = statement.tokens[0].text
        if len(statement.indent) < len(header.indent):
            break
        if statement.indent == header.indent and (
            (word in _OUTER and not (is_class and word == "def"))
            or (group and word in _CLAUSES and not _belongs(group, word))
            or (group and not is_class and _has_blank_line(source, group[-1], statement))
        ):
            break
        group.append(statement)
    return group


def _belongs(group: list[SourceStatement], word: str) -> bool:
    """Return True if the clause continues a statement of the group that has its own block."""
    indent = group[0].indent
    last = next((one for one in reversed(group) if one.indent == indent), None)
    return last is not None and last.is_header and last.tokens[0].text in _CLAUSES[word]


def _has_blank_line(
    source: ProgramSource, above: SourceStatement, below: SourceStatement | None
) -> bool:
    if below is None:
        return False
    start = above.tokens[-1].line + above.tokens[-1].text.count("\n")
    return any(not line.strip() for line in source.lines[start : below.line - 1])


def _method_count(group: list[SourceStatement]) -> int:
    """Return the number of leading statements that are methods and their blocks."""
    count, is_inside = 0, False
    for at, statement in enumerate(group):
        words = [token.text for token in statement.tokens[:5]]
        if statement.indent == group[0].indent:
            is_inside = words[0] == "def" and words[2:4] == ["(", "self"]
        if not is_inside:
            break
        count = at + 1
    return count


def _uses_count(header: SourceStatement, group: list[SourceStatement]) -> int:
    """Return the number of statements if each uses the variable of the loop before them; else 0.

    Also 0 if the header is no loop with one variable.
    """
    words = [token.text for token in header.tokens[:3]]
    if words[0] != "for" or words[2] != "in":
        return 0
    uses = [
        any(token.kind == "name" and token.text == words[1] for token in statement.tokens)
        for statement in group
    ]
    return len(group) if all(uses) else 0


def dedent_clause(source: ProgramSource, failure: Failure) -> str:
    """Move an `else`, `elif`, `except` or `finally` with its block to the column of its header.

    That is the nearest header around it, unless a loop could have the `else` too.
    """
    index = next(
        (
            at
            for at, statement in enumerate(source.statements)
            if statement.line == failure.line and statement.tokens[0].text in _CLAUSES
        ),
        None,
    )
    if index is None:
        return source.code
    clause = source.statements[index]
    headers = []
    indent = clause.indent
    for above in reversed(source.statements[:index]):
        if len(above.indent) < len(indent):
            indent = above.indent
            if above.is_header and above.tokens[0].text in _CLAUSES[clause.tokens[0].text]:
                headers.append(above)
    is_certain = len(headers) == 1 or (headers and headers[0].tokens[0].text not in _LOOPS)
    if not is_certain or not clause.indent.startswith(headers[0].indent):
        return source.code
    margin = len(clause.indent) - len(headers[0].indent)
    edits = []
    for statement in source.statements[index:]:
        if len(statement.indent) < len(clause.indent) or (
            statement is not clause
            and len(statement.indent) == len(clause.indent)
            and statement.tokens[0].text not in _CLAUSES
        ):
            break
        start = statement.tokens[0].start - len(statement.indent)
        edits.append(Edit(start, start + margin, ""))
    return source.apply(edits)


RULES = (
    ("tabs", expand_tabs),
    ("indentation", fix_stray_indent),
    ("empty block", fill_empty_block),
    ("block", indent_block),
)
