"""What changed from one text to another:

line by line, and within lines that changed word by word. Made here, for pages without scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

LINES_MAX = 1_500  # of each text that are compared; longer ones are shown as taken out and put in
WORDS_MAX = 400  # of each of two lines
ALIKE_MIN = 0.3  # lines that share less are not one line that changed
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line: `same`, `out` or `in`; its pieces, and whether each of them is what changed."""

    kind: str
    pieces: list[tuple[str, bool]]


def diff_lines(old: str, new: str) -> list[DiffLine]:
    """Both texts as one: lines that stayed, and those that went out and came in, in order."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > LINES_MAX:
        return [*_whole("out", before), *_whole("in", after)]
    found: list[DiffLine] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            found += _whole("same", before[a:b])
        else:
            found += _changed(before[a:b], after[c:d])
    return found


def _whole(kind: str, lines: Sequence[str]) -> Iterator[DiffLine]:
    return (DiffLine(kind, [(line, False)]) for line in lines)


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    paired = min(len(before), len(after))
    for old, new in zip(before, after, strict=False):
        yield from _words(old, new)
    yield from _whole("out", before[paired:])
    yield from _whole("in", after[paired:])


def _words(old: str, new: str) -> list[DiffLine]:
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > WORDS_MAX:
        return [DiffLine("out", [(old, False)]), DiffLine("in", [(new, False)])]
    matcher = SequenceMatcher(None, before, after)
    if matcher.ratio() < ALIKE_MIN:
        return [DiffLine("out", [(old, False)]), DiffLine("in", [(new, False)])]
    gone: list[tuple[str, bool]] = []
    came: list[tuple[str, bool]] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if a < b:
            gone.append(("".join(before[a:b]), kind != "equal"))
        if c < d:
            came.append(("".join(after[c:d]), kind != "equal"))
    return [DiffLine("out", gone), DiffLine("in", came)]
