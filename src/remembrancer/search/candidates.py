"""A view of the candidates of one question, with the statistics of the whole space: ranking then is
what it is over all parts.

An index outside of this program, such as the database's, names the candidates; their rows and those
of the turns beside them make the view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .index.entries import EntryBatch
from .index.space_index import LENGTH_SPREAD_MIN, NONE, IndexView, SpaceIndex
from .ranking import Ranking
from .scoring import cosines, lexical_scores
from .text.analysis import ParsedQuery, QueryWord

Array = npt.NDArray[Any]


@dataclass(slots=True)
class SpaceTerms:
    """What ranking must know of a whole space: sums over its parts."""

    events: int = 0
    parts: int = 0
    words: int = 0  # sum of the lengths
    logs: float = 0.0  # sums of log(1 + length) and of its square
    squares: float = 0.0
    languages: Array = field(default_factory=lambda: np.zeros(256, "i8"))  # parts by language
    speakers: frozenset[int] = frozenset()

    def add(self, batch: EntryBatch) -> None:
        """Count the events of a batch, which were not counted yet."""
        lengths = batch.head["length"]
        logs = np.log1p(lengths.astype("f8"))
        self.events += len(np.unique(batch.event))
        self.parts += len(batch)
        self.words += int(lengths.sum())
        self.logs += float(logs.sum())
        self.squares += float((logs * logs).sum())
        self.languages = self.languages + np.bincount(batch.head["language"], minlength=256)
        self.speakers |= set(np.unique(batch.head["speaker"]).tolist()) - {0}

    @property
    def languages_seen(self) -> tuple[int, ...]:
        """Numbers of the languages seen, most frequent first."""
        return tuple(
            int(number)
            for number in np.argsort(-self.languages, kind="stable")
            if self.languages[number] > 0
        )

    @property
    def log_length(self) -> tuple[float, float]:
        """Mean and standard deviation of log(1 + length); see View."""
        mean = self.logs / self.parts if self.parts else 0.0
        variance = self.squares / self.parts - mean * mean if self.parts else 0.0
        return mean, max(variance, LENGTH_SPREAD_MIN**2) ** 0.5


def frequencies_in(batch: EntryBatch, terms: Iterable[int]) -> dict[int, int]:
    """How many parts of a batch hold each of these terms."""
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
    """A view of some events of a space.

    `following` says of events of the batch which one comes next in its session: others of one
    session are not beside each other.
    `frequencies`: parts of the space by term, of every term that will be asked for.
    """
    index = SpaceIndex(dimensions)
    index.add(batch, int(batch.event[-1]) + 1 if len(batch) else 0)
    view = index.view()
    columns = {name: column[: view.size].copy() for name, column in view.columns.items()}
    _part(columns, following)
    return replace(
        view,
        columns=columns,
        events=statistics.events,
        alive_parts=statistics.parts,
        words=statistics.words,
        log_length=statistics.log_length,
        languages=statistics.languages_seen,
        speakers=statistics.speakers,
        frequencies=dict(frequencies),
    )


def best_events(
    view: IndexView, question: ParsedQuery, words: Sequence[QueryWord], vector: Array, most: int
) -> set[int]:
    """So many events of a view that fit best by words and vector together:

    whoever ranks looks at these more closely.
    """
    found = Ranking(view, question, lexical_scores(view, words), cosines(view, vector))
    return set(found.events_of(np.arange(view.size))[:most].tolist())


def _part(columns: dict[str, Array], following: Mapping[int, int]) -> None:
    """Undo the chaining of events of a session between which others lie that are not in the view."""
    event, previous = columns["event"], columns["previous"]
    chained = np.flatnonzero(previous >= 0)
    chained = chained[event[previous[chained]] != event[chained]]
    before, after = event[previous[chained]].tolist(), event[chained].tolist()
    apart = (
        chained[[following.get(one) != other for one, other in zip(before, after, strict=True)]]
        if before
        else chained
    )
    columns["next"][previous[apart]] = NONE
    previous[apart] = NONE
