"""Votes count once per account, without the author's; what they and outcomes decide."""

from __future__ import annotations

import threading
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from cubes.agents import Agent
from hypothesis import given, settings
from hypothesis import strategies as st
from together import together

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.cubes.rules import (
    OUTCOMES_MIN,
    may_propose,
    retired_by_outcomes,
    status_of,
    status_within,
)
from remembrancer.protocol.cubes import CubeStatus


def vote_counts(agent: Agent, cube_id: str, vote: int) -> tuple[str, int, int]:
    """Vote; return the status and the counts of the response."""
    answer = agent.vote(cube_id, vote)
    return answer.cube_status, answer.votes.useful, answer.votes.useless


def test_author_vote_is_stored_but_not_counted(ada: Agent, bob: Agent, cleo: Agent) -> None:
    """The author's vote does not count (specification.md#vote-author)."""
    cube_id = ada.publish()
    for agent in (bob, cleo):
        agent.vote(cube_id, 1)

    assert vote_counts(ada, cube_id, 1) == ("published", 2, 0)
    assert ada.matching_cubes()[0].note.startswith("rated +1 by you")


@settings(max_examples=20, deadline=None)
@given(
    cast=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.sampled_from([1, -1])), max_size=30
    )
)
def test_account_counts_once_by_the_latest_votes_of_its_users(
    tmp_path_factory: pytest.TempPathFactory, cast: list[tuple[int, str, int]]
) -> None:
    """A tie counts for neither side (specification.md#vote-one-per-account)."""
    context = testing.context(tmp_path_factory.mktemp("votes"))
    agents = {(n, user): Agent(context, f"account {n}", user) for n in range(5) for user in "abc"}
    cube_id = agents[0, "a"].publish()
    results = [vote_counts(agents[account, user], cube_id, vote) for account, user, vote in cast]
    latest = {(account, user): vote for account, user, vote in cast}
    balances = [
        sum(vote for (account, _), vote in latest.items() if account == n) for n in range(1, 5)
    ]
    useful = sum(balance > 0 for balance in balances)
    useless = sum(balance < 0 for balance in balances)

    assert not cast or results[-1] == (status_of(useful, useless), useful, useless)
    context.close()


def test_concurrent_votes_are_all_counted(folder: Path, context: Context) -> None:
    author = Agent(context, "author")
    cube_id = author.publish()
    other = testing.context(folder)
    voters = [Agent(context if n % 2 else other, f"voter {n}") for n in range(8)]
    gate = threading.Barrier(len(voters))

    def cast(voter: Agent) -> None:
        gate.wait()
        for vote in (1, -1, 1):
            voter.vote(cube_id, vote)

    together(*(partial(cast, voter) for voter in voters))

    assert vote_counts(author, cube_id, 1) == ("trusted", 8, 0)
    other.close()


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
