"""Add, replace and remove one table of a TOML file, line by line.

All other lines keep their bytes. Our table has a comment above it and no end mark: programs that
edit the file (Codex does) put their new tables between the last table and a comment at the end.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .file_changes import Change, ConfigUnreadable, text_of

BEGIN = "# remembrancer: begin"
END = "# remembrancer: end"  # of earlier releases

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """The lines of a table: `first` is its header, `end` is behind its last line with content."""

    names: Names
    first: int
    end: int


def toml_change(
    path: Path, names: Names, body: str | None, *, obsolete: Collection[Names] = ()
) -> Change:
    """Return the change of a TOML file that sets our table, or removes it if `body` is None.

    A removal also removes the tables `obsolete`, and a table above them that becomes empty. Raises
    ConfigUnreadable for invalid TOML, and for a table of this name without our comment.
    """
    before = text_of(path)
    lines = (before or "").splitlines(keepends=True)
    value = _parsed(path, before or "")
    expected = _parsed(path, before or "")
    is_ours = any(_is_ours(lines, table) for table in _tables(lines) if table.names == names)
    if _value_of(value, names) is not None and not is_ours:
        if body is None:
            return Change(path, before, before)
        raise ConfigUnreadable(
            f"{path} already has `{'.'.join(names)}`, not written by this command. Remove it "
            "first. Nothing was written."
        )
    newline = "\r\n" if "\r\n" in (before or "") else "\n"
    if body is None:
        _remove(lines, names, is_ours=is_ours)
        _delete(expected, names)
        for other in obsolete:
            _remove(lines, other, is_ours=False)
            _delete(expected, other)
            _remove_if_empty(lines, other[:-1], expected)
    else:
        _set(lines, names, body, newline, is_ours=is_ours)
        _delete(expected, names)
        _merge(expected, tomllib.loads(_block(names, body, "\n")))
        _merge(expected, _subtables(value, names))
    after = "".join(lines) or None
    if _without_empty(_parsed(path, after or "")) != _without_empty(expected):
        raise ConfigUnreadable(f"{path} cannot be edited safely. Nothing was written.")
    return Change(path, before, after)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigUnreadable(
            f"{path} is not valid TOML: {error}. Nothing was written."
        ) from error


def _tables(lines: list[str]) -> list[_Table]:
    """Return the tables with a header of their own, in order."""
    headers = [
        (number, names)
        for number, line in enumerate(lines)
        if (names := _header(line)) and _is_whole(lines[:number])
    ]
    tables = []
    for place, (first, names) in enumerate(headers):
        end = headers[place + 1][0] if place + 1 < len(headers) else len(lines)
        while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
            end -= 1
        tables.append(_Table(names, first, end))
    return tables


def _header(line: str) -> Names:
    """Return the names in the header of a table; empty for any other line."""
    if not line.startswith("[") or line.startswith("[["):
        return ("[[",) if line.startswith("[[") else ()
    try:
        value = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while isinstance(value, dict) and value:
        names.append(next(iter(value)))
        value = value[names[-1]]
    return tuple(names)


def _is_whole(lines: list[str]) -> bool:
    """Return True if the next line is not within a string or an array of several lines."""
    try:
        tomllib.loads("".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _is_ours(lines: list[str], table: _Table) -> bool:
    return table.first > 0 and lines[table.first - 1].strip() == BEGIN


def _block(names: Names, body: str, newline: str) -> str:
    return newline.join([BEGIN, f"[{'.'.join(names)}]", *body.splitlines(), ""])


def _set(lines: list[str], names: Names, body: str, newline: str, *, is_ours: bool) -> None:
    block = _block(names, body, newline)
    if not is_ours:
        # One line break, also behind a last line without one: removal takes it away again.
        lines += [newline, *block.splitlines(keepends=True)] if lines else [block]
        return
    table = next(table for table in _tables(lines) if table.names == names)
    lines[table.first - 1 : table.end] = block.splitlines(keepends=True)
    _remove_end_marks(lines)


def _remove(lines: list[str], names: Names, *, is_ours: bool) -> None:
    """Remove a table, its own tables, and the empty line above each."""
    for table in reversed(_tables(lines)):
        if table.names[: len(names)] != names:
            continue
        first = table.first
        if is_ours and table.names == names:
            first -= 1
        _remove_lines(lines, first, table.end)
    if is_ours:
        _remove_end_marks(lines)


def _remove_lines(lines: list[str], first: int, end: int) -> None:
    del lines[first:end]
    if first and not lines[first - 1].strip():
        del lines[first - 1]
    elif first and lines[first - 1].endswith("\n") and first == len(lines):
        lines[first - 1] = lines[first - 1].rstrip("\r\n")


def _remove_if_empty(lines: list[str], names: Names, expected: dict[str, Any]) -> None:
    if _value_of(expected, names) == {}:
        _remove(lines, names, is_ours=False)
        _delete(expected, names)


def _remove_end_marks(lines: list[str]) -> None:
    lines[:] = [line for line in lines if line.strip() != END]


def _value_of(value: Any, names: Names) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _delete(value: dict[str, Any], names: Names) -> None:
    parent = _value_of(value, names[:-1])
    if isinstance(parent, dict):
        parent.pop(names[-1], None)


def _without_empty(value: Any) -> Any:
    """Return a value without empty tables: a table above another may exist or not."""
    if not isinstance(value, dict):
        return value
    items = {name: _without_empty(item) for name, item in value.items()}
    return {name: item for name, item in items.items() if item != {}}


def _merge(value: dict[str, Any], other: dict[str, Any]) -> None:
    for name, item in other.items():
        if isinstance(item, dict) and isinstance(value.get(name), dict):
            _merge(value[name], item)
        else:
            value[name] = item


def _subtables(value: dict[str, Any], names: Names) -> dict[str, Any]:
    """Return the tables within our table, for example permissions that Codex stored."""
    table = _value_of(value, names)
    result: Any = {name: item for name, item in (table or {}).items() if isinstance(item, dict)}
    for name in reversed(names):
        result = {name: result}
    return dict(result) if table else {}
