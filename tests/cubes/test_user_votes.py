"""Votes of the users of one account: each has its own, and the account counts once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cubes.agents import KETTLE, QUESTION, Agent
from engines import ENGINES, empty_store
from memory.asking import Memory

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.memory.history.forget import forget
from remembrancer.memory.summaries.start_pack import start_pack
from remembrancer.protocol.cubes import SharedCube
from remembrancer.protocol.forget import Forget
from remembrancer.protocol.summaries import StartQuery
from remembrancer.store import Row, open_store


@pytest.fixture(params=ENGINES)
def context(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    """Return a context on each engine in turn."""
    url = empty_store(str(request.param), tmp_path)
    with closing(testing.context(tmp_path, store=open_store(url, durability="normal"))) as opened:
        yield opened


@pytest.fixture
def anna(bob: Agent) -> Agent:
    """Return the first of three users of Bob's account."""
    return Agent(bob.context, "bob", "anna")


@pytest.fixture
def ben(bob: Agent) -> Agent:
    """Return the second user."""
    return Agent(bob.context, "bob", "ben")


@pytest.fixture
def carl(bob: Agent) -> Agent:
    """Return the third user."""
    return Agent(bob.context, "bob", "carl")


def memory_of(agent: Agent) -> Memory:
    """Return the memory of the agent's user."""
    return Memory(agent.context, agent.caller, agent.user_id)


def search(agent: Agent, *, interact: bool = False) -> tuple[SharedCube, ...]:
    """Return the cubes of a whole search."""
    return tuple(memory_of(agent).ask(QUESTION, interact=interact).shared_cubes)


def start_lessons(agent: Agent) -> list[str]:
    """Return the cubes of the user's start pack."""
    query = StartQuery(user_id=agent.user_id, format="json")
    parts = start_pack(agent.context, agent.caller, query).parts
    assert parts is not None
    return parts.cubes


def ratings(context: Context) -> list[Row]:
    """Return all ratings."""
    sql = "select user_id, vote, reason from ratings order by cube, account_id, rated_ms, user_id"
    return context.store.read(lambda tx: tx.all(sql))


@pytest.mark.parametrize("visibility", ["private", "published"])  # private: of the account
def test_rejected_cube_of_the_own_account_is_hidden_from_that_user_only(
    anna: Agent, ben: Agent, carl: Agent, visibility: str
) -> None:
    """A -1 hides the cube from its user (specification.md#cube-rejected-hidden)."""
    reach = "publish" if visibility == "published" else "for_account"
    cube_id = anna.make(**{reach: True}).cube_id
    before = [len(search(user)) for user in (anna, ben, carl)]

    answer = anna.vote(cube_id, -1)

    assert before == [1, 1, 1]
    assert (answer.user_id, answer.cube_status) == ("anna", visibility)
    assert [len(search(user)) for user in (anna, ben, carl)] == [0, 1, 1]
    assert [len(start_lessons(user)) for user in (anna, ben, carl)] == [0, 1, 1]


def test_rejected_cube_of_another_account_is_hidden_from_that_user_only(
    ada: Agent, anna: Agent, ben: Agent, carl: Agent
) -> None:
    """Every user of an account rates for itself (specification.md#cube-note-new).

    A useful one enters the start pack of its user (specification.md#start-cubes).
    """
    cube_id = ada.publish()
    ben.vote(cube_id, 1)
    anna.vote(cube_id, -1)
    assert [len(start_lessons(user)) for user in (anna, ben, carl)] == [0, 1, 0]

    notes = [[cube.note.split()[0] for cube in search(user)] for user in (ada, anna, ben, carl)]
    assert notes == [["own"], [], ["rated"], ["new"]]

    anna.vote(cube_id, 1)
    assert len(search(anna)) == 1


def test_vote_nothing_rates_for_the_user_of_the_session(
    ada: Agent, anna: Agent, ben: Agent
) -> None:
    """Another user still owes its rating (specification.md#cube-rating-duty)."""
    ada.publish()
    for user in (anna, ben):
        search(user, interact=True)

    memory_of(anna).add(duty="vote_nothing", duty_reason="not now")

    assert [tuple(row) for row in ratings(ada.context)] == [("anna", 0, "not now")]
    for user, note, owes in ((anna, "rated", False), (ben, "new", True)):
        assert search(user)[0].note.split()[0] == note
        reminders = memory_of(user).ask(QUESTION, interact=True).reminders or []
        assert any("vote_nothing" in text for text in reminders) == owes


def test_votes_of_a_forgotten_user_count_without_name_and_reason(
    ada: Agent, anna: Agent, ben: Agent, carl: Agent
) -> None:
    """The majority of the account stays the same (specification.md#forget-votes)."""
    cube_id, own = ada.publish(), anna.make().cube_id
    ada.publish(essence="Descaling a kettle takes lemon and an hour, not scrubbing.")
    search(anna, interact=True)
    for user, vote in ((anna, -1), (ben, -1), (carl, 1)):
        user.vote(cube_id, vote, f"{user.user_id} says so")
    anna.vote(own, -1)
    memory_of(anna).add(duty="vote_nothing", duty_reason="not now")
    votes_before = {row.vote for row in ratings(ada.context)}

    for user in (anna, ben):
        forget(user.context, user.caller, Forget(user_id=user.user_id, confirm=user.user_id))

    rows = ratings(ada.context)
    assert votes_before == {1, 0, -1}
    assert sorted((row.user_id[:7], row.vote, row.reason) for row in rows) == [
        ("carl", 1, "carl says so"),
        ("erased_", -1, None),
        ("erased_", -1, None),
    ]
    assert ada.vote(cube_id, 1).votes.model_dump() == {"useful": 0, "useless": 1}
    assert {cube.note.split()[0] for cube in search(anna)} == {"new"}


def test_votes_of_a_forgotten_account_count_without_names_and_reasons(
    ada: Agent, anna: Agent, ben: Agent, carl: Agent
) -> None:
    """Its own cubes go with every vote on them (specification.md#forget-votes)."""
    cube_id, own = ada.publish(), anna.publish(**{**KETTLE, "topic": "old kettles"})
    for user in (anna, ben):
        user.vote(cube_id, 1, f"{user.user_id} says so")
    carl.vote(own, -1)
    ada.vote(own, 1)

    forget(anna.context, anna.caller, Forget(account=True, confirm="bob"))

    rows = ratings(ada.context)
    assert [(row.user_id[:7], row.vote, row.reason) for row in rows] == [("erased_", 1, None)] * 2
    assert ada.vote(cube_id, 1).votes.model_dump() == {"useful": 1, "useless": 0}
