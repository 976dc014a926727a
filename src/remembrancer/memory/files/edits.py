"""Text operations and messages of the memory tool, as its documentation specifies them.

Pure: no store, no user. Only a line feed ends a line; the text after the last line feed is a line
of its own, even if it is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...protocol import limits

LEVELS_SHOWN = 2
CONTEXT_LINES = 2  # shown before and after a replacement
_IGNORED = "node_modules"
_UNITS = "BKMG"


class CommandRefused(Exception):
    """A command failed; the message is the one that the tool documents."""


def contents(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """Return a file with numbered lines, or the lines in `view_range`.

    `view_range` is the first and last line, counted from 1; -1 means the end. Raises
    CommandRefused.
    """
    lines = text.split("\n")
    first, last = view_range or (1, -1)
    if not 1 <= first <= len(lines) or (last != -1 and last < first):
        valid_range = f"the range of lines of the file: [1, {len(lines)}]"
        raise CommandRefused(
            f"Error: Invalid `view_range` parameter: [{first}, {last}]. "
            f"It should be within {valid_range}"
        )
    selection = lines[first - 1 : None if last == -1 else last]
    return f"Here's the content of {path} with line numbers:\n{number_lines(selection, first)}"


def number_lines(lines: Sequence[str], first: int) -> str:
    """Prefix each line with its number, right-aligned in six columns, and a tab."""
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def listing(path: str, sizes: Mapping[str, int]) -> str:
    """Return the items of a folder two levels deep with their sizes, without hidden items.

    `sizes` are the sizes in bytes of all files below the folder.
    """
    total = sum(sizes.values())
    rows = [f"{format_size(total)}\t{path}", *_listing_rows(path, sizes, 1)]
    header = (
        f"Here're the files and directories up to {LEVELS_SHOWN} levels deep in {path}, "
        "excluding hidden items and node_modules:"
    )
    return "\n".join([header, *rows])


def _listing_rows(folder: str, sizes: Mapping[str, int], level: int) -> Iterator[str]:
    items: dict[str, dict[str, int]] = {}
    for path, size in sizes.items():
        name = path[len(folder) + 1 :].partition("/")[0]
        items.setdefault(name, {})[path] = size
    for name in sorted(items):
        if name.startswith(".") or name == _IGNORED:
            continue
        item_path = f"{folder}/{name}"
        is_file = item_path in items[name]
        yield f"{format_size(sum(items[name].values()))}\t{item_path}{'' if is_file else '/'}"
        if not is_file and level < LEVELS_SHOWN:
            yield from _listing_rows(item_path, items[name], level + 1)


def format_size(count: int) -> str:
    """Format a size for people: 512B, 1.5K, 2M."""
    unit = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    size = count / 1024**unit
    return f"{int(size)}{_UNITS[unit]}" if size == int(size) else f"{size:.1f}{_UNITS[unit]}"


def replace(path: str, text: str, old: str, new: str) -> str:
    """Replace `old`, which must occur exactly once in the text. Raises CommandRefused."""
    at = text.find(old)
    if at < 0:
        raise CommandRefused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if text.find(old, at + 1) >= 0:
        line_numbers = _line_numbers(text, old)
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{line_numbers}. Please ensure it is unique"
        )
    return text[:at] + new + text[at + len(old) :]


def _line_numbers(text: str, old: str) -> str:
    lines: list[int] = []
    line, at, counted_to = 1, text.find(old), 0
    while at >= 0:
        line, counted_to = line + text.count("\n", counted_to, at), at
        lines.append(line)
        at = text.find(old, at + 1)
    listed = [str(number) for number in lines[: limits.MEMORY_LINES_NAMED_MAX]]
    omitted = len(lines) - len(listed)
    return ", ".join(listed) + (f" and {omitted:,} more" if omitted else "")


def edit(before: str, after: str) -> str:
    """Return the message for a replacement, with the lines around the first change."""
    old_lines, lines = before.split("\n"), after.split("\n")
    changed = next(
        (at for at, (old, new) in enumerate(zip(old_lines, lines, strict=False)) if old != new),
        min(len(old_lines), len(lines)) - 1,
    )
    first = max(0, changed - CONTEXT_LINES)
    snippet = number_lines(lines[first : changed + CONTEXT_LINES + 1], first + 1)
    return (
        "The memory file has been edited. Here is the snippet showing the change "
        f"(with line numbers):\n{snippet}"
    )


def insert(text: str, line: int, new: str) -> str:
    """Insert lines after a line; 0 inserts at the beginning. The result ends with a line feed.

    Raises CommandRefused.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        valid_range = f"the range of lines of the file: [0, {len(lines)}]"
        raise CommandRefused(
            f"Error: Invalid `insert_line` parameter: {line}. It should be within {valid_range}"
        )
    lines.insert(line, new.removesuffix("\n"))
    return "\n".join(lines) + "\n"
