"""Add and remove one entry of a block mapping in a YAML file, line by line.

All other lines keep their bytes. Only files are edited whose top level is a block mapping; anything
else is refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .config_files import Change, ConfigUnreadable, text_of

INDENT = "  "
CREATED = "  # remembrancer"  # behind a key that this command added
EMPTIED = "  # remembrancer: was empty"  # behind a key that had no value
EMPTY = " {}"
_TOP_LEVEL = re.compile(
    r"(?:#.*|---(?:\s.*)?|[^\s#\-?\[\]{}&*!|>'\"%@`,][^:#]*:(?:\s.*)?|[}\]]\s*)"
)
_KEY = re.compile(r"(?P<name>[\w.-]+|'[^']*'|\"[^\"]*\"):(?P<rest>\s.*)?")


def yaml_change(path: Path, names: tuple[str, str], value: dict[str, Any] | None) -> Change:
    """Return the change of a YAML file that sets the entry `names`, or removes it if None.

    Raises ConfigUnreadable.
    """
    before = text_of(path)
    lines = (before or "").splitlines(keepends=True)
    _check(path, lines)
    group, name = names
    newline = "\r\n" if "\r\n" in (before or "") else "\n"
    _remove(path, lines, group, name)
    if value is not None:
        _add(path, lines, group, _rendered(name, value), newline)
    return Change(path, before, "".join(lines) or None)


def _check(path: Path, lines: list[str]) -> None:
    if sum(line.startswith("---") for line in lines) > 1:
        raise _refusal(path, "it has several documents")
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if "\t" in text[: len(text) - len(text.lstrip())] and text.strip():
            raise _refusal(path, f"line {number} is indented with a tab")
        if text and not text[0].isspace() and not _TOP_LEVEL.fullmatch(text):
            raise _refusal(path, f"line {number} is not an entry of a mapping")


def _refusal(path: Path, reason: str) -> ConfigUnreadable:
    return ConfigUnreadable(f"{path} cannot be edited as YAML: {reason}. Nothing was written.")


def _blocks(lines: list[str], name: str, start: int, end: int, indentation: str) -> list[range]:
    """Return the blocks of a key with this indentation among the lines from `start` to `end`.

    A block is the lines of a key and of what belongs to it.
    """
    blocks = []
    for first in range(start, end):
        line = lines[first]
        match = _KEY.fullmatch(line[len(indentation) :].rstrip("\r\n"))
        if not line.startswith(indentation) or not match or match["name"].strip("'\"") != name:
            continue
        after = first + 1
        while after < end and _is_inside(lines, after, end, indentation):
            after += 1
        blocks.append(range(first, after))
    return blocks


def _is_inside(lines: list[str], number: int, end: int, indentation: str) -> bool:
    """Return True if a line belongs to a key above it with this indentation."""
    text = lines[number].strip()
    if text and not text.startswith("#"):
        return _depth(lines[number]) > len(indentation)
    # Empty lines and comments belong to what follows them.
    following = next((line for line in lines[number:end] if _is_content(line)), "")
    return bool(following) and _depth(following) > len(indentation)


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _group(path: Path, lines: list[str], group: str) -> range | None:
    """Return the block of the top-level key. Raises ConfigUnreadable."""
    blocks = _blocks(lines, group, 0, len(lines), "")
    if len(blocks) > 1:
        raise _refusal(path, f"`{group}` occurs twice")
    if not blocks:
        return None
    match = _KEY.fullmatch(lines[blocks[0].start].rstrip("\r\n"))
    rest = ((match["rest"] if match else "") or "").split(" #")[0].strip()
    if rest not in ("", "{}"):
        raise _refusal(path, f"`{group}` must have its entries on lines of their own")
    children = [line for line in lines[blocks[0].start + 1 : blocks[0].stop] if _is_content(line)]
    if any(_depth(line) < _depth(children[0]) for line in children):
        raise _refusal(path, f"the entries of `{group}` are indented differently")
    if children and (rest or children[0].lstrip().startswith("- ")):
        raise _refusal(path, f"`{group}` must be a mapping")
    return blocks[0]


def _remove(path: Path, lines: list[str], group: str, name: str) -> None:
    block = _group(path, lines, group)
    if block is None:
        return
    inside = [line for line in lines[block.start + 1 : block.stop] if _is_content(line)]
    if not inside:
        return
    indentation = " " * _depth(inside[0])
    entries = _blocks(lines, name, block.start + 1, block.stop, indentation)
    if len(entries) > 1:
        raise _refusal(path, f"`{name}` occurs twice")
    if not entries:
        return
    del lines[entries[0].start : entries[0].stop]
    head = lines[block.start]
    is_empty = len(block) - 1 == len(entries[0])
    if is_empty and head.rstrip("\r\n").endswith(CREATED):
        del lines[block.start]
    elif is_empty and EMPTIED in head:
        lines[block.start] = head.replace(EMPTIED, "", 1)
    elif is_empty:
        lines[block.start] = head.replace(":", f":{EMPTY}", 1)


def _add(path: Path, lines: list[str], group: str, entry: list[str], newline: str) -> None:
    block = _group(path, lines, group)
    indentation = INDENT
    if block is None:
        # At the start: a last line without a line break stays as it is.
        first = next((n + 1 for n, line in enumerate(lines) if line.startswith("---")), 0)
        lines.insert(first, f"{group}:{CREATED}{newline}")
    else:
        first = block.start
        head = lines[first].rstrip("\r\n")
        children = [line for line in lines[first + 1 : block.stop] if _is_content(line)]
        mark = "" if children or EMPTY in head else EMPTIED
        lines[first] = head.replace(EMPTY, "", 1) + mark + newline
        indentation = " " * _depth(children[0]) if children else INDENT
    lines[first + 1 : first + 1] = [f"{indentation}{line}{newline}" for line in entry]


def _rendered(name: str, value: dict[str, Any]) -> list[str]:
    """Return the lines of an entry. Values are JSON, which is YAML."""
    members = [f"{INDENT}{key}: {json.dumps(item)}" for key, item in value.items()]
    return [f"{name}:", *members]
