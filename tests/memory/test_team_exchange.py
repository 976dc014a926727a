"""Teams leave and come back: exported into another store, backed up and restored whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from engines import ENGINES, empty_store
from exchange_files import members

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.accounts.accounts import ensure_account
from remembrancer.accounts.teams import TeamUnknown, enter
from remembrancer.context import Caller, Context
from remembrancer.memory.exchange.export import export
from remembrancer.memory.exchange.restore import restore
from remembrancer.memory.facts.life import add_fact
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.permissions.teams import accept_invitation, create_team, invite_member
from remembrancer.protocol.facts import FactAdd
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryAnswer, MemoryQuery
from remembrancer.protocol.teams import InvitationAccept, InvitationCreate, TeamCreate
from remembrancer.store import open_store


@pytest.fixture(params=ENGINES)
def context(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    """A service with an empty store of each engine."""
    store = open_store(empty_store(str(request.param), tmp_path), durability="normal")
    with closing(testing.context(tmp_path / "data", store=store)) as context:
        yield context


def team_with_a_turn(context: Context) -> str:
    """Create a team of owner and ada with a turn and a fact by ada; return its id."""
    owner = caller_for(context)
    context.store.write(lambda tx: ensure_account(tx, "ada", 0))
    ada = caller_for(context, "ada")
    team = create_team(context, owner, TeamCreate(name="Garden")).team_id
    token = invite_member(context, owner, team, InvitationCreate(role="writer")).token
    accept_invitation(context, ada, InvitationAccept(token=token))
    member = enter(context, ada, team, None, "writer")
    remember(context, member, Turn(query="Where is the rake?", response="Behind the shed."))
    add_fact(context, member, FactAdd(text="The shed is green."))
    return team


def search(context: Context, caller: Caller) -> MemoryAnswer:
    query = MemoryQuery(
        query_text="rake shed green", user_id=caller.account_name, teams="all", interact=False
    )
    return recall(context, caller, query)


def test_memory_of_a_team_is_imported_into_a_team_of_another_store(
    context: Context, tmp_path: Path
) -> None:
    """Without authors and members, who are accounts of one store."""
    with closing(testing.context(tmp_path / "other")) as source:
        team = team_with_a_turn(source)
        file = tmp_path / "team.zip"
        export(source, caller_for(source, team), file)
    owner = caller_for(context)
    target = create_team(context, owner, TeamCreate(name="Garden")).team_id

    restore(context, caller_for(context, target), file, user_id=target)

    answer = search(context, owner)
    assert [hit.response for hit in answer.hits] == ["Behind the shed."]
    assert [fact.text for fact in answer.facts] == ["The shed is green."]
    memory_of_hit = answer.hits[0].memory
    assert memory_of_hit is not None
    assert (memory_of_hit.team, memory_of_hit.author) == ("Garden", None)


def test_export_of_a_member_holds_nothing_of_the_team(context: Context, tmp_path: Path) -> None:
    team_with_a_turn(context)

    file = tmp_path / "ada.zip"
    export(context, caller_for(context, "ada"), file)

    assert [name for name, text in members(file).items() if b"rake" in text] == []
    with closing(testing.context(tmp_path / "other")) as target:
        restore(target, caller_for(target), file)
        assert search(target, caller_for(target)).hits == []


def test_member_of_another_team_stays_outside(context: Context) -> None:
    team = team_with_a_turn(context)
    context.store.write(lambda tx: ensure_account(tx, "bo", 0))
    bo = caller_for(context, "bo")
    create_team(context, bo, TeamCreate(name="Boat"))

    assert search(context, bo).hits == []
    with pytest.raises(TeamUnknown):
        enter(context, bo, team, None, "reader")
