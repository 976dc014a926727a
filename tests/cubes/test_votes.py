"""Votes are counted once per account, by the majority of its users, without the author's."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest
from cubes.agents import Agent
from hypothesis import given, settings
from hypothesis import strategies as st
from together import together

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.cubes.rules import status_of


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
