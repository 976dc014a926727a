"""The cube board: the cubes that an account can see."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory.asking import Memory, memory_in

from remembrancer.context import Context
from remembrancer.cubes import board
from remembrancer.cubes.lessons import CubeUnknown, vote
from remembrancer.cubes.proposals import create
from remembrancer.memory.remember import remember
from remembrancer.protocol.cubes import CubeCreate, CubeMade, CubeVote
from remembrancer.protocol.memory import Turn

PUBLIC = {
    "cube_topic": "kettles",
    "cube_essence": "Descaling a kettle takes vinegar and ten minutes.",
    "cube_rules": "- MUST boil one part of vinegar with two parts of water",
    "cube_publish": True,
}


def published(memory: Memory, session_id: str = "default") -> str:
    """Publish a cube with a turn; return its cube_id."""
    where = {"user_id": memory.user_id, "session_id": session_id}
    turn = Turn.model_validate({"query": "How?", "response": "With vinegar.", **where, **PUBLIC})
    created = remember(memory.context, memory.caller, turn).cube
    assert isinstance(created, CubeMade)
    assert created.visibility == "published"
    return created.cube_id


def voted(memory: Memory, cube_id: str, value: int, reason: str | None = None) -> None:
    """Vote as this account."""
    own = CubeVote(cube_id=cube_id, user_id="ada", vote=value, reason=reason)
    vote(memory.context, memory.caller, own)


@pytest.fixture
def ada(context: Context) -> Memory:
    """Return the owner's memory."""
    return memory_in(context)


@pytest.fixture
def bob(context: Context, ada: Memory) -> Memory:
    """Return the memory of another account."""
    return memory_in(context, "bob")


def test_evidence_of_a_cube_is_visible_only_to_its_account(ada: Memory, bob: Memory) -> None:
    cube_id = published(ada, "kitchen")
    own = board.cube_detail(ada.context, ada.caller, cube_id)
    others = board.cube_detail(bob.context, bob.caller, cube_id)
    pinned = board.cube_detail(ada.context, replace(ada.caller, pinned_user_id="bob"), cube_id)

    assert (own.user_id, own.session_id, own.event_id) == ("ada", "kitchen", own.card.evidence)
    assert (others.user_id, others.session_id, others.event_id) == (None, None, None)
    assert others.card.evidence == "an event of its author"
    assert (pinned.user_id, pinned.session_id) == (None, None)
    assert [card.cube_id for card in cubes_of_event(ada, own.card.evidence)] == [cube_id]
    assert cubes_of_event(bob, own.card.evidence) == []


def cubes_of_event(memory: Memory, event_id: str) -> list[board.Card]:
    """Return the account's cubes whose evidence is an event."""
    return memory.context.store.read(
        lambda tx: board.cubes_from_event(tx, event_id), account_id=memory.caller.account_id
    )


def test_owner_and_author_see_all_reasons_and_voters_their_own(ada: Memory, bob: Memory) -> None:
    """The names of voters are never shown."""
    cube_id = published(bob)
    cleo, dan = (memory_in(ada.context, name) for name in ("cleo", "dan"))
    voted(cleo, cube_id, -1, "It ruined mine.")
    voted(dan, cube_id, 1)
    votes = [
        board.cube_detail(one.context, one.caller, cube_id).votes for one in (ada, bob, cleo, dan)
    ]
    owner, author, of_cleo, of_dan = ([(row.vote, row.reason) for row in rows] for rows in votes)

    assert sorted(owner) == sorted(author) == [(-1, "It ruined mine."), (1, None)]
    assert (of_cleo, of_dan) == ([(-1, "It ruined mine.")], [(1, None)])
    assert "account_id" not in votes[0][0]._fields


def used_cube(memory: Memory, sessions: tuple[str, ...], then: str) -> str:
    """Create a cube that a turn of each session uses; return its cube_id.

    `then` is the user's next message.
    """
    rules = "- MUST boil vinegar with two parts water.\n- SHALL rinse twice before use."
    texts = {"essence": "Descaling takes vinegar.", "rules_markdown": rules, "evidence": "docs"}
    where = {"topic": "kettles", "user_id": memory.user_id}
    lesson = CubeCreate.model_validate({**where, **texts})
    created = create(memory.context, memory.caller, lesson)
    for session_id in sessions:
        question = "How do I descale my kettle with vinegar?"
        memory.ask(question, session_id=session_id, interact=True)
        answer = "Boil it with two parts water and rinse twice before use."
        memory.tell(question, answer, session_id=session_id)
        memory.ask(then, session_id=session_id, interact=True)
    return created.cube_id


def test_exposures_of_other_accounts_and_users_are_hidden(ada: Memory, bob: Memory) -> None:
    """An account reads its own turns, a pinned key those of its user."""
    cube_id = used_cube(ada, ("s",), "Thanks!")
    with pytest.raises(CubeUnknown):
        board.cube_detail(ada.context, replace(ada.caller, pinned_user_id="ben"), cube_id)
    ada.context.store.write(lambda tx: tx.run("update cubes set status = 'published'"))
    pinned = {
        user: board.cube_detail(ada.context, replace(ada.caller, pinned_user_id=user), cube_id)
        for user in ("ada", "ben")
    }
    other = board.cube_detail(bob.context, bob.caller, cube_id)

    assert len(pinned["ada"].exposures) == 1
    for detail in (pinned["ben"], other):
        assert detail.card.record is not None
        assert (detail.exposures, detail.card.record.exposures) == ([], 0)
