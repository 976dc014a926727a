"""Rules for creating cubes and for the effect of votes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.cubes.rules import may_propose, status_of, wilson

COUNTS = st.integers(0, 1_000)


@pytest.mark.parametrize(
    ("turns", "last_cube_turn", "may"),
    [
        (1, None, True),
        (50, None, True),
        (1, 1, False),
        (2, 1, False),
        (3, 1, False),
        (4, 1, True),
        (6, 4, False),
        (7, 4, True),
    ],
)
def test_one_cube_is_allowed_in_three_turns(
    turns: int, last_cube_turn: int | None, *, may: bool
) -> None:
    """At most one cube per 3 turns (specification.md#remember-cube-rate)."""
    assert may_propose(turns, last_cube_turn) is may


@given(st.lists(st.booleans(), max_size=200))
def test_three_consecutive_turns_never_create_two_cubes(proposals: list[bool]) -> None:
    created: list[int] = []
    for turn, proposes in enumerate(proposals, 1):
        if proposes and may_propose(turn, created[-1] if created else None):
            created.append(turn)

    assert all(later - earlier >= 3 for earlier, later in pairwise(created))


@pytest.mark.parametrize(
    ("useful", "useless", "status"),
    [
        (0, 0, "published"),
        (2, 0, "published"),  # too few accounts
        (0, 2, "published"),
        (3, 0, "trusted"),
        (0, 3, "retired"),
        (2, 1, "published"),
        (1, 2, "published"),
        (3, 1, "published"),
        (4, 1, "published"),
        (5, 1, "published"),  # its lower bound is 0.498
        (6, 1, "trusted"),
        (1, 5, "published"),
        (1, 6, "retired"),
        (50, 50, "published"),
        (600, 400, "trusted"),
        (400, 600, "retired"),
    ],
)
def test_votes_determine_the_status(useful: int, useless: int, status: str) -> None:
    """Wilson bounds of at least 3 accounts decide.

    See specification.md#cube-trusted, specification.md#cube-retired.
    """
    assert status_of(useful, useless) == status


def test_wilson_bounds_match_a_manual_calculation() -> None:
    """Calculated by hand: 9 of 10 with z = 1.645 (one-sided 95 %)."""
    assert wilson(9, 10) == pytest.approx((0.6523, 0.9773), abs=5e-4)
    assert wilson(0, 0) == (0, 1)


@given(COUNTS, COUNTS)
def test_share_lies_between_symmetric_bounds(useful: int, useless: int) -> None:
    votes = useful + useless
    lower, upper = wilson(useful, votes)

    assert 0 <= lower <= upper <= 1
    assert votes == 0 or lower - 1e-9 <= useful / votes <= upper + 1e-9
    assert wilson(useless, votes) == pytest.approx((1 - upper, 1 - lower))


@given(COUNTS, COUNTS)
def test_useful_vote_never_lowers_the_status(useful: int, useless: int) -> None:
    order = ("retired", "published", "trusted")

    assert useful + useless < 2 or order.index(status_of(useful + 1, useless)) >= order.index(
        status_of(useful, useless)
    )
