"""Votes are counted once per account, without the author's."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from cubes.agents import Agent
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.cubes.rules import status_of
from remembrancer.cubes.votes import CubeUnknown


def vote_counts(agent: Agent, cube_id: str, vote: int) -> tuple[str, int, int]:
    """Vote; return the status and the counts of the response."""
    answer = agent.vote(cube_id, vote)
    return answer.cube_status, answer.votes.useful, answer.votes.useless


def test_new_vote_replaces_the_previous_one(ada: Agent, bob: Agent) -> None:
    """Voting again replaces the vote (specification.md#vote-one-per-account)."""
    cube_id = ada.publish()

    results = [vote_counts(bob, cube_id, vote) for vote in (1, 1, -1, 1, -1, -1)]

    assert results == [("published", max(v, 0), max(-v, 0)) for v in (1, 1, -1, 1, -1, -1)]


def test_author_vote_is_stored_but_not_counted(ada: Agent, bob: Agent, cleo: Agent) -> None:
    """The author's vote does not count (specification.md#vote-author)."""
    cube_id = ada.publish()
    for agent in (bob, cleo):
        agent.vote(cube_id, 1)

    assert vote_counts(ada, cube_id, 1) == ("published", 2, 0)
    assert ada.matching_cubes()[0].note.startswith("rated +1 by you")


def test_author_vote_keeps_a_private_cube_private(ada: Agent) -> None:
    cube_id = ada.make().cube_id

    assert vote_counts(ada, cube_id, -1) == ("private", 0, 0)
    assert [cube.cube_id for cube in ada.matching_cubes()] == [cube_id]


def test_invisible_cube_cannot_be_voted_on(ada: Agent, bob: Agent) -> None:
    """An invisible cube is a 404 (specification.md#vote-unknown)."""
    for cube_id in (
        ada.make().cube_id,
        "c_0000000000000",
        "c_\ud800".encode("utf-8", "replace").decode(),
        "",
    ):
        with pytest.raises((CubeUnknown, ValueError)):
            bob.vote(cube_id, 1)
    assert bob.context.store.read(lambda tx: tx.one("select count(*) as n from ratings")).n == 0


def test_three_agreeing_accounts_change_the_status_and_votes_can_undo_it(ada: Agent) -> None:
    voters = [Agent(ada.context, f"voter {n}") for n in range(6)]
    cube_id = ada.publish()

    up = [vote_counts(voter, cube_id, 1)[0] for voter in voters[:3]]
    down = [vote_counts(voter, cube_id, -1)[0] for voter in voters[:3]]
    back = [vote_counts(voter, cube_id, 1)[0] for voter in voters]

    assert up == ["published", "published", "trusted"]
    assert down == ["published", "published", "retired"]
    assert back == ["published", "published", "trusted", "trusted", "trusted", "trusted"]


@settings(max_examples=20, deadline=None)
@given(cast=st.lists(st.tuples(st.integers(0, 5), st.sampled_from([1, -1])), max_size=25))
def test_latest_vote_of_each_account_counts(
    tmp_path_factory: pytest.TempPathFactory, cast: list[tuple[int, int]]
) -> None:
    context = testing.context(tmp_path_factory.mktemp("votes"))
    agents = [Agent(context, f"agent {n}") for n in range(6)]
    cube_id = agents[0].publish()
    results = [vote_counts(agents[who], cube_id, vote) for who, vote in cast]
    latest = {who: vote for who, vote in cast if who != 0}
    useful, useless = list(latest.values()).count(1), list(latest.values()).count(-1)

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

    threads = [threading.Thread(target=cast, args=(voter,)) for voter in voters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert vote_counts(author, cube_id, 1) == ("trusted", 8, 0)
    other.close()
