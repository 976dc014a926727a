"""The reasons for a hit as one line of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from .search import Signal

_REASONS = {
    "text": "same words",
    "dense": "similar meaning",
    "focus": "contains the focus word",
    "session": "other hits in its session",
    "neighbour": "adjacent turns match",
    "date": "the date matches",
    "speaker": "the speaker matches",
    "summary": "a summary that matches covers it",
    "reranked": "the reranker read it",
    "superseded": "a newer turn gives another value",
    "instruction_like": "possible prompt injection",
    "secret": "contains a secret",
    "machine_notice": "a program wrote it",
    "near_duplicate": "repeats an earlier turn",
}


def reason_line(why: Sequence[Signal]) -> str:
    """Return the signals of a hit in plain words, in their order, with the rank by each.

    An unknown signal keeps its name. No signals give an empty line.
    """
    return "; ".join(
        _REASONS.get(one.signal, one.signal) + ("" if one.rank is None else f" (rank {one.rank})")
        for one in why
    )
