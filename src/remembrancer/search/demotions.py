"""Events whose scores are reduced: suspects, machine notices, near duplicates and old turns.

Nothing is hidden: they follow when a list is not full, and a query that quotes a notice finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .index.space_index import IndexView
from .text.analysis import IN_SESSION, NOTICE, REPEATED, SUSPECT, ParsedQuery

Array: TypeAlias = npt.NDArray[Any]

# Subtracted from the score of an event that looks like a prompt injection, which ranks it below
# similar events.
SUSPECT_COST = 5.0
# Subtracted from the score of an event that repeats a returned one, and of a passage that a program
# wrote. Scores differ by less, so these come after everything else, in this order.
REPEATED_COST, NOTICE_COST = 40.0, 80.0
AGE_COST = 5.0  # of a turn that is very old, if age counts; about a word of the question
# A query quotes a passage of a program if the passage has nearly all of its content words, at least
# this many, and no passage of somebody's words has as many.
QUOTED_WORDS_MIN = 6
QUOTED_COVERAGE_MIN = 0.95


@dataclass(frozen=True, slots=True)
class Decay:
    """Cost of the age of a turn: half of AGE_COST after one half-life, at most AGE_COST."""

    now_ms: int
    half_life_ms: int

    def cost(self, occurred_ms: Array) -> Array:
        """Return the cost (E,) of turns by the time they occurred; 0 for turns to come."""
        age = np.maximum(self.now_ms - occurred_ms, 0) / self.half_life_ms
        cost: Array = (AGE_COST * (1 - np.exp2(-age))).astype("f4")
        return cost


def suspects_in(view: IndexView) -> Array:
    """Return the numbers of the events of a view that look like a prompt injection.

    A notice has its own cost, and must not lower the words beside it.
    """
    if not view.flags & SUSPECT:
        return view["event"][:0]
    flags = view["flags"] & (SUSPECT | NOTICE)
    return view["event"][np.flatnonzero(flags == SUSPECT)]


def unquoted_notices(
    view: IndexView, question: ParsedQuery, coverage: Array, allowed: Array
) -> Array | None:
    """Return the passages that programs wrote and the query does not quote: (size,) bool.

    `coverage`, (size,), is the share of the query's words in each passage. None if there are no
    such passages.
    """
    if not view.flags & NOTICE:
        return None
    notices: Array = view["flags"] & NOTICE > 0
    if not notices.any():
        return None
    content = {word.text.lower() for word in question.words if not word.is_stop}
    if len(content) >= QUOTED_WORDS_MIN:
        own = coverage[allowed & ~notices]
        least = max(QUOTED_COVERAGE_MIN, float(own.max()) + 1e-4 if len(own) else 0.0)
        notices &= coverage < least
    return notices if notices.any() else None


def notices_alone(notices: Array, keep: Array, firsts: Array) -> Array:
    """Return which parts of a pool count only as what programs wrote: (P,) bool.

    Those are the notices, and the words beside them in events that match by a notice alone.
    `notices` and `keep`, (P,), are the notices and the parts that match; `firsts` are the first
    parts of the events.
    """
    sizes = np.diff(np.append(firsts, len(notices)))
    has_own = np.logical_or.reduceat(keep & ~notices, firsts)
    has_notice = np.logical_or.reduceat(notices, firsts)
    return notices | np.repeat(has_notice & ~has_own, sizes)


def repeats_in(view: IndexView, pool: Array) -> Array:
    """Return the numbers of events of a pool that repeat an earlier event of the pool, ascending.

    The earliest stays: its id is the one that was cited, and what differs between near duplicates
    tells nothing. If it is erased, or out of the period searched, the next one takes its place.
    """
    if not view.flags & REPEATED:
        return pool[:0]
    flags = view["flags"][pool]
    repeated = flags & REPEATED > 0
    if not repeated.any():
        return pool[:0]
    twin = view["twin"][pool].astype("i8")
    alike = np.flatnonzero(np.isin(twin, twin[repeated]) & (twin > 0))
    session = np.where(flags[alike] & IN_SESSION > 0, view["session"][pool[alike]], -1)
    groups = np.stack([twin[alike], session], axis=1)
    events = view["event"][pool[alike]]  # ascending
    _, firsts, group = np.unique(groups, axis=0, return_index=True, return_inverse=True)
    return np.unique(events[events != events[firsts][group.reshape(-1)]])
