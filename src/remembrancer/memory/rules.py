"""What is due, decided from counts alone: no store, no clock."""

from __future__ import annotations

L1_TURNS = 15  # specification, Limits: an L1 is due about every 15 turns of a session
L2_SUMMARIES = 10  # specification, Limits: an L2 is due after 10 L1s


def is_l1_due(turns: int, turns_summarised: int) -> bool:
    """Whether a session with so many turns, of which its L1s tell of so many, wants its next L1."""
    return turns - turns_summarised >= L1_TURNS


def is_l2_due(l1_count: int, l1_mapped: int) -> bool:
    """Whether a space with so many L1s, of which its newest map knows so many, wants its map made anew."""
    return l1_count - l1_mapped >= L2_SUMMARIES
