"""Indent blocks that begin in the column of their header, and move `else` to its `if`."""

from __future__ import annotations

from .proposal import Failure
from .source import Edit, ProgramSource, SourceStatement

_STEP = "    "
_CLAUSES = {
    "else": frozenset({"if", "elif", "for", "while", "try", "except"}),
    "elif": frozenset({"if", "elif"}),
    "except": frozenset({"try", "except"}),
    "finally": frozenset({"try", "except", "else"}),
}
_LOOPS = frozenset({"for", "while"})
_OUTER = frozenset({"def", "class", "import", "from"})  # these begin a new part of a program


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
        returns = [
            at
            for at, statement in enumerate(group)
            if statement.tokens[0].text in ("return", "raise") and statement.indent == header.indent
        ]
        if returns:
            return returns[0] + 1
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
    group: list[SourceStatement] = []
    for statement in source.statements[index:]:
        if len(statement.indent) < len(header.indent):
            break
        word = statement.tokens[0].text
        is_top = statement.indent == header.indent
        is_own = header.tokens[0].text == "class" and word in ("def", "async", "@")
        if is_top and group and word in _CLAUSES and not _belongs(group, word):
            break
        if is_top and word in _OUTER and not is_own:
            break
        is_class = header.tokens[0].text == "class"
        if group and not is_class and _has_blank_line(source, group[-1], statement) and is_top:
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
    """Return the number of leading statements up to the last that uses the loop's variable.

    Return 0 if the header is no loop with one variable, or if a later statement may belong to it.
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
