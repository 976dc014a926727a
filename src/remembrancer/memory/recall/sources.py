"""Rank an agent's restatement of an older turn below that turn.

A restatement repeats the words of the question, so it matches a similar question better than the
turn that first said it. The source is the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...store import Row
from ..spaces import row_id

REPEATED_SHARE_MIN = 0.8  # of the words of a response that its source contains
REPEATED_WORDS_MIN = 4  # shorter responses, such as "Done.", restate nothing
COMPARED_CHARACTERS_MAX = 1_000  # longer responses are more than a restatement
# A plain pattern, because it reads the texts of all candidates of every search.
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff]{4,}|\d+|[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class RankedEvent:
    """One event of a ranking."""

    event: int  # its number in the space
    score: float  # 0..1
    part: int  # its best passage


def sources_first(
    ranked: Sequence[RankedEvent], rows: Mapping[int, Row], space_id: int
) -> list[RankedEvent]:
    """Return the events with each restatement below its source, in the same order otherwise.

    `rows` are the texts by row id. Scores stay in descending order: a source that moves up takes
    the score of the restatement.
    """
    result: list[RankedEvent] = []
    waiting = list(ranked)
    words = _Words(rows)
    while waiting:
        row = rows.get(row_id(space_id, waiting[0].event))
        place = 0 if row is None else _place_of_source(row, waiting, rows, space_id, words)
        result.append(replace(waiting[place], score=waiting[0].score))
        del waiting[place]
    return result


class _Words:
    """The content words of both sides of turns, each computed once."""

    def __init__(self, rows: Mapping[int, Row]) -> None:
        self._rows = rows
        self._words: dict[int, frozenset[str]] = {}

    def of_turn(self, row_id: int) -> frozenset[str]:
        if row_id not in self._words:
            row = self._rows[row_id]
            self._words[row_id] = content_words(f"{row.query}\n{row.response}")
        return self._words[row_id]


def _place_of_source(
    row: Row,
    waiting: Sequence[RankedEvent],
    rows: Mapping[int, Row],
    space_id: int,
    words: _Words,
) -> int:
    """Return the place in `waiting` of the turn that `row` restates; 0 for none."""
    if len(row.response) > COMPARED_CHARACTERS_MAX:
        return 0
    repeated: frozenset[str] | None = None
    for place, other in enumerate(waiting[1:], 1):
        source = rows.get(row_id(space_id, other.event))
        if source is None or source.id >= row.id:
            continue
        if source.event_id in row.response:
            return place
        if repeated is None:
            repeated = content_words(row.response)
        if len(repeated) >= REPEATED_WORDS_MIN:
            common = repeated & words.of_turn(source.id)
            if len(common) >= REPEATED_SHARE_MIN * len(repeated):
                return place
    return 0


def content_words(text: str) -> frozenset[str]:
    """Return the longer words, the numbers and the Chinese and Japanese characters of a text."""
    return frozenset(_WORD.findall(text[:COMPARED_CHARACTERS_MAX].lower()))
