"""Rules for creating cubes and for the effect of votes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.cubes.rules import (
    OUTCOMES_MIN,
    may_propose,
    retired_by_outcomes,
    status_of,
    status_within,
)
from remembrancer.protocol.cubes import CubeStatus


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


@pytest.mark.parametrize(
    ("useful", "useless", "status", "within"),
    [
        (0, 2, "trusted", "trusted"),
        (0, 3, "trusted", "retired"),
        (1, 4, "trusted", "trusted"),
        (1, 6, "trusted", "retired"),
        (2, 0, "retired", "retired"),
        (3, 0, "retired", "trusted"),
        (2, 0, "trusted", "trusted"),
        (0, 2, "private", "retired"),
        (2, 0, "private", "trusted"),
    ],
)
def test_contradicting_other_accounts_takes_the_evidence_of_accounts(
    useful: int, useless: int, status: CubeStatus, within: str
) -> None:
    assert status_within(useful, useless, status) == within


@pytest.mark.parametrize(
    ("outcomes", "others", "retired"),
    [
        ((0, OUTCOMES_MIN - 1), (99, 1), False),  # too few
        ((0, 5), (25, 25), True),  # at most 0.351, the others at least 0.387
        ((0, 5), (15, 35), False),
        ((0, 5), (0, 0), False),  # nothing to compare with
        ((0, 5), (3, 0), True),
        ((0, 5), (2, 2), False),
        ((1, 4), (25, 25), False),
        ((40, 60), (600, 400), True),
        ((50, 50), (500, 500), False),
        ((5, 0), (10, 0), False),
    ],
)
def test_outcomes_clearly_below_those_without_a_cube_retire_it(
    outcomes: tuple[int, int], others: tuple[int, int], *, retired: bool
) -> None:
    other_good, other_bad = others

    assert retired_by_outcomes(*outcomes, other_good=other_good, other_bad=other_bad) is retired
