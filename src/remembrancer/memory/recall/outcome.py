"""Results of a search with their reasons, for its answer and for its explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

from ...protocol.cubes import SharedCube
from ...protocol.search import FactHit, InstructionHit, MemoryAnswer, SummaryHit
from ...protocol.text import tokens
from ...search import RankedEvent, Ranker, Ranking, SearchTerms
from ...store import Row

AnyHit = TypeVar("AnyHit", FactHit, InstructionHit, SummaryHit)


class StageTimer:
    """Measures the duration of each stage of a search, in milliseconds."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._last = perf_counter()

    def end(self, stage: str) -> None:
        """Record the time since the previous stage ended under this name."""
        now = perf_counter()
        self.ms[stage] = (now - self._last) * 1000
        self._last = now


@dataclass(frozen=True, slots=True)
class FocusMatches:
    """The events that contain focus words."""

    lifts: dict[int, float]  # event number -> score to add
    counts: dict[int, int]  # event number -> number of focus words in it
    missing: list[str]  # focus words that no event contains


@dataclass(slots=True, kw_only=True)
class LayerHits:
    """The facts, instructions and summaries that bear on a query, best first."""

    facts: list[FactHit] = field(default_factory=list)
    instructions: list[InstructionHit] = field(default_factory=list)
    summaries: list[SummaryHit] = field(default_factory=list)
    lifts: dict[int, float] = field(default_factory=dict)  # by number of a summarised event


class TokenBudget:
    """The tokens that the texts of an answer may have; None means no limit.

    Instructions and facts come first and may spend at most a third each, then hits, then summaries.
    """

    def __init__(self, tokens_max: int | None, layers: LayerHits) -> None:
        """Keep the instructions and facts of `layers` that fit."""
        self._left = tokens_max
        third = None if tokens_max is None else tokens_max // 3
        layers.instructions = self._fitting(layers.instructions, third)
        layers.facts = self._fitting(layers.facts, third)

    def spend(self, *texts: str, always: bool = False) -> bool:
        """Spend the tokens of these texts; return False if they do not fit and need not."""
        if self._left is None:
            return True
        cost = sum(tokens(text) for text in texts)
        if cost > self._left and not always:
            return False
        self._left = max(self._left - cost, 0)
        return True

    def fitting_summaries(self, layers: LayerHits) -> list[SummaryHit]:
        """Return the summaries that fit after the hits."""
        return self._fitting(layers.summaries, self._left)

    def _fitting(self, hits: Sequence[AnyHit], tokens_max: int | None) -> list[AnyHit]:
        if tokens_max is None or self._left is None:
            return list(hits)
        left = min(tokens_max, self._left)
        result = []
        for hit in hits:
            cost = tokens(hit.text)
            if cost > left:
                break
            left -= cost
            self._left -= cost
            result.append(hit)
        return result


@dataclass(slots=True, kw_only=True)
class SearchOutcome:
    """The answer of a search and how it was reached.

    `ranking` is None if there was no memory to search.
    """

    answer: MemoryAnswer = field(
        default_factory=lambda: MemoryAnswer(hits=[], shared_cubes=[], step=0, total_hits=0)
    )
    space: Row | None = None  # as returned by `search_space`; None: there is none
    ranking: Ranking | None = None
    ranker: Ranker | None = None
    terms: SearchTerms | None = None
    focus: FocusMatches = field(default_factory=lambda: FocusMatches({}, {}, []))
    layers: LayerHits = field(default_factory=LayerHits)
    answerable: float = 0.0  # how likely it is that any event answers
    history_lifts: dict[int, float] = field(default_factory=dict)  # by number of an event
    # the hits, in the order of the answer
    ranked_hits: list[RankedEvent] = field(default_factory=list)
    vector_text: str = ""  # the text that was embedded
    cubes: list[SharedCube] = field(default_factory=list)

    @property
    def has_changes(self) -> bool:
        """True if there are changes between turns of the space."""
        return self.space is not None and self.space.newest_change is not None

    @property
    def space_id(self) -> int | None:
        """The row id of the space, None if there is none."""
        return None if self.space is None else int(self.space.id)

    @property
    def lifts(self) -> dict[int, float]:
        """The scores added to events: for focus words, summaries that cover them, and changes."""
        return add_lifts(add_lifts(self.focus.lifts, self.layers.lifts), self.history_lifts)


def add_lifts(first: dict[int, float], second: dict[int, float]) -> dict[int, float]:
    """Return the sums of two sets of lifts."""
    return {event: first.get(event, 0.0) + second.get(event, 0.0) for event in {**first, **second}}
