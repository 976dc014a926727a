"""Rules for creating cubes and for the effect of votes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.cubes.rules import (
    FRESHNESS_MIN,
    HALF_LIFE_DAYS,
    OUTCOMES_MIN,
    freshness,
    may_propose,
    retired_by_outcomes,
    status_of,
    status_within,
    wilson,
)
from remembrancer.protocol.cubes import CubeStatus

COUNTS = st.integers(0, 1_000)
VOTES = st.integers(0, 40)
STATUSES = st.sampled_from(["private", "published", "trusted", "retired"])
ORDER = ("retired", "published", "trusted")


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
    """Calculated by hand: 9 of 10 with z = 1.645 (one-sided 95 %) and 1.96 (two-sided)."""
    assert wilson(9, 10) == pytest.approx((0.6523, 0.9773), abs=5e-4)
    assert wilson(9, 10, z=1.96) == pytest.approx((0.5958, 0.9821), abs=5e-4)
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
    before, after = (ORDER.index(status_of(count, useless)) for count in (useful, useful + 1))

    assert useful + useless < 2 or before <= after


@pytest.mark.parametrize(
    ("useful", "useless", "within"),
    [
        (0, 0, "published"),
        (1, 0, "published"),  # a single wrong vote would decide
        (0, 1, "published"),
        (2, 0, "trusted"),
        (0, 2, "retired"),
        (2, 1, "published"),
        (1, 3, "retired"),
        (3, 1, "trusted"),
        (5, 6, "published"),
    ],
)
def test_lead_of_two_users_decides_within_their_account(
    useful: int, useless: int, within: str
) -> None:
    assert status_within(useful, useless, "published") == within


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


@given(VOTES, VOTES, STATUSES)
def test_useful_vote_never_lowers_the_status_within_an_account(
    useful: int, useless: int, status: CubeStatus
) -> None:
    before, after = (
        ORDER.index(status_within(count, useless, status).replace("private", "published"))
        for count in (useful, useful + 1)
    )

    assert status == "retired" or useful + useless < 2 or before <= after


@given(STATUSES)
def test_without_votes_the_status_is_that_of_all_accounts(status: CubeStatus) -> None:
    assert status_within(0, 0, status) == status


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


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_outcomes_as_good_as_the_others_never_retire_a_cube(
    good: int, bad: int, other_good: int, other_bad: int
) -> None:
    is_retired = retired_by_outcomes(good, bad, other_good=other_good, other_bad=other_bad)

    assert not (is_retired and good * other_bad >= other_good * bad)


def test_freshness_halves_its_distance_to_the_least_in_a_half_life() -> None:
    assert freshness(0, 0) == 1
    assert freshness(HALF_LIFE_DAYS, 0) == pytest.approx((1 + FRESHNESS_MIN) / 2)
    assert freshness(2 * HALF_LIFE_DAYS, 1) == pytest.approx((1 + FRESHNESS_MIN) / 2)
    assert freshness(1e9, 0) == pytest.approx(FRESHNESS_MIN)


@given(st.floats(-10, 1e6), st.floats(0, 1e4), st.integers(0, 10**6), st.integers(0, 100))
def test_freshness_falls_with_time_and_less_so_with_exposures(
    days: float, further: float, exposures: int, more: int
) -> None:
    value = freshness(days, exposures)

    assert FRESHNESS_MIN <= value <= 1
    assert freshness(days + further, exposures) <= value
    assert freshness(days, exposures + more) >= value


def test_seldom_used_cube_still_ranks_above_one_that_fits_worse() -> None:
    """A score of 0.6 after ten years without use is above a fresh 0.55."""
    assert 0.6 * freshness(3_650, 1) > 0.55
