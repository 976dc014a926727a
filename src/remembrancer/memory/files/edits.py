"""What the memory tool says and does to texts, as its documentation has it: no store, no user.

Lines end at a line feed and at nothing else; what stands after the last one is a line of its own,
even when it is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...protocol import limits

LEVELS_SHOWN = 2
CONTEXT_LINES = 2  # shown before and after a replacement
_LEFT_OUT = "node_modules"
_UNITS = "BKMG"


class CommandRefused(Exception):
    """The tool's own words for why nothing was done."""


def contents(path: str, text: str, view_range: Sequence[int] | None) -> str:
    """A file with its lines numbered, or some of them:

    first and last, from 1; -1 is the end. Raises CommandRefused.
    """
    lines = text.split("\n")
    first, last = view_range or (1, -1)
    if not 1 <= first <= len(lines) or (last != -1 and last < first):
        within = f"the range of lines of the file: [1, {len(lines)}]"
        raise CommandRefused(
            f"Error: Invalid `view_range` parameter: [{first}, {last}]. It should be within {within}"
        )
    shown = lines[first - 1 : None if last == -1 else last]
    return f"Here's the content of {path} with line numbers:\n{number_lines(shown, first)}"


def number_lines(lines: Sequence[str], first: int) -> str:
    """Lines, each after its number in six places and a tab."""
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def listing(path: str, sizes: Mapping[str, int]) -> str:
    """A folder: what is in it two levels deep, hidden items left out, each with its size; `sizes`
    are the bytes of all files below it.
    """
    total = sum(sizes.values())
    rows = [f"{in_units(total)}\t{path}", *_rows(path, sizes, 1)]
    header = f"Here're the files and directories up to {LEVELS_SHOWN} levels deep in {path}, excluding hidden items and node_modules:"
    return "\n".join([header, *rows])


def _rows(folder: str, sizes: Mapping[str, int], level: int) -> Iterator[str]:
    within: dict[str, dict[str, int]] = {}
    for path, size in sizes.items():
        name = path[len(folder) + 1 :].partition("/")[0]
        within.setdefault(name, {})[path] = size
    for name in sorted(within):
        if name.startswith(".") or name == _LEFT_OUT:
            continue
        here = f"{folder}/{name}"
        is_file = here in within[name]
        yield f"{in_units(sum(within[name].values()))}\t{here}{'' if is_file else '/'}"
        if not is_file and level < LEVELS_SHOWN:
            yield from _rows(here, within[name], level + 1)


def in_units(count: int) -> str:
    """A size as people read it: 512B, 1.5K, 2M."""
    unit = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    size = count / 1024**unit
    return f"{int(size)}{_UNITS[unit]}" if size == int(size) else f"{size:.1f}{_UNITS[unit]}"


def replace(path: str, text: str, old: str, new: str) -> str:
    """The text with `old`, which stands there once, replaced. Raises CommandRefused."""
    at = text.find(old)
    if at < 0:
        raise CommandRefused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )
    if text.find(old, at + 1) >= 0:
        said = _lines_of(text, old)
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {said}. Please ensure it is unique"
        )
    return text[:at] + new + text[at + len(old) :]


def _lines_of(text: str, old: str) -> str:
    lines: list[int] = []
    line, at, counted = 1, text.find(old), 0
    while at >= 0:
        line, counted = line + text.count("\n", counted, at), at
        lines.append(line)
        at = text.find(old, at + 1)
    named = [str(one) for one in lines[: limits.MEMORY_LINES_NAMED_MAX]]
    more = len(lines) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def edit(before: str, after: str) -> str:
    """What is said of a replacement: the lines about the first one that changed."""
    was, lines = before.split("\n"), after.split("\n")
    changed = next(
        (at for at, (one, other) in enumerate(zip(was, lines, strict=False)) if one != other),
        min(len(was), len(lines)) - 1,
    )
    first = max(0, changed - CONTEXT_LINES)
    snippet = number_lines(lines[first : changed + CONTEXT_LINES + 1], first + 1)
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"


def insert(text: str, line: int, new: str) -> str:
    """The text with lines inserted after a line, or at the beginning for 0; it ends with a line
    feed. Raises CommandRefused.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= line <= len(lines):
        within = f"the range of lines of the file: [0, {len(lines)}]"
        raise CommandRefused(
            f"Error: Invalid `insert_line` parameter: {line}. It should be within {within}"
        )
    lines.insert(line, new.removesuffix("\n"))
    return "\n".join(lines) + "\n"
