"""A view of the candidates for one query, with the statistics of the whole space.

An index outside this process, such as PostgreSQL's, selects the candidates. Their rows and those of
neighbouring turns form the view, which ranks as the whole index would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .index.entries import EntryBatch
from .index.space_index import NONE, IndexView, SpaceIndex
from .ranking import Ranking, untrained
from .scoring import cosines, lexical_scores
from .text.analysis import ParsedQuery, QueryWord

Array = npt.NDArray[Any]


@dataclass(slots=True)
class SpaceTerms:
    """Statistics of a whole space that ranking needs: sums over its parts."""

    events: int = 0
    parts: int = 0
    words: int = 0  # sum of the lengths
    languages: Array = field(default_factory=lambda: np.zeros(256, "i8"))  # parts by language
    speakers: frozenset[int] = frozenset()

    def add(self, batch: EntryBatch) -> None:
        """Add the events of a batch that are not included yet."""
        self.events += len(np.unique(batch.event))
        self.parts += len(batch)
        self.words += int(batch.head["length"].sum())
        self.languages = self.languages + np.bincount(batch.head["language"], minlength=256)
        self.speakers |= set(np.unique(batch.head["speaker"]).tolist()) - {0}

    @property
    def languages_seen(self) -> tuple[int, ...]:
        """The numbers of the space's languages, most frequent first."""
        return tuple(
            int(number)
            for number in np.argsort(-self.languages, kind="stable")
            if self.languages[number] > 0
        )


def frequencies_in(batch: EntryBatch, terms: Iterable[int]) -> dict[int, int]:
    """Return the number of parts of a batch that contain each of these terms."""
    return (
        {term: int(np.count_nonzero(batch.term == np.uint32(term))) for term in terms}
        if len(batch)
        else {}
    )


def view_among(
    batch: EntryBatch,
    dimensions: int,
    following: Mapping[int, int],
    statistics: SpaceTerms,
    frequencies: Mapping[int, int],
) -> IndexView:
    """Return a view of some events of a space.

    `following` maps events of the batch to the next event of their session; other events of a
    session are not neighbours. `frequencies` is the number of parts of the space by term, for every
    term of the query.
    """
    index = SpaceIndex(dimensions)
    index.add(batch, int(batch.event[-1]) + 1 if len(batch) else 0)
    view = index.view()
    columns = {name: column[: view.size].copy() for name, column in view.columns.items()}
    _unlink(columns, following)
    return replace(
        view,
        columns=columns,
        events=statistics.events,
        alive_parts=statistics.parts,
        words=statistics.words,
        languages=statistics.languages_seen,
        speakers=statistics.speakers,
        frequencies=dict(frequencies),
    )


def best_events(
    view: IndexView, question: ParsedQuery, words: Sequence[QueryWord], vector: Array, most: int
) -> set[int]:
    """Return the `most` events of a view that fit best by words and vector together."""
    scores = lexical_scores(view, words), cosines(view, vector)
    ranking = Ranking(view, question, *scores, untrained())
    return set(ranking.events_of(np.arange(view.size))[:most].tolist())


def _unlink(columns: dict[str, Array], following: Mapping[int, int]) -> None:
    """Unlink events of a session if events between them are missing from the view."""
    event, previous = columns["event"], columns["previous"]
    linked = np.flatnonzero(previous >= 0)
    linked = linked[event[previous[linked]] != event[linked]]
    before, after = event[previous[linked]].tolist(), event[linked].tolist()
    unlinked = (
        linked[
            [following.get(first) != second for first, second in zip(before, after, strict=True)]
        ]
        if before
        else linked
    )
    columns["next"][previous[unlinked]] = NONE
    previous[unlinked] = NONE
