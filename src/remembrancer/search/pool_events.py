"""The events of a pool: their passages, and cheap scores that choose the candidates of a search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from .runs import lengths_of_runs, mean_of, starts_of_runs
from .text.analysis import QUERY, QUESTION

if TYPE_CHECKING:
    from .ranking import Ranking

Array: TypeAlias = npt.NDArray[Any]

CANDIDATES_MAX = 200  # events of a pool that the network scores; the others follow them
BEST_OF_SESSION = 3  # other events of a session that count for its score


@dataclass(frozen=True, slots=True)
class PartScores:
    """The scores of P parts, a row (P,) of float32 for each kind."""

    ROWS: ClassVar = ("text", "dense", "coverage", "cosine", "base")

    rows: Array  # (len(ROWS), P)

    @property
    def text(self) -> Array:
        """The scores by words: 0..1."""
        text: Array = self.rows[0]
        return text

    @property
    def dense(self) -> Array:
        """The scores by vector: 0..1."""
        dense: Array = self.rows[1]
        return dense

    @property
    def cosine(self) -> Array:
        """The cosines."""
        cosine: Array = self.rows[3]
        return cosine

    @property
    def base(self) -> Array:
        """The scores by words and vector: 0..1, and 0 for notices."""
        base: Array = self.rows[4]
        return base


@dataclass(frozen=True)
class PoolEvents:
    """The E events of some parts of a view (P,), in the order of their numbers."""

    ranking: Ranking
    parts: Array  # (P,), places in the view, ascending; all allowed parts of each event
    part_scores: PartScores | None = None  # computed when they are needed, if None

    @cached_property
    def scores(self) -> PartScores:
        """The scores of the parts."""
        return self.part_scores or self.ranking.scores_of(self.parts)

    @cached_property
    def firsts(self) -> Array:
        """The place in `parts` of the first part of each event: (E,)."""
        return starts_of_runs(self.ranking.view["event"][self.parts])

    @cached_property
    def sizes(self) -> Array:
        """The number of parts of each event: (E,)."""
        return lengths_of_runs(self.firsts, len(self.parts))

    @cached_property
    def numbers(self) -> Array:
        """The numbers of the events within the space: (E,)."""
        return self.ranking.view["event"][self.parts[self.firsts]]

    @cached_property
    def of_part(self) -> Array:
        """The place of the event of each part: (P,)."""
        return np.repeat(np.arange(len(self.firsts)), self.sizes)

    @cached_property
    def is_query(self) -> Array:
        """Which parts are the user's words: (P,) bool."""
        is_query: Array = self.ranking.view["side"][self.parts] == QUERY
        return is_query

    @cached_property
    def is_own(self) -> Array | None:
        """Which parts somebody said, not programs: (P,) bool; None: all."""
        notices = self.ranking.notices
        return None if notices is None else ~notices[self.parts]

    @property
    def base(self) -> Array:
        """The base scores of the parts: (P,)."""
        return self.scores.base

    @cached_property
    def best(self) -> Array:
        """The best base score of the parts of each event: (E,)."""
        return self.most(self.base)

    @cached_property
    def places_of_best(self) -> Array:
        """The place in `parts` of the best part of each event, the first of equals: (E,)."""
        is_best = np.flatnonzero(self.base >= np.repeat(self.best, self.sizes))
        return is_best[starts_of_runs(self.of_part[is_best])]

    @cached_property
    def is_question(self) -> Array:
        """Which events ask something in the user's words: (E,), 0 or 1."""
        return self.any_of((self.flags & QUESTION > 0) & self.is_query)

    @cached_property
    def flags(self) -> Array:
        """The flags of the parts: (P,)."""
        return self.ranking.view["flags"][self.parts]

    @cached_property
    def sessions(self) -> tuple[Array, Array]:
        """Order the events by session: their places (E,), and where each session starts there."""
        session = self.ranking.view["session"][self.parts[self.firsts]]
        order = np.argsort(session, kind="stable")
        return order, starts_of_runs(session[order])

    @cached_property
    def lengths(self) -> Array:
        """The number of words of each event: (E,) float32."""
        return np.add.reduceat(self._length, self.firsts)

    @cached_property
    def query_lengths(self) -> Array:
        """The number of the user's words of each event: (E,) float32."""
        return np.add.reduceat(self._length * self.is_query, self.firsts)

    @cached_property
    def _length(self) -> Array:
        return self.ranking.view["length"][self.parts].astype("f4")

    @cached_property
    def of_session(self) -> Array:
        """The fit of the other events of each session, less the mean of all: (E,).

        The mean of the three best of the others; 0 for the only event of a session, and in the
        only session. Its own score is left out, because it would only be repeated.
        """
        session = self.ranking.view["session"][self.parts[self.firsts]]
        order = np.argsort(2.0 * session - self.best)  # scores are 0..1
        starts = starts_of_runs(session[order])
        count = len(order)
        result = np.zeros(count, "f4")
        if len(starts) == 1:
            return result
        sizes = lengths_of_runs(starts, count)
        best, size = self.best[order], np.repeat(sizes, sizes)
        rank = np.arange(count) - np.repeat(starts, sizes)
        is_top = rank < BEST_OF_SESSION
        top = np.repeat(np.add.reduceat(best * is_top, starts), sizes)
        fourth = np.repeat(np.add.reduceat(best * (rank == BEST_OF_SESSION), starts), sizes)
        others = np.where(is_top, top + fourth - best, top)
        mean = others / np.maximum(np.minimum(size - 1, BEST_OF_SESSION), 1)
        has_others = size > 1
        middle = mean_of(mean[has_others])
        # Shrunk for a short session: of two events, the worse one has the better other one.
        shrunk = (mean - middle) * (size - 1) / (size + 1)
        result[order] = shrunk * has_others
        return result

    @cached_property
    def quick(self) -> Array:
        """Cheap scores of the events, to choose those that the network scores: (E,)."""
        text = self.scores.text
        is_chosen = (text > 0) & self.is_query
        chosen = np.flatnonzero(is_chosen if self.is_own is None else is_chosen & self.is_own)
        query_text = np.zeros(len(self.firsts), "f4")
        np.maximum.at(query_text, self.of_part[chosen], text[chosen])
        quick: Array = self.best + 0.3 * self.of_session + 0.3 * query_text
        return quick

    @cached_property
    def candidates(self) -> Array:
        """The places of the most promising events, ascending: (C,), C <= CANDIDATES_MAX."""
        if len(self.firsts) <= CANDIDATES_MAX:
            return np.arange(len(self.firsts))
        return np.sort(np.argpartition(-self.quick, CANDIDATES_MAX)[:CANDIDATES_MAX])

    def most(self, values: Array) -> Array:
        """Return the largest value of the parts of each event: (P,) to (E,)."""
        return np.maximum.reduceat(values, self.firsts)

    def any_of(self, values: Array) -> Array:
        """Return 1 for the events of which any part has True, else 0: (P,) to (E,)."""
        result = np.zeros(len(self.firsts), "f4")
        result[self.of_part[np.flatnonzero(values)]] = 1
        return result

    def best_parts(self, places: Array) -> Array:
        """Return the part of each of some events that fits best, as places in the view."""
        order = np.argsort(places)
        some = self.only(places[order])
        parts = np.empty(len(places), "i8")
        parts[order] = some.parts[some.places_of_best]
        return parts

    def only(self, places: Array) -> PoolEvents:
        """Return some of the events, with their parts; `places` ascend."""
        if len(places) == len(self.firsts):
            return self
        sizes = self.sizes[places]
        ends = np.cumsum(sizes)
        chosen = np.arange(int(ends[-1])) + np.repeat(self.firsts[places] - ends + sizes, sizes)
        return PoolEvents(self.ranking, self.parts[chosen], PartScores(self.scores.rows[:, chosen]))

    def neighbours(self, before: Array, after: Array) -> tuple[Array, Array]:
        """Return the places of the events before some and after others in their sessions.

        `before` and `after` are places, -1 for none; so are the results.
        """
        view, parts, numbers = self.ranking.view, self.parts, self.numbers
        part = np.concatenate(
            [
                view["previous"][parts[self.firsts[before]]],
                view["next"][parts[self.firsts[after] + self.sizes[after] - 1]],
            ]
        )
        exists = np.concatenate([before, after]) >= 0
        exists &= part >= 0
        exists &= part < view.size  # a newer turn may have followed
        part *= exists
        number = view["event"][part]
        place = np.searchsorted(numbers, number)
        np.minimum(place, len(numbers) - 1, out=place)
        exists &= numbers[place] == number
        place[~exists] = -1
        return place[: len(before)], place[len(before) :]
