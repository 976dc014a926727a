"""Differences between two texts, by line and, within changed lines, by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

LINES_MAX = 1_500  # longer texts are not compared: one is removed, the other added
WORDS_MAX = 400  # the same for lines
SIMILARITY_MIN = 0.3  # less similar lines are a removed and an added line
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of kind `same`, `out` or `in`, in pieces; the flag marks the pieces that changed."""

    kind: str
    pieces: list[tuple[str, bool]]


def diff_lines(old: str, new: str) -> list[DiffLine]:
    """Return the lines of both texts in order: same, removed (`out`) and added (`in`)."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > LINES_MAX:
        return [*_unchanged("out", before), *_unchanged("in", after)]
    lines: list[DiffLine] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            lines += _unchanged("same", before[a:b])
        else:
            lines += _changed(before[a:b], after[c:d])
    return lines


def _unchanged(kind: str, lines: Sequence[str]) -> Iterator[DiffLine]:
    return (DiffLine(kind, [(line, False)]) for line in lines)


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    paired = min(len(before), len(after))
    for old, new in zip(before, after, strict=False):
        yield from _words(old, new)
    yield from _unchanged("out", before[paired:])
    yield from _unchanged("in", after[paired:])


def _words(old: str, new: str) -> list[DiffLine]:
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > WORDS_MAX:
        return [DiffLine("out", [(old, False)]), DiffLine("in", [(new, False)])]
    matcher = SequenceMatcher(None, before, after)
    if matcher.ratio() < SIMILARITY_MIN:
        return [DiffLine("out", [(old, False)]), DiffLine("in", [(new, False)])]
    removed: list[tuple[str, bool]] = []
    added: list[tuple[str, bool]] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if a < b:
            removed.append(("".join(before[a:b]), kind != "equal"))
        if c < d:
            added.append(("".join(after[c:d]), kind != "equal"))
    return [DiffLine("out", removed), DiffLine("in", added)]
